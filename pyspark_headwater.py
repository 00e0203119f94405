"""Spark imports every top-level module called ``pyspark_*`` and registers its ``DefaultSource``.

So ``format("headwater")`` needs no ``register``.
"""

from headwater.connector.spark.datasource import HeadwaterDataSource as DefaultSource

__all__ = ["DefaultSource"]
