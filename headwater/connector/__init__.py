"""Floor 3: Spark.

Translates between Spark's data source API and the floors below.
Only it and the tools above it import pyspark.
"""
