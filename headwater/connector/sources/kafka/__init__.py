"""The Kafka source: its options, its columns, and the source that joins enumerator and reader.

* `configure`: from the user's options to the source;
* `offset_options`: the options about topics and offsets: which partitions are read, from where to where;
* `schema_sample`: schemas of values that no option names: inferred from a sample of the records that a batch
  would read;
* `spark_offsets`: offsets of Spark's own Kafka source: ``{"orders":{"0":120,"1":80}}``, the next record of
  each partition;
* `split_serializer`: how Kafka's partitions stand in an offset (FLIP-27 ``Source.getSplitSerializer``);
* `topic_limits`: limits and weights of single topics.
"""
