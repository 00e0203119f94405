"""Brokers go away and come back under running queries and batch reads, and leaders move."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from local_kafka import LocalKafka
from tests.exactly_once.gate import SMALL_BATCHES, Gate
from tests.exactly_once.pipeline import Pipeline
from tests.exactly_once.producing import produce
from tests.exactly_once.waiting import until
from tests.patience import PATIENCE_S

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Make = Callable[..., Pipeline]

pytestmark = [pytest.mark.crash, pytest.mark.slow]

OUTAGE_S = 20
RECORDS = 1_500
VALUE_BYTES = 8_000
"""12 MB in one partition: more than the fetch in flight, the sockets and the JVM hold before the gate."""


@pytest.fixture(scope="module")
def pair() -> Iterator[LocalKafka]:
    """Two brokers; the second may go away."""
    with LocalKafka(2) as running:
        yield running


@pytest.fixture
def gate(spark: SparkSession, tmp_path: Path) -> Iterator[Gate]:
    folder = tmp_path / "gate"
    folder.mkdir()
    for name, value in SMALL_BATCHES.items():
        spark.conf.set(name, value)
    yield Gate(folder)
    for name in SMALL_BATCHES:
        spark.conf.unset(name)


def batch(spark: SparkSession, kafka: LocalKafka, topic: str) -> DataFrame:
    reader = (
        spark.read.format("headwater")
        .option("source", "kafka")
        .option("kafka.bootstrap.servers", kafka.bootstrap_servers)
    )
    return reader.option("subscribe", topic).load()


def read_across(gate: Gate, frame: DataFrame, event: Callable[[], Any]) -> list[tuple[int, int]]:
    """Read a frame, and call ``event`` when some of it has been read.

    Return partition and offset of the records, sorted.
    """
    rows: list[Any] = []
    reading = threading.Thread(
        target=lambda: rows.extend(gate.through(frame).select("partition", "offset").collect()), daemon=True
    )
    reading.start()
    try:
        gate.wait_for_tasks(1)
        event()
    finally:
        gate.open()
        reading.join(PATIENCE_S)
    assert not reading.is_alive(), "the batch read does not end"
    return sorted((row.partition, row.offset) for row in rows)


def test_a_query_waits_for_a_broker_that_is_away_for_20_seconds_and_goes_on(
    pipeline: Make, fragile_kafka: LocalKafka, topic: str
) -> None:
    fragile_kafka.create_topic(topic, partitions=2)
    job = replace(pipeline(maxOffsetsPerTrigger=50), bootstrap_servers=fragile_kafka.bootstrap_servers)
    produced = produce(fragile_kafka, topic, 1_000)
    query = job.start()
    try:
        # Where nothing has ever answered, a query waits for seconds only.
        until(lambda: query.recentProgress, "a first batch")
        fragile_kafka.stop()
        ended = threading.Event()
        assert not ended.wait(OUTAGE_S)
        assert query.isActive, query.exception()
        fragile_kafka.start()
        produced += produce(fragile_kafka, topic, 100)
        query.processAllAvailable()
    finally:
        query.stop()
    assert job.places() == sorted(produced)


def test_a_batch_read_goes_on_after_its_broker_was_killed_and_restarted(
    spark: SparkSession, fragile_kafka: LocalKafka, topic: str, gate: Gate
) -> None:
    fragile_kafka.create_topic(topic)
    produced = produce(fragile_kafka, topic, RECORDS, value_bytes=VALUE_BYTES)

    def crash() -> None:
        fragile_kafka.kill()
        fragile_kafka.start()

    assert read_across(gate, batch(spark, fragile_kafka, topic), crash) == produced


def test_a_batch_read_follows_a_leader_that_moves(
    spark: SparkSession, pair: LocalKafka, topic: str, gate: Gate
) -> None:
    pair.create_topic(topic, assignments={0: [1]})
    produced = produce(pair, topic, RECORDS, value_bytes=VALUE_BYTES)
    assert read_across(gate, batch(spark, pair, topic), lambda: pair.move_leader(topic, 0, 2)) == produced


def test_a_batch_read_goes_on_with_the_replica_of_a_killed_leader(
    spark: SparkSession, pair: LocalKafka, topic: str, gate: Gate
) -> None:
    pair.create_topic(topic, assignments={0: [2, 1]})
    produced = produce(pair, topic, RECORDS, value_bytes=VALUE_BYTES)
    try:
        assert read_across(gate, batch(spark, pair, topic), pair.brokers[2].kill) == produced
    finally:
        pair.start()


def test_a_query_goes_on_with_the_replicas_of_a_killed_leader(
    pipeline: Make, pair: LocalKafka, topic: str
) -> None:
    pair.create_topic(topic, assignments={0: [2, 1], 1: [1, 2]})
    job = replace(pipeline(maxOffsetsPerTrigger=50), bootstrap_servers=pair.bootstrap_servers)
    produced = produce(pair, topic, 500)
    query = job.start()
    try:
        pair.brokers[2].kill()
        query.processAllAvailable()
        produced += produce(pair, topic, 100)
        query.processAllAvailable()
    finally:
        query.stop()
        pair.start()
    assert job.places() == sorted(produced)
