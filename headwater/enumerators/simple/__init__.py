"""Which splits a source in the small form has: its enumerator.

* `backlog`: how splits share the limits of a batch, where positions do not count and the source reads ahead;
* `lost_records`: compares what the outside still has with the positions of a query;
* `planned_enumerator`: the enumerator of a simple source that knows where its splits end, and its index of
  times;
* `starting_position`: where a new query begins, where the outside forgets its oldest records.
"""
