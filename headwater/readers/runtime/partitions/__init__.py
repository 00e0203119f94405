"""The hand-over inside a task, and from epoch to epoch (Flink's ``ResultPartition``)."""
