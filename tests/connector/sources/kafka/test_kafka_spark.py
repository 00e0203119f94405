"""What Spark makes of it, batch and stream. That it is what Spark's own source gives: tests/parity/."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql.functions import unix_millis

from local_kafka import LocalKafka

FOREVER = {"retention.ms": "-1"}
STAMPS_MS = [1_700_000_000_123, 0, -62_135_596_799_000, -1]
"""2023, the beginning of Unix time, the year 1, and what Kafka takes for no time at all."""
Load = Callable[..., DataFrame]


@pytest.fixture
def load(spark: SparkSession, kafka: LocalKafka) -> Load:
    """A batch read. Underscores in names stand for dots."""

    def loading(**options: str) -> DataFrame:
        reader = (
            spark.read.format("headwater")
            .option("source", "kafka")
            .option("kafka.bootstrap.servers", kafka.bootstrap_servers)
        )
        for name, value in options.items():
            reader = reader.option(name.replace("_", "."), value)
        return reader.load()

    return loading


def test_rows_with_and_without_everything(kafka: LocalKafka, topic: str, load: Load) -> None:
    kafka.create_topic(topic, 1, FOREVER)
    kafka.produce(
        topic,
        [b"v", None, b"", b"\x00\xff"],
        keys=[None, b"k", b"", b"x"],
        headers=[None, [("h", b"1"), ("h", b"")], [], [("\u00fc", b"\xff")]],
        timestamps_ms=STAMPS_MS,
    )
    df = load(subscribe=topic, includeHeaders="true").orderBy("offset")
    rows = df.withColumn("timestamp", unix_millis("timestamp")).collect()
    assert [(row.key, row.value, row.headers) for row in rows] == [
        (None, b"v", None),
        (b"k", None, [Row(key="h", value=b"1"), Row(key="h", value=b"")]),
        (b"", b"", None),
        (b"x", b"\x00\xff", [Row(key="\u00fc", value=b"\xff")]),
    ]
    assert [(row.topic, row.partition, row.offset, row.timestampType) for row in rows] == [
        (topic, 0, i, 0) for i in range(4)
    ]
    assert [row.timestamp for row in rows] == STAMPS_MS
    in_utc = datetime(2023, 11, 14, 22, 13, 20, 123_000)  # noqa: DTZ001 - so is the session
    assert df.first().timestamp == in_utc  # type: ignore[union-attr]


def test_some_columns_in_another_order(kafka: LocalKafka, topic: str, load: Load) -> None:
    kafka.create_topic(topic)
    kafka.produce(topic, [b"v"], headers=[[("a", b"b")]])
    df = load(subscribe=topic, columns="offset,Headers,VALUE")
    assert df.columns == ["offset", "headers", "value"]
    assert df.collect() == [Row(offset=0, headers=[Row(key="a", value=b"b")], value=b"v")]


def test_tasks_as_many_as_asked_for(kafka: LocalKafka, topic: str, load: Load) -> None:
    kafka.create_topic(topic, 2)
    kafka.produce(topic, [b"x"] * 100)
    assert [load(subscribe=topic, minPartitions=str(count)).rdd.getNumPartitions() for count in (1, 6)] == [
        2,  # one for each partition
        6,
    ]
    assert load(subscribe=topic, minPartitions="6").count() == 100


@pytest.mark.parametrize("options", [{}, {"minPartitions": "6"}, {"maxRecordsPerPartition": "5"}])
def test_a_loaded_frame_and_a_view_of_it_show_what_is_there_at_each_action(
    kafka: LocalKafka, topic: str, load: Load, spark: SparkSession, options: dict[str, str]
) -> None:
    kafka.create_topic(topic, 3)
    kafka.produce(topic, [b"%d" % i for i in range(21)], partition=0)
    df = load(subscribe=topic, **options)
    df.createOrReplaceTempView("late")
    assert df.count() == 21
    kafka.produce(topic, [b"x"] * 6, partition=0)
    kafka.produce(topic, [b"x"] * 3, partition=2)  # it had no records when the frame was planned
    assert df.count() == 30
    assert spark.table("late").count() == 30
    kafka.delete_records(topic, {0: 10})
    assert df.count() == 20
    assert sorted(row.offset for row in df.where("partition = 0").collect()) == list(range(10, 27))


def test_an_end_that_was_given_stays_and_so_does_a_beginning(
    kafka: LocalKafka, topic: str, load: Load
) -> None:
    kafka.create_topic(topic)
    kafka.produce(topic, [b"x"] * 10)
    ending = load(subscribe=topic, endingOffsets=f'{{"{topic}":{{"0":8}}}}')
    starting = load(subscribe=topic, startingOffsets=f'{{"{topic}":{{"0":4}}}}')
    assert (ending.count(), starting.count()) == (8, 6)
    kafka.produce(topic, [b"x"] * 5)
    assert (ending.count(), starting.count()) == (8, 11)
    kafka.delete_records(topic, {0: 5})
    assert ending.count() == 3
    with pytest.raises(Exception, match="offsets 4 to 4 were lost"):
        starting.count()


def test_a_limit_leaves_the_rest_unread(kafka: LocalKafka, topic: str, load: Load) -> None:
    kafka.create_topic(topic)
    kafka.produce(topic, [b"x" * 1_000] * 3_000)
    assert len(load(subscribe=topic, kafka_max_partition_fetch_bytes="10000").limit(3).collect()) == 3


def test_a_stream_and_its_restart_with_other_options(
    spark: SparkSession, kafka: LocalKafka, topic: str, tmp_path: Path
) -> None:
    kafka.create_topic(topic, 2)
    kafka.produce(topic, [b"%d" % i for i in range(40)])

    def run(**options: str) -> Any:
        reader = (
            spark.readStream.format("headwater")
            .option("source", "kafka")
            .option("kafka.bootstrap.servers", kafka.bootstrap_servers)
        )
        for name, value in {"subscribe": topic, "startingOffsets": "earliest", **options}.items():
            reader = reader.option(name, value)
        writer = (
            reader.load()
            .select("value", "offset")
            .writeStream.format("parquet")
            .option("path", str(tmp_path / "out"))
        )
        query = (
            writer.option("checkpointLocation", str(tmp_path / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        return query

    first = run(maxOffsetsPerTrigger="30")
    assert [progress["numInputRows"] for progress in first.recentProgress if progress["numInputRows"]] == [
        30,
        10,
    ]
    assert json.loads(first.lastProgress["sources"][0]["endOffset"])["positions"] == {
        topic: {"0": 20, "1": 20}
    }
    kafka.produce(topic, [b"%d" % i for i in range(40, 50)])
    second = run(columns="offset,value", startingOffsets="latest")
    assert sum(progress["numInputRows"] for progress in second.recentProgress) == 10
    written = [int(row.value) for row in spark.read.parquet(str(tmp_path / "out")).collect()]
    assert sorted(written) == list(range(50))
