"""Floor 3: Spark.

Translates between Spark's data source API and the floors below; the only floor that imports pyspark.
"""
