"""Event time while planning: batches of a backlog end at the same time in all splits.

Spark has one watermark for a query, which comes from the batches before the current one. So a batch may span
any time if all splits end it at the same one: the remaining records are later than those that were read.

* `alignment`: alignment by event time while planning (FLIP-182, FLIP-217): an enumerator's part that bounds
  batches;
* `bound_search`: the search for the time at which all splits end a batch;
* `late_splits`: splits found late, whose rows may be older than the watermark, and active splits that others
  wait for;
* `time_index`: the contract of a source that is aligned by event time, and the user's settings of it. Needs
  no library: the driver checks options with it;
* `timeline`: the backlog of a batch, and at which time its records were written as far as it was looked up.
"""
