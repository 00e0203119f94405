"""Kafka on floor 1: which partitions there are, and where they begin and end."""
