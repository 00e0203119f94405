"""A user's program that uses public names wrongly: mypy refuses each line with a comment, for that reason."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql import Row, SparkSession

import headwater as hw

spark: SparkSession = SparkSession.builder.getOrCreate()

hw.SimpleSorce  # attr-defined
hw.errors.OptionErorr  # attr-defined
hw.contracts.Sink  # attr-defined
hw.options.number  # attr-defined

hw.register()  # call-arg
hw.register("spark", hw.SimpleSource)  # arg-type
hw.options_of(7)  # arg-type
conf: dict[str, int] = hw.recommended_conf()  # assignment
hw.recommended_environment("python")  # call-arg, arg-type
hw.LagListener().queries().total()  # attr-defined

hw.read.kafka(spark, topics="orders")  # call-arg
hw.read.kafka(spark, servers="a:9092", topic="orders")  # call-arg
hw.read.kafka(spark, servers="a:9092", fail_on_data_loss="no")  # arg-type
hw.read.kafka(spark, servers="a:9092", max_offsets_per_trigger=5)  # call-arg
hw.read_stream.kafka(spark, servers="a:9092", ending_offsets="latest")  # call-arg
hw.read_stream.mqtt(spark, broker="mqtt://a", topics="b")  # call-arg
hw.read.files(spark, format="csv", path="/a", mode="STRICT")  # arg-type

hw.NamedSplit(7)  # arg-type
hw.Page([])  # call-arg
hw.AskAgain(after_ms="5s")  # arg-type
hw.Finished(1)  # call-arg
hw.TransientSourceError()  # call-arg
hw.errors.SourceError("away", topic="orders")  # call-arg
hw.options.Option("limit", 1, 10, "How many.")  # arg-type
hw.options.integer("1")  # arg-type

hw.unordered_wait(spark.range(1), print)  # call-arg
hw.unordered_wait(spark.range(1), print, schema=7)  # arg-type
hw.unordered_wait(spark.range(1), print, schema="a int", capacity="9")  # arg-type
hw.unordered_wait(spark.range(1), print, schema="a int", on_failure="ignore")  # arg-type
hw.ordered_wait(spark.range(1), print, schema="a int", carried_over="1s")  # call-arg
hw.keyed_wait(spark.range(1), print, schema="a int")  # call-arg
hw.split_failures([])  # arg-type
hw.async_io.RetryPolicy.fixed("3", delay_ms=5)  # arg-type
hw.async_io.Batching(100)  # call-arg
hw.async_io.CacheSettings(ttl_s=5)  # call-arg
hw.async_io.AsyncMetrics().value  # call-arg
hw.async_io.AsyncFunction()  # abstract


class Lookup(hw.async_io.AsyncFunction):
    """Not asynchronous."""

    def async_invoke(self, row: Row) -> dict[str, int]:  # override
        return {"tier": 1}


class Lines(hw.SimpleSource, hw.Heads):
    """Heads are positions, not texts; a page is no row."""

    name = "lines"
    schema = pa.schema({"name": pa.string()})

    def discover(self) -> list[str]:  # override
        return ["one"]

    def head(self, split: hw.NamedSplit) -> str:  # override
        return "3"

    def read(self, split: hw.NamedSplit, position: int) -> Iterator[hw.Page]:
        yield ("a row",)  # misc


class Shelves(hw.contracts.PlannedSource[range, hw.NamedSplit, int]):
    """Nothing but a name."""

    name = "shelves"

    def rows_between(self, start: str, stop: str) -> int:  # override
        return 0


Shelves()  # abstract
