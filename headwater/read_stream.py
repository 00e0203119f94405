"""Streams of the built-in sources as typed functions: ``hw.read_stream.kafka(spark, servers=..., ...)``.

Each argument after ``spark`` is an option of the source, in lower case with underscores, and takes a Python
value: a bool, a list, a dict, a timedelta. The functions are made from the tables of options, so they say and
do the same as ``spark.readStream.format("headwater").option("source", ...)``. Called on the driver; also over
Spark Connect.
"""

from __future__ import annotations

from headwater.connector.typed.read_stream.demo import demo
from headwater.connector.typed.read_stream.files import files
from headwater.connector.typed.read_stream.http import http
from headwater.connector.typed.read_stream.hybrid import hybrid
from headwater.connector.typed.read_stream.kafka import kafka
from headwater.connector.typed.read_stream.mqtt import mqtt

__all__ = ["demo", "files", "http", "hybrid", "kafka", "mqtt"]
