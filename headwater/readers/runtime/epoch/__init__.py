"""A task in barrier mode: reads one epoch.

* `read_epoch`, with `task`, `task_slot`, `claims` and `manifests`: which attempt at a task reads, and what it
  has read.
* `open_reader`: how an attempt reads, and the rows that scans on one host share. `first_reading`: up to the
  barrier. `second_reading`: exactly what another attempt has read.
* `epoch_reader`: what both readings share. Its parts are `dataflow` (all before the emitter), `feedback` (the
  way back for found splits), `emitter_node` and `progress` (the emitter and the state of the splits),
  `barrier_handler` (alignment of channels), `aligned_node` and `event_time` (of splits, by event time),
  `calls` and `in_flight` (asynchronous calls).
"""
