"""A chain of sources: each part is read as it is by itself, and one column decides at the seam.

* `seam_filter`: which rows of a batch lie on the side of the seam that is read;
* `split_reader`: the two halves of the reader of a chain: those of its parts, and the seam.

* `switch_point_filter`: which rows of a batch lie on the side of the seam that is read.
"""
