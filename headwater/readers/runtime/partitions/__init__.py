"""Result partitions (Flink's ``ResultPartition``): how rows are handed over.

Of three kinds (Flink's ``ResultPartitionType``):

* `pipelined`: inside a task. In memory and bounded: producers wait. Read once, while it is produced.
* `blocking`: between two scans on one host. Not bounded: over the budget it goes to files. Read when it is
  finished, by any number of readers.
* `segment_log`: from epoch to epoch (``PIPELINED_PERSISTENT``). Numbered segments in a state store. Read
  while it is produced, by any process, from any checkpoint on that is not released.

`result_partition` is the base of all, with the table of the partitions in this process; `subpartition` is one
channel, with the pool that bounds it; `segment_view` reads a segment log.

Imports no other folder of `headwater.readers.runtime`.
"""
