"""Consumer groups on a real broker: positions that Kafka's tools see, and starts at a group's offsets."""

from __future__ import annotations

import functools
import logging
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from kafka import KafkaConsumer, OffsetAndMetadata
from kafka import TopicPartition as KafkaTopicPartition
from pyspark.sql import SparkSession

from headwater.core.errors import DataLossError, OptionError
from headwater.enumerators.kafka.group_committer import GroupCommitter
from local_kafka import LocalKafka
from local_kafka_jars import classpath, java
from tests.connector.sources.kafka.kafka_queries import Query, batch, places, values
from tests.enumerators.kafka.client.listeners import Listen, listening
from tests.patience import PATIENCE_S
from tests.scripted_kafka import ScriptedKafka

_TOOL = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"


@pytest.fixture
def listen() -> Iterator[Listen]:
    with listening() as start:
        yield start


@pytest.fixture
def orders(kafka: LocalKafka, topic: str) -> str:
    """Partition 0 has ten records, partition 1 three, partition 2 none."""
    kafka.create_topic(topic, 3)
    for partition, count in ((0, 10), (1, 3)):
        kafka.produce(topic, [b"%d/%d" % (partition, i) for i in range(count)], partition=partition)
    # With the first group of a cluster the coordinator comes into being, which may take seconds.
    commit(kafka, f"{topic}-first", topic, {2: 0})
    return topic


def consumer(kafka: LocalKafka, group: str, **settings: Any) -> KafkaConsumer:
    return KafkaConsumer(
        bootstrap_servers=kafka.bootstrap_servers,
        group_id=group,
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        **settings,
    )


def commit(kafka: LocalKafka, group: str, topic: str, offsets: dict[int, int]) -> None:
    """Commit as a consumer of the group does."""
    committing = consumer(kafka, group)
    partitions = {KafkaTopicPartition(topic, index): offset for index, offset in offsets.items()}
    committing.assign(list(partitions))
    committing.commit({tp: OffsetAndMetadata(offset, "", -1) for tp, offset in partitions.items()})
    committing.close()


def described(kafka: LocalKafka, group: str) -> dict[int, tuple[str, ...]]:
    """Return CURRENT-OFFSET, LOG-END-OFFSET and LAG of each partition, as Kafka's own tool shows them."""
    done = subprocess.run(
        [
            *(java(), "-XX:TieredStopAtLevel=1", "-cp", classpath(), _TOOL),
            *("--bootstrap-server", kafka.bootstrap_servers, "--describe", "--group", group),
        ],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
        timeout=PATIENCE_S,
    )
    lines = [line.split() for line in done.stdout.splitlines() if line.strip()]
    head = next(line for line in lines if line[0] == "GROUP")
    columns = [head.index(name) for name in ("CURRENT-OFFSET", "LOG-END-OFFSET", "LAG")]
    rows = [line for line in lines if line[0] == group]
    return {int(row[head.index("PARTITION")]): tuple(row[at] for at in columns) for row in rows}


class TestCommittedPositions:
    def test_kafkas_own_tool_shows_the_lag_of_a_query_and_a_consumer_goes_on_where_it_stopped(
        self, spark: SparkSession, kafka: LocalKafka, orders: str, tmp_path: Path
    ) -> None:
        stream = (
            spark.readStream.format("headwater")
            .option("source", "kafka")
            .option("kafka.bootstrap.servers", kafka.bootstrap_servers)
            .option("subscribe", orders)
            .option("startingOffsets", "earliest")
            .option("maxOffsetsPerTrigger", "7")
            .option("commitOffsetsToGroup", orders)
            .load()
        )
        writer = stream.writeStream.format("parquet").option("path", str(tmp_path / "rows"))
        running = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(availableNow=True)
        running.start().awaitTermination()
        kafka.produce(orders, [b"later"] * 4, partition=0)
        assert described(kafka, orders) == {0: ("10", "14", "4"), 1: ("3", "3", "0"), 2: ("0", "0", "0")}
        taking_over = consumer(kafka, orders, consumer_timeout_ms=30_000)
        taking_over.subscribe([orders])
        first = next(taking_over)
        assert (first.partition, first.offset, first.value) == (0, 10, b"later")
        taking_over.close()

    def test_positions_are_committed_when_the_next_look_proves_that_their_batch_is(
        self, kafka: LocalKafka, orders: str, query: Callable[..., Query]
    ) -> None:
        reading = query(
            subscribe=orders,
            startingOffsets="earliest",
            maxOffsetsPerTrigger="6",
            commitOffsetsToGroup=orders,
        )
        reading.step()
        reading.flush_group()
        assert committed(kafka, orders, orders) == {}
        # The plan of the second batch proves the first, and says nothing of itself.
        reading.step()
        reading.flush_group()
        assert sum(committed(kafka, orders, orders).values()) == sum_of(reading, -2)
        reading.restart()
        while reading.step() is not None:
            pass
        reading.flush_group()
        assert committed(kafka, orders, orders) == {0: 10, 1: 3, 2: 0}

    def test_a_group_with_a_live_member_keeps_its_offsets_and_the_query_goes_on(
        self, kafka: LocalKafka, orders: str, query: Callable[..., Query], caplog: pytest.LogCaptureFixture
    ) -> None:
        member = consumer(kafka, orders)
        member.subscribe([orders])
        member.poll(timeout_ms=20_000)
        reading = query(subscribe=orders, startingOffsets="earliest", commitOffsetsToGroup=orders)
        with caplog.at_level(logging.WARNING):
            assert len(places(reading.step())) == 13
            assert reading.step() is None
            reading.flush_group()
        assert f"the consumer group '{orders}' has live members" in caplog.text
        assert member.committed(KafkaTopicPartition(orders, 0)) is None
        member.close()


def committed(kafka: LocalKafka, group: str, topic: str) -> dict[int, int]:
    asking = consumer(kafka, group)
    found = {index: asking.committed(KafkaTopicPartition(topic, index)) for index in range(3)}
    asking.close()
    return {index: offset for index, offset in found.items() if offset is not None}


def sum_of(reading: Query, at: int) -> int:
    positions: Any = reading.log[at]["positions"]
    return sum(offset for topic in positions.values() for offset in topic.values())


class TestABadCoordinator:
    """It is another broker than the leader, and never answers."""

    def test_does_not_slow_a_batch(self, listen: Listen) -> None:
        took_s: dict[str | None, list[float]] = {None: [], "lag": []}
        for _ in range(3):
            for group, took in took_s.items():
                took.extend(self._batches(listen, group))
        # Looks at a scripted cluster take some milliseconds; one request's time-out would be ten seconds.
        assert sorted(took_s["lag"])[30] < 3 * sorted(took_s[None])[30] + 0.05
        assert max(took_s["lag"]) < 5

    def _batches(self, listen: Listen, group: str | None) -> list[float]:
        scripted = ScriptedKafka(listen, nodes=(1, 2))
        scripted.groups.node = 2
        scripted.groups.speaks.clear()
        log = scripted.topic("orders", 1, [3]).logs[0]
        options: dict[str, Any] = {"commitOffsetsToGroup": group} if group else {}
        took_s = []
        reading = Query(str(scripted.bootstrap), subscribe="orders", startingOffsets="earliest", **options)
        try:
            for _ in range(20):
                log.append(b"x")
                began = time.perf_counter()
                reading.plan()
                took_s.append(time.perf_counter() - began)
            if group:
                assert scripted.groups.commits.get(timeout=PATIENCE_S).node == 2
        finally:
            began = time.monotonic()
            reading.close()
            assert time.monotonic() - began < 5
            scripted.groups.speaks.set()
        return took_s

    def test_holds_up_the_end_of_an_available_now_run_no_longer_than_its_patience(
        self, listen: Listen, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        impatient = functools.partial(GroupCommitter, patience_ms=500)
        monkeypatch.setattr("headwater.enumerators.kafka.enumerator.GroupCommitter", impatient)
        scripted = ScriptedKafka(listen, nodes=(1, 2))
        scripted.groups.node = 2
        scripted.groups.speaks.clear()
        scripted.topic("orders", 1, [3])
        reading = Query(
            str(scripted.bootstrap),
            subscribe="orders",
            startingOffsets="earliest",
            commitOffsetsToGroup="lag",
        )
        reading.available_now()
        try:
            with caplog.at_level(logging.WARNING):
                assert reading.plan()
                began = time.monotonic()
                assert not reading.plan()
                assert 0.5 <= time.monotonic() - began < 4
            assert "the last positions have not been committed in time" in caplog.text
        finally:
            reading.close()
            scripted.groups.speaks.set()


class TestAStartAtAGroupsOffsets:
    def test_partition_by_partition_and_once(
        self, kafka: LocalKafka, orders: str, query: Callable[..., Query]
    ) -> None:
        commit(kafka, orders, orders, {0: 8, 1: 3, 2: 0})
        reading = query(subscribe=orders, startingOffsets=f"group:{orders}")
        assert places(reading.step()) == [(0, 8), (0, 9)]
        commit(kafka, orders, orders, {0: 1, 1: 0, 2: 0})
        kafka.produce(orders, [b"new"], partition=2)
        reading.restart()
        assert places(reading.step()) == [(2, 0)]

    def test_in_a_batch_too(self, kafka: LocalKafka, orders: str) -> None:
        commit(kafka, orders, orders, {0: 9, 1: 1, 2: 0})
        found = batch(kafka.bootstrap_servers, subscribe=orders, startingOffsets=f"group:{orders}")
        assert places(found) == [(0, 9), (1, 1), (1, 2)]

    def test_what_the_group_has_not_committed_is_an_error_that_names_it(
        self, kafka: LocalKafka, orders: str, query: Callable[..., Query]
    ) -> None:
        commit(kafka, orders, orders, {1: 1})
        with pytest.raises(
            OptionError,
            match=rf"option 'startingOffsets': the consumer group '{orders}' has no committed offset for "
            rf"{orders}-0, {orders}-2; to begin there anyway set startingOffsetsFallback to earliest or",
        ):
            query(subscribe=orders, startingOffsets=f"group:{orders}").step()

    @pytest.mark.parametrize(
        ("fallback", "found"),
        [("earliest", [(0, i) for i in range(10)] + [(1, 1), (1, 2)]), ("latest", [(1, 1), (1, 2)])],
    )
    def test_or_begins_where_the_fallback_says_with_a_warning(
        self,
        kafka: LocalKafka,
        orders: str,
        caplog: pytest.LogCaptureFixture,
        fallback: str,
        found: list[tuple[int, int]],
    ) -> None:
        commit(kafka, orders, orders, {1: 1})
        with caplog.at_level(logging.WARNING):
            rows = batch(
                kafka.bootstrap_servers,
                subscribe=orders,
                startingOffsets=f"group:{orders}",
                startingOffsetsFallback=fallback,
            )
        assert places(rows) == found
        assert f"{orders}-0, {orders}-2; beginning there at the {fallback}" in caplog.text

    def test_a_group_that_nobody_knows(self, kafka: LocalKafka, orders: str) -> None:
        with pytest.raises(
            OptionError,
            match=r"has no committed offset for any partition that is read .*: the group does not exist",
        ):
            batch(kafka.bootstrap_servers, subscribe=orders, startingOffsets="group:typo")

    def test_records_that_retention_took_before_the_start_are_loss(
        self, kafka: LocalKafka, orders: str, query: Callable[..., Query]
    ) -> None:
        commit(kafka, orders, orders, {0: 2, 1: 3, 2: 0})
        kafka.delete_records(orders, {0: 7})
        with pytest.raises(DataLossError, match=f"topic '{orders}', partition 0"):
            query(subscribe=orders, startingOffsets=f"group:{orders}").step()
        reading = query(subscribe=orders, startingOffsets=f"group:{orders}", failOnDataLoss="false")
        assert places(reading.step()) == [(0, 7), (0, 8), (0, 9)]

    def test_an_offset_beyond_the_end_of_the_log_is_loss(
        self, kafka: LocalKafka, orders: str, query: Callable[..., Query]
    ) -> None:
        commit(kafka, orders, orders, {0: 10, 1: 9, 2: 0})
        with pytest.raises(
            DataLossError, match=f"topic '{orders}', partition 1, offset 9: the log ends at offset 3"
        ):
            query(subscribe=orders, startingOffsets=f"group:{orders}").step()
        reading = query(subscribe=orders, startingOffsets=f"group:{orders}", failOnDataLoss="false")
        assert values(reading.step()) == []
        kafka.produce(orders, [b"new"], partition=1)
        assert places(reading.step()) == [(1, 3)]
