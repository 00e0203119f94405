"""Which splits a source in the small form has: its enumerator.

* `planned_enumerator`: the enumerator of a simple source that knows where its splits end, and its index of
  times.
"""
