"""Batch reads of the built-in sources as typed functions: ``hw.read.kafka(spark, servers=..., topics=...)``.

Each argument after ``spark`` is an option of the source, in lower case with underscores, and takes a Python
value: a bool, a list, a dict, a timedelta. The functions are made from the tables of options, so they say and
do the same as ``spark.read.format("headwater").option("source", ...)``. Called on the driver; also over
Spark Connect.
"""

from __future__ import annotations

from typing import Any

from headwater.connector.sources.built_in import BUILT_IN

__all__ = list(BUILT_IN)


def __getattr__(name: str) -> Any:
    """Make a reader when it is first used (PEP 562): its table of options loads the source's rooms."""
    if name not in __all__:
        from headwater.core.errors import unknown_attribute

        raise unknown_attribute(__name__, name, __all__)
    from headwater.connector.typed.readers import typed_reader

    reader = typed_reader("read", name)
    globals()[name] = reader
    return reader


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
