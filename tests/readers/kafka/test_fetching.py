"""What a Fetch request asks for, and what is made of its answer."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from headwater.core.clock import ManualClock
from headwater.core.errors import TransientSourceError
from headwater.enumerators.kafka.client.client_config import ClientConfig
from headwater.enumerators.kafka.client.connection import BrokerConnection
from headwater.enumerators.kafka.split import KafkaPartitionSplit
from headwater.readers.kafka.cursor import Cursor
from headwater.readers.kafka.fetching import BrokerFetcher
from headwater.readers.kafka.record_set import RecordSet, next_offset
from local_kafka import LocalKafka
from tests.enumerators.kafka.client.listeners import client


@pytest.fixture
def fetcher(kafka: LocalKafka) -> Iterator[BrokerFetcher]:
    opened = begin(client(kafka.bootstrap_servers))
    yield opened
    opened.connection.close()


def begin(config: ClientConfig) -> BrokerFetcher:
    return BrokerFetcher(BrokerConnection(config.bootstrap_servers[0], config), config, ManualClock())


def cursor(
    kafka: LocalKafka, topic: str, partition: int = 0, position: int = 0, *, topic_id: bool = True
) -> Cursor:
    return Cursor(
        KafkaPartitionSplit(topic, partition, str(kafka.topic_id(topic)) if topic_id else None),
        position,
        1 << 40,
        1 << 20,
    )


@pytest.mark.parametrize("topic_id", [True, False])
def test_partitions_are_named_by_topic_id_or_on_old_brokers_by_name(
    kafka: LocalKafka, topic: str, fetcher: BrokerFetcher, *, topic_id: bool
) -> None:
    kafka.create_topic(topic, 2)
    kafka.produce(topic, [b"x"] * 5, partition=1)
    cursors = [cursor(kafka, topic, partition, topic_id=topic_id) for partition in (0, 1)]
    fetcher.send(cursors)
    assert fetcher.in_flight
    empty, full = sorted(fetcher.receive(), key=lambda part: part.cursor.split.partition)
    assert not fetcher.in_flight
    assert (empty.cursor, empty.error_code, empty.end, len(empty.records)) == (cursors[0], 0, 0, 0)
    assert (full.cursor, full.error_code, full.end, next_offset(RecordSet(full.records), "t")) == (
        cursors[1],
        0,
        5,
        5,
    )


def test_another_incarnation_of_a_topic_is_not_read(
    kafka: LocalKafka, topic: str, fetcher: BrokerFetcher
) -> None:
    kafka.create_topic(topic)
    old = cursor(kafka, topic)
    kafka.delete_topic(topic)
    kafka.create_topic(topic)
    kafka.produce(topic, [b"x"])
    fetcher.send([old])
    (part,) = fetcher.receive()
    assert (part.error_code, len(part.records)) == (100, 0)


def test_an_answer_says_which_position_it_is_for(
    kafka: LocalKafka, topic: str, fetcher: BrokerFetcher
) -> None:
    kafka.create_topic(topic)
    kafka.produce(topic, [b"x"] * 3)
    at = cursor(kafka, topic, position=2)
    fetcher.send([at])
    at.advance(3)
    assert [part.position for part in fetcher.receive()] == [2]


def test_read_committed_ends_at_the_last_stable_offset_and_names_aborted_transactions(
    kafka: LocalKafka, topic: str
) -> None:
    kafka.create_topic(topic)
    kafka.produce_transaction(topic, [b"no"], commit=False)
    transaction = kafka.begin(topic)
    transaction.produce([b"open"])
    ends = {}
    for level in ("read_committed", "read_uncommitted"):
        fetcher = begin(client(kafka.bootstrap_servers, isolation_level=level))
        fetcher.send([cursor(kafka, topic)])
        (part,) = fetcher.receive()
        ends[level] = (part.end, [first for _, first in part.aborted])
        fetcher.connection.close()
    assert ends == {"read_committed": (2, [0]), "read_uncommitted": (3, [])}
    transaction.abort()


def test_the_answer_is_due_after_the_request_time_out_and_the_long_poll(
    kafka: LocalKafka, topic: str
) -> None:
    kafka.create_topic(topic)
    # A partition that has just been made may not be served yet; one with a record is.
    kafka.produce(topic, [b"one"])
    config = client(kafka.bootstrap_servers, request_timeout_ms="7000", fetch_max_wait_ms="100")
    clock = ManualClock(5)
    fetcher = BrokerFetcher(BrokerConnection(config.bootstrap_servers[0], config), config, clock)
    fetcher.send([cursor(kafka, topic)])
    assert fetcher.left_ms == 7_100
    clock.advance(10_000)
    assert fetcher.left_ms == 0
    assert [part.end for part in fetcher.receive()] == [1]
    fetcher.connection.close()


def test_nothing_is_in_flight_after_a_failure(kafka: LocalKafka, topic: str, fetcher: BrokerFetcher) -> None:
    kafka.create_topic(topic)
    fetcher.send([cursor(kafka, topic)])
    fetcher.connection.close()
    with pytest.raises(TransientSourceError):
        fetcher.receive()
    assert not fetcher.in_flight
