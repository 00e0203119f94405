"""A task in barrier mode: reads one epoch.

* `read_epoch`, with `task`, `task_slot` and `claims`: which attempt at a task reads, and its manifest.
  `state_parts`: the large parts of a state, which are stored beside the manifest.
* `open_reader`: how an attempt reads, and the rows that scans on one host share. `first_reading`: up to the
  barrier. `second_reading`: exactly the rows that another attempt has read.
* `epoch_reader`: the base of both readings. Its parts are `dataflow` (fetchers, channels, the way back for
  found splits), `emitter_node` and `progress` (the emitter and the state of the splits), `barrier_handler`
  (alignment of channels), `aligned_node` and `event_time` (alignment of splits, by event time), `calls` and
  `in_flight` (asynchronous calls, and rows that a cut left unemitted).
"""
