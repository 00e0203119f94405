"""Records that are gone when a task comes to read them: counted in the next offset, and told once."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.listener import QueryProgressEvent

import headwater as hw
from local_kafka import LocalKafka
from tests.connector.sources.kafka.kafka_queries import Query, batch, places
from tests.patience import PATIENCE_S


@pytest.fixture
def query(kafka: LocalKafka, topic: str) -> Iterator[Query]:
    """A query that has logged a batch of 20 records and may replay it."""
    kafka.create_topic(topic)
    kafka.produce(topic, [b"%d" % i for i in range(20)])
    with Query(
        kafka.bootstrap_servers, subscribe=topic, startingOffsets="earliest", failOnDataLoss="false"
    ) as reading:
        assert len(places(reading.step())) == 20
        yield reading


def losses(query: Query) -> tuple[int, int, list[tuple[Any, ...]]]:
    lost: Any = query.log[-1]["losses"]
    ranges = [(each["split"], each["first"], each["until"], each["found"]) for each in lost["ranges"]]
    return lost["rows"], lost["at_least_rows"], ranges


def test_what_a_replay_finds_gone_is_counted_once_and_told_once(
    query: Query, kafka: LocalKafka, topic: str, caplog: pytest.LogCaptureFixture
) -> None:
    kafka.delete_records(topic, {0: 7})
    for _attempt in range(3):
        assert places(query.replay()) == [(0, i) for i in range(7, 20)]
    kafka.delete_records(topic, {0: 12})
    assert places(query.replay()) == [(0, i) for i in range(12, 20)]
    assert places(query.step()) == []
    assert losses(query) == (0, 12, [(f"{topic}-0", 0, 7, "task"), (f"{topic}-0", 7, 12, "task")])
    assert query.step() is None
    told = [message for message in caplog.messages if "were lost" in message]
    assert [message.split(" were lost")[0] for message in told] == [
        f"{topic}-0: positions 0 to 6",
        f"{topic}-0: positions 7 to 11",
    ]


def test_what_is_counted_survives_a_restart_and_grows(query: Query, kafka: LocalKafka, topic: str) -> None:
    kafka.delete_records(topic, {0: 7})
    query.replay()
    query.step()
    query.restart()
    kafka.produce(topic, [b"more"] * 5)
    assert places(query.step()) == [(0, i) for i in range(20, 25)]
    kafka.delete_records(topic, {0: 22})
    assert places(query.replay()) == [(0, i) for i in range(22, 25)]
    query.step()
    assert losses(query)[:2] == (0, 7 + 2)


def test_under_retention_each_record_is_read_once_or_counted_as_lost(
    kafka: LocalKafka, topic: str, rng: random.Random
) -> None:
    """Records go before a batch is planned and before it is read, up to places near the ones planned."""
    kafka.create_topic(topic, 3)
    rows = []
    written = 0
    with Query(
        kafka.bootstrap_servers,
        subscribe=topic,
        startingOffsets="earliest",
        failOnDataLoss="false",
        maxOffsetsPerTrigger="150",
        minPartitions="6",
    ) as reading:

        def retention() -> None:
            positions: Any = reading.log[-1]["positions"]
            ends = kafka.end_offsets(topic)
            before = {number: positions[topic][str(number)] + rng.randint(-50, 50) for number in ends}
            kafka.delete_records(topic, {n: min(max(before[n], 0), end) for n, end in ends.items()})

        reading.plan()
        for _ in range(20):
            written += len(kafka.produce(topic, [b"x"] * rng.randint(1, 300)))
            retention()
            if reading.plan():
                retention()
                rows += places(reading.replay())
        # What the last tasks have found stands in the offset after it.
        written += len(kafka.produce(topic, [b"x"]))
        while (more := reading.step()) is not None:
            rows += places(more)
        by_planning, by_tasks, _ = losses(reading)
    assert len(rows) == len(set(rows))
    assert min(by_planning, by_tasks) > 0
    assert len(rows) + by_planning + by_tasks == written


def test_a_batch_read_logs_each_range_once_for_there_is_no_offset_to_count_in(
    query: Query, kafka: LocalKafka, topic: str, caplog: pytest.LogCaptureFixture
) -> None:
    kafka.delete_records(topic, {0: 7})
    options = {
        "subscribe": topic,
        "startingOffsets": f'{{"{topic}":{{"0":3}}}}',
        "failOnDataLoss": "false",
    }
    for _ in range(2):
        assert places(batch(kafka.bootstrap_servers, **options)) == [(0, i) for i in range(7, 20)]
    assert len([message for message in caplog.messages if f"{topic}-0: positions 3 to 6" in message]) <= 1


class UntilLost(hw.LagListener):
    """Waits for a report of so many lost records; reports come later than the end of a query."""

    def __init__(self, rows: int) -> None:
        super().__init__()
        self._rows = rows
        self._has_come = threading.Event()
        self._last: dict[str, Any] = {}

    def onQueryProgress(self, event: QueryProgressEvent) -> None:  # noqa: N802 - Spark's name
        super().onQueryProgress(event)
        for query in self.as_dict().values():
            self._last = query
            if query["lost_rows"] + query["lost_at_least_rows"] >= self._rows:
                self._has_come.set()

    def last(self) -> dict[str, Any]:
        assert self._has_come.wait(PATIENCE_S), self._last
        return self._last


def test_in_spark_the_lag_listener_shows_what_only_tasks_found(
    spark: SparkSession, kafka: LocalKafka, topic: str, tmp_path: Path
) -> None:
    """The records go between the planning of a batch and its reading, which happens twice."""
    kafka.create_topic(topic, partitions=2)
    for partition in (0, 1):
        kafka.produce(topic, [b"x"] * 10, partition=partition)
    seen: list[list[tuple[int, int]]] = []

    def delete_then_read(rows: DataFrame, batch_id: int) -> None:
        if batch_id == 0:
            kafka.delete_records(topic, {0: 4, 1: 10})
        seen.extend(sorted((row.partition, row.offset) for row in rows.collect()) for _action in range(2))

    lag = UntilLost(14)
    spark.streams.addListener(lag)
    stream = (
        spark.readStream.format("headwater")
        .option("source", "kafka")
        .option("kafka.bootstrap.servers", kafka.bootstrap_servers)
        .option("subscribe", topic)
        .option("startingOffsets", "earliest")
        .option("failOnDataLoss", "false")
        .option("minPartitions", "4")
        .load()
        .select("partition", "offset")
        .writeStream.foreachBatch(delete_then_read)
        .option("checkpointLocation", str(tmp_path))
        .trigger(availableNow=True)
        .start()
    )
    try:
        stream.awaitTermination()
        last = lag.last()
    finally:
        spark.streams.removeListener(lag)
    assert seen[:2] == [[(0, offset) for offset in range(4, 10)]] * 2
    assert (last["lost_rows"], last["lost_at_least_rows"]) == (0, 14)
    assert sum(each["until"] - each["first"] for each in last["lost_ranges"]) == 14
