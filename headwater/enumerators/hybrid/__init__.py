"""Which part of a chain of sources is read now, and which splits it has.

* `enumerator`: the split enumerator of a chain: runs that of the current part, and goes on to the next one;
* `split`: the split of a part of a chain, with the position that names the part too, and the seam between
  the last part and those before it: by time, or by position.
"""
