"""What Spark makes of a stream: watermarks, joins, metrics, triggers."""

from __future__ import annotations

import time
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.functions import count, window

from tests.parity.parity import Parity
from tests.parity.results import rows
from tests.parity.sources import Source


def progress(source: Source, df: DataFrame, **trigger: Any) -> Any:
    """Run a query to its end, and return what it said about its batches."""
    writer = df.writeStream.format("memory").queryName(table(source)).outputMode("append")
    query = writer.trigger(**(trigger or {"availableNow": True})).start()
    try:
        assert query.awaitTermination(120)
        return query.recentProgress
    finally:
        query.stop()


def table(source: Source) -> str:
    return f"rows_of_{source.name}"


def test_a_watermark_over_the_timestamp(parity: Parity) -> None:
    def scenario(source: Source) -> list[Any]:
        topic = source.filled(5, 3)
        stream = source.read_stream(subscribe=topic, startingOffsets="earliest")
        windows = stream.withWatermark("timestamp", "10 seconds").groupBy(window("timestamp", "5 seconds"))
        query = (
            windows.agg(count("*").alias("count"))
            .writeStream.format("memory")
            .outputMode("complete")
            .queryName(table(source))
            .trigger(availableNow=True)
            .start()
        )
        assert query.awaitTermination(120)
        return source.spark.table(table(source)).selectExpr("unix_millis(window.start)", "count").collect()

    assert [tuple(row) for row in parity.same(scenario, needs_spark=True)] == [(1_700_000_000_000, 8)]


def test_a_self_join_has_one_offset_and_reads_once_where_the_exchange_is_reused(parity: Parity) -> None:
    def scenario(source: Source) -> list[Any]:
        topic = source.topic("t", 2)
        source.produce(topic, [b"1", b"2", b"6", b"3"])
        stream = source.read_stream(subscribe=topic, startingOffsets="earliest")
        numbers = stream.selectExpr("cast(cast(value as string) as int) as value").selectExpr(
            "value", "value % 5 as key"
        )
        done = progress(source, numbers.alias("a").join(numbers.alias("b"), "key"))
        joined = source.spark.table(table(source)).collect()
        return [
            sorted(map(tuple, joined)),
            [len(each["sources"]) for each in done],
            sum(each["numInputRows"] for each in done),
        ]

    joined, sources, _ = parity.same(scenario, needs_spark=True)
    assert joined == [(1, 1, 1), (1, 1, 6), (1, 6, 1), (1, 6, 6), (2, 2, 2), (3, 3, 3)]
    assert set(sources) == {1}


def test_rows_that_a_query_counts(parity: Parity) -> None:
    def scenario(source: Source) -> list[int]:
        topic = source.filled(10, 5)
        stream = source.read_stream(subscribe=topic, startingOffsets="earliest", maxOffsetsPerTrigger=5)
        return [each["numInputRows"] for each in progress(source, stream)]

    assert sum(parity.same(scenario, needs_spark=True)) == 15


def test_metrics_of_the_source(parity: Parity) -> None:
    def scenario(source: Source) -> list[str]:
        stream = source.read_stream(subscribe=source.filled(5, 5), startingOffsets="earliest")
        return sorted(progress(source, stream)[0]["sources"][0]["metrics"] or {})

    sparks, ours = parity.differs("metrics", scenario, needs_spark=True)
    assert sparks == ["avgOffsetsBehindLatest", "maxOffsetsBehindLatest", "minOffsetsBehindLatest"]
    assert ours == []


def test_continuous_processing(parity: Parity) -> None:
    def scenario(source: Source) -> str:
        stream = source.read_stream(subscribe=source.filled(5), startingOffsets="earliest")
        writer = stream.writeStream.format("memory").queryName(table(source))
        try:
            query = writer.trigger(continuous="1 second").start()
        except Exception as error:  # noqa: BLE001 - the error is the result
            return str(error)
        try:
            deadline = time.monotonic() + 60
            while source.spark.table(table(source)).count() < 5 and time.monotonic() < deadline:
                query.awaitTermination(1)
            return f"{source.spark.table(table(source)).count()} rows"
        finally:
            query.stop()

    sparks, ours = parity.differs("continuous-trigger", scenario, needs_spark=True)
    assert sparks == "5 rows"
    assert "does not support continuous processing" in ours


def test_a_stream_that_starts_where_nothing_is_logs_a_batch_without_rows(parity: Parity) -> None:
    def scenario(source: Source) -> int:
        query = source.stream(subscribe=source.filled(3), startingOffsets="latest")
        assert rows(query.step()) == []
        return query.logged

    assert parity.same(scenario) == 1
