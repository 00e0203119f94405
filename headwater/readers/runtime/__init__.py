"""What runs a source's reader and emitter inside a task."""
