"""Batch reads of the built-in sources as typed functions: ``hw.read.kafka(spark, servers=..., topics=...)``.

Each argument after ``spark`` is an option of the source, in lower case with underscores, and takes a Python
value: a bool, a list, a dict, a timedelta. The functions are made from the tables of options, so they say and
do the same as ``spark.read.format("headwater").option("source", ...)``. Called on the driver; also over
Spark Connect.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from headwater.connector.typed.read.demo import demo
from headwater.connector.typed.read.files import files
from headwater.connector.typed.read.http import http
from headwater.connector.typed.read.hybrid import hybrid
from headwater.connector.typed.read.kafka import kafka
from headwater.connector.typed.read.mqtt import mqtt
from headwater.core.errors import unknown_attribute

__all__ = ["demo", "files", "http", "hybrid", "kafka", "mqtt"]

if not TYPE_CHECKING:  # with it, type checkers would accept any name

    def __getattr__(name: str) -> NoReturn:
        """Say which source may be meant (PEP 562)."""
        raise unknown_attribute(__name__, name, __all__)
