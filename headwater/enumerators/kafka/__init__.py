"""Kafka on floor 1: the cluster, its partitions and their offsets, and the connection that the readers share."""
