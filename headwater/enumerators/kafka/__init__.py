"""Kafka's driver half: which partitions there are, and where they begin and end. Its client is a folder.

* `cluster_view`: what one look at the cluster found;
* `enumerator`: Kafka's split enumerator: a partition is a split, its offsets are the positions;
* `group_committer`: positions committed to a consumer group, so that Kafka's own tools show the lag of a
  query;
* `lookup`: looks at the cluster: which partitions are in sight, and where their logs begin and end;
* `lookup_settings`: what an enumerator looks for, as the options say it;
* `lost_records`: compares discovered partitions with the checkpoint: lost records, and topics of a mirrored
  cluster;
* `offsets_initializer`: where reading begins, or a batch read ends (Flink's ``OffsetsInitializer``);
* `partition_list`: lists the selected partitions;
* `pattern`: checks that a regular expression means the same in Java and in Python;
* `record_sizes`: the average size of a record of each topic, by which a batch is planned in bytes;
* `split`: a partition of one incarnation of a topic, and ranges of it whose ends are found when they are
  read;
* `subscription`: which topics and partitions a query reads: Spark's ``subscribe``, ``subscribePattern`` and
  ``assign``;
* `time_index`: the index of times that brokers keep, for the planning by event time.
"""
