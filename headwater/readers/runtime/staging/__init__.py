"""Sources that cannot be read again: what they deliver goes into a segment log before it counts."""
