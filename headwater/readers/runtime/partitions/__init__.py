"""Result partitions (Flink's ``ResultPartition``): how rows are handed over.

Of three kinds (Flink's ``ResultPartitionType``):

* `pipelined`: inside a task. In memory and bounded: producers wait. Read once, while it is produced.
* ``BLOCKING``: between two scans on one host. A file, read when it is finished, by any number of readers:
  `headwater.readers.runtime.epoch.open_reader`.
* `segment_log`: from epoch to epoch (``PIPELINED_PERSISTENT``). Numbered segments in a state store. Read
  while it is produced, by any process, from any checkpoint on that is not released.

`subpartition` has the elements of a channel, and the pool that bounds them; `segment_view` reads a segment
log.

Imports no other folder of `headwater.readers.runtime`.
"""
