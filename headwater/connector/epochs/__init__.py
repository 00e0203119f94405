"""Barrier mode on the driver: epochs opened when a split is due, and what came of them taken up."""
