"""Asynchronous I/O on DataFrames: FLIP-12's ``unorderedWait`` and ``orderedWait`` for Spark."""
