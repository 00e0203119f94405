"""Floor 2: how to read splits.

Imports the floors below, no pyspark; a system's own libraries only in that system's modules.
"""
