"""Streams of the built-in sources as typed functions: ``hw.read_stream.kafka(spark, servers=..., ...)``.

Each argument after ``spark`` is an option of the source, in lower case with underscores, and takes a Python
value: a bool, a list, a dict, a timedelta. The functions are made from the tables of options, so they say and
do the same as ``spark.readStream.format("headwater").option("source", ...)``. Called on the driver; also over
Spark Connect.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from headwater.connector.typed.read_stream.demo import demo
from headwater.connector.typed.read_stream.files import files
from headwater.connector.typed.read_stream.http import http
from headwater.connector.typed.read_stream.hybrid import hybrid
from headwater.connector.typed.read_stream.kafka import kafka
from headwater.connector.typed.read_stream.mqtt import mqtt
from headwater.core.errors import unknown_attribute

__all__ = ["demo", "files", "http", "hybrid", "kafka", "mqtt"]

if not TYPE_CHECKING:  # with it, type checkers would accept any name

    def __getattr__(name: str) -> NoReturn:
        """Say which source may be meant (PEP 562)."""
        raise unknown_attribute(__name__, name, __all__)
