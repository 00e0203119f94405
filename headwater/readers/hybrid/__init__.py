"""A chain of sources: each part is read as it is by itself, and one column decides at the seam.

* `split_reader`: the reader of a chain: one reader for each part, and a filter for rows at the seam.
"""
