"""Sources that cannot be read again: what they deliver goes into a segment log before it counts.

Imports `partitions`, where the segment log is, and nothing else of `headwater.readers.runtime`.
"""
