"""Kafka's driver half: which partitions there are, and where they begin and end. Its client is a folder.

* `enumerator`: Kafka's split enumerator: a partition is a split, its offsets are the positions;
* `group_committer`: positions committed to a consumer group, so that Kafka's own tools show the lag of a
  query;
* `lookup`: looks at the cluster: which partitions are in sight, and where their logs begin and end;
* `lookup_settings`: the settings of a lookup, and which topics and partitions a query reads: Spark's
  ``subscribe``, ``subscribePattern`` and ``assign``;
* `lost_records`: compares discovered partitions with the checkpoint: lost records, and topics of a mirrored
  cluster;
* `offsets_initializer`: where reading begins, or a batch read ends (Flink's ``OffsetsInitializer``);
* `partition_list`: lists the selected partitions; the average size of a record of each topic;
* `pattern`: checks that a regular expression means the same in Java and in Python;
* `split`: a partition of one incarnation of a topic, ranges of it whose ends are found when they are read,
  and the partitions that one lookup found;
* `time_index`: the index of times that brokers keep, for the planning by event time.
"""
