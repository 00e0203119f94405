"""Sources that cannot be read again: their messages go into a segment log before they count.

Imports `partitions`, where the segment log is, and nothing else of `headwater.readers.runtime`.
"""
