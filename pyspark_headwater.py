"""Spark imports every top-level module called ``pyspark_*`` and registers its ``DefaultSource``: so ``format("headwater")`` needs no ``register``."""

import headwater  # noqa: F401 - says so if a folder of the same name hides one of its packages
from connector.datasource import HeadwaterDataSource as DefaultSource

__all__ = ["DefaultSource"]
