"""Result partitions (Flink's ``ResultPartition``): how rows are handed over.

Inside a task, between two scans on one host, and from epoch to epoch.

Imports no other folder of `headwater.readers.runtime`.
"""
