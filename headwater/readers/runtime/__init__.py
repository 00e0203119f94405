"""The loops that run a source's reader and emitter inside a task.

Imports point up this list, never down:

* `batches`: checks and casts of Arrow batches, and batches as bytes. For both modes.
* `task_reports`: the channel by which a task tells the driver something; how much it has read, for one.
* `loss_reports`: how a task tells the driver that records are gone, where that is no error.
* `partitions`: result partitions, by which rows are handed over between threads, scans and epochs.
* `noted_split`: a split whose first reading counts, as a task in planned mode reads it.
* `source_reader`: a task in planned mode: fetch, emit, advance, on one thread. Needs none of the folders.
* `staging`: sources that cannot be read again, read through a segment log of `partitions`.
* `fetchers`: threads that run split readers and put fetched records into `partitions`.
* `epoch`: a task in barrier mode: barriers, the emitter, the state at the cut, and the protocol by which
  attempts at one task agree on which of them reads.
"""
