"""`kafka.client.rack` on two brokers in two racks (KIP-392)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from headwater.core.source import Boundedness
from headwater.core.split import SplitRange
from headwater.enumerators.kafka.split import KafkaPartitionSplit
from headwater.readers.kafka.split_reader import KafkaSplitReader
from local_kafka import LocalKafka
from tests.connector.sources.kafka.kafka_queries import batch, configure, values

RECORDS = [b"%03d" % i + b"x" * 1_000 for i in range(300)]


@pytest.fixture(scope="module")
def two() -> Iterator[LocalKafka]:
    with LocalKafka(2, racks=["here", "there"], heap_mb=256) as running:
        yield running


@pytest.fixture
def copied(two: LocalKafka, topic: str) -> str:
    """A topic in several record batches that broker 1 leads and broker 2 follows, and serves whole.

    A follower has the records before it knows that they are committed (the high watermark comes with its next
    fetch), and serves them only then.
    """
    two.create_topic(topic, assignments={0: [1, 2]})
    for first in range(0, len(RECORDS), 50):
        two.produce(topic, RECORDS[first : first + 50])
    while read_through(two, topic, "there") != [1, 2]:
        pass
    return topic


def reader_of(two: LocalKafka, topic: str, rack: str) -> KafkaSplitReader:
    given = {"kafka.bootstrap.servers": two.bootstrap_servers, "subscribe": topic, "kafka.client.rack": rack}
    source = configure(
        {**given, "kafka.max.partition.fetch.bytes": "1", "kafka.request.timeout.ms": "5000"},
        Boundedness.BOUNDED,
    ).source
    reader = source.create_reader()
    assert isinstance(reader, KafkaSplitReader)
    return reader


def whole(two: LocalKafka, topic: str) -> SplitRange[Any, int]:
    return SplitRange(KafkaPartitionSplit(topic, 0, str(two.topic_id(topic))), 0, len(RECORDS))


def read_through(two: LocalKafka, topic: str, rack: str) -> list[int]:
    """Read the topic to its end; returns the brokers that served fetches."""
    reader = reader_of(two, topic, rack)
    reader.handle_splits_changes([whole(two, topic)])
    while not reader.fetch().finished:
        pass
    nodes = sorted(reader._fetchers._fetchers)
    reader.close()
    return nodes


def test_the_follower_in_our_rack_serves_while_the_leader_is_frozen(two: LocalKafka, copied: str) -> None:
    reader = reader_of(two, copied, "there")
    reader.handle_splits_changes([whole(two, copied)])
    two.wait_for_leaders(copied, {0: 1})
    sets = 0
    while not sets:
        sets += len(reader.fetch().records)
    two.brokers[1].pause()
    try:
        finished: frozenset[Any] = frozenset()
        while not finished:
            fetched = reader.fetch()
            sets += len(fetched.records)
            finished = fetched.finished
    finally:
        two.brokers[1].resume()
        reader.close()
    assert sets > 3


@pytest.mark.parametrize(("rack", "nodes"), [("", [1]), ("here", [1]), ("elsewhere", [1]), ("there", [1, 2])])
def test_fetches_go_to_the_leader_unless_another_broker_is_nearer(
    two: LocalKafka, copied: str, rack: str, nodes: list[int]
) -> None:
    assert read_through(two, copied, rack) == nodes


def test_the_rows_are_the_same(two: LocalKafka, copied: str) -> None:
    for rack in ("", "there"):
        assert values(batch(two.bootstrap_servers, subscribe=copied, kafka_client_rack=rack)) == RECORDS
