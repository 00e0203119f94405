"""Kafka's driver half: which partitions there are, and where they begin and end. Its client is a folder."""
