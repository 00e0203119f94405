"""Planned mode on the driver: where a batch ends is decided before it is read."""
