"""What programs call in a way that headwater does not have, each a usual slip. The sessions are doubles."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final
from unittest.mock import Mock

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

import headwater as hw

__all__ = ["CALLS"]

SPARK: Any = Mock(spec=SparkSession, is_stopped=False)
FRAME: Any = Mock(spec=DataFrame)
STOPPED: Any = Mock(spec=SparkSession, _sc=Mock(_jsc=None))
hw_: Any = hw
"""For slips that a type checker would find."""


class MadeSource(hw.SimpleSource):
    """A source whose author registers an object of it."""

    name = "made"
    schema = pa.schema((("number", pa.int64()),))

    def discover(self) -> list[hw.NamedSplit]:
        return []

    def read(self, split: hw.NamedSplit, position: Any) -> Iterator[hw.Page]:
        yield hw.Page((), position)


CALLS: Final[dict[str, Callable[[], object]]] = {
    "a source's name where the session should be": lambda: hw_.read.demo("spark"),
    "no session": lambda: hw_.read.kafka(servers="localhost:9092", topics="a"),
    "None for a session": lambda: hw_.Board(None),
    "a frame where the session should be": lambda: hw_.export_metrics(FRAME, prometheus_port=0),
    "a builder that makes no session": lambda: hw_.register(SparkSession.builder),
    "the class of sessions": lambda: hw_.read_stream.demo(SparkSession),
    "a session that was stopped": lambda: hw_.read.demo(STOPPED),
    "a session where the builder should be": lambda: hw_.configure(SPARK),
    "tasks that are no number": lambda: hw_.configure(SparkSession.builder, parallelism="4"),
    "settings that are no dict": lambda: hw_.session("orders", conf="spark.ui.enabled=false"),
    "read: an argument without a name": lambda: hw_.read.kafka(SPARK, "localhost:9092", topics="a"),
    "read: an argument that is missing": lambda: hw_.read.http(SPARK, paging="page"),
    "read: None for an argument": lambda: hw_.read.mqtt(SPARK, broker=None, topics="a"),
    "read: an argument of two words for one": lambda: hw_.read.kafka(SPARK, servers="h:1", topic="a"),
    "read: the name of Spark's option": lambda: hw_.read.kafka(SPARK, servers="h:1", subscribe="a"),
    "read: an option as the docs spell it": lambda: hw_.read.kafka(
        SPARK, servers="h:1", topics="a", startingOffsets="earliest"
    ),
    "read: an argument of streams": lambda: hw_.read.demo(SPARK, max_rows_per_trigger=5),
    "read_stream: an argument of batches": lambda: hw_.read_stream.kafka(
        SPARK, servers="h:1", topics="a", ending_offsets="latest"
    ),
    "read: an argument that nothing looks like": lambda: hw_.read.demo(SPARK, colour="red"),
    "read: a text for a number": lambda: hw_.read.demo(SPARK, rows="5"),
    "read: properties that are no dict": lambda: hw_.read.kafka(
        SPARK, servers="h:1", topics="a", properties="security.protocol=SSL"
    ),
    "read: headers that are no texts": lambda: hw_.read.http(SPARK, url="http://h", headers={"X-Page": 5}),
    "read: a schema that is none": lambda: hw_.read.files(SPARK, format="csv", path="/in", schema=["id"]),
    "Board: a port that is a text": lambda: hw_.Board(SPARK, "4140"),
    "Board: a port that there is not": lambda: hw_.Board(SPARK, 80_000),
    "Board: a host that is none": lambda: hw_.Board(SPARK, 0, host=None),
    "Board: metrics without a name": lambda: hw_.Board(SPARK, 0, calls=hw.async_io.AsyncMetrics),
    "export_metrics: nowhere": lambda: hw_.export_metrics(SPARK),
    "export_metrics: a provider that is none": lambda: hw_.export_metrics(SPARK, otel="yes"),
    "export_metrics: a port that is a text": lambda: hw_.export_metrics(SPARK, prometheus_port="9404"),
    "register: an object instead of its class": lambda: hw_.register(SPARK, MadeSource({})),
    "register: a function": lambda: hw_.register(SPARK, len),
    "options_of: a slip in a name": lambda: hw_.options_of("kafak"),
    "options_of: None": lambda: hw_.options_of(None),
    "explain: None, of a query that runs": lambda: hw_.explain(None),
    "explain: a text": lambda: hw_.explain("text"),
    "unordered_wait: None": lambda: hw_.unordered_wait(None, len, schema="n int"),
    "keyed_wait: the session": lambda: hw_.keyed_wait(SPARK, len, keys=["id"], schema="n int"),
    "keyed_wait: a text for keys": lambda: hw_.keyed_wait(FRAME, len, keys="id", schema="n int"),
    "split_failures: a list": lambda: hw_.split_failures([1]),
    "decode: a format that is a number": lambda: hw_.decode(5, column="body"),
    "decode: a text for columns": lambda: hw_.decode("json", column="body", schema="n int", columns="n"),
    "decode: an option that is a number": lambda: hw_.decode("json", column="body", options={"timeZone": 5}),
}
