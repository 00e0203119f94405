"""A query of Spark's own Kafka source goes on as headwater's, on the same checkpoint. Without Spark here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from headwater.core.errors import DataLossError, OffsetError
from headwater.core.jsons import JsonObject
from local_kafka import LocalKafka
from tests.connector.sources.kafka.kafka_queries import Query, places

Adopt = Callable[..., Query]


@pytest.fixture
def adopt(kafka: LocalKafka, topic: str) -> Iterator[Adopt]:
    """A query whose log holds these offsets of Spark's source; each is one topic's positions."""
    made = []

    def adopting(*logged: dict[str, int], lossy: bool = False) -> Query:
        query = Query(
            kafka.bootstrap_servers,
            subscribe=topic,
            startingOffsets="latest",
            failOnDataLoss=str(not lossy).lower(),
            fetchOffset_retryIntervalMs="1",
        )
        query.log = [{topic: dict(positions)} for positions in logged]
        made.append(query)
        return query

    yield adopting
    for query in made:
        query.close()


def produce(kafka: LocalKafka, topic: str, **counts: int) -> None:
    """Produce so many records to partitions: ``p0=5``."""
    for partition, count in counts.items():
        kafka.produce(topic, [b"x"] * count, partition=int(partition[1:]))


def positions(logged: JsonObject) -> Any:
    return logged["positions"]


def test_the_next_batch_goes_on_at_the_positions_and_logs_topic_ids(
    kafka: LocalKafka, topic: str, adopt: Adopt
) -> None:
    kafka.create_topic(topic, 2)
    produce(kafka, topic, p0=9, p1=4)
    query = adopt({"0": 1, "1": 1}, {"0": 5, "1": 4})
    assert places(query.step()) == [(0, offset) for offset in range(5, 9)]
    logged = query.log[-1]
    assert positions(logged) == {topic: {"0": 9, "1": 4}}
    assert isinstance(logged["splits"], dict)
    topic_id = logged["splits"][topic]
    assert isinstance(topic_id, str)
    assert places(query.replay()) == [(0, offset) for offset in range(5, 9)]
    produce(kafka, topic, p1=1)
    assert places(query.step()) == [(1, 4)]
    assert query.log[-1]["splits"] == {topic: topic_id}


def test_without_new_records_headwaters_offset_is_logged_once(
    kafka: LocalKafka, topic: str, adopt: Adopt
) -> None:
    kafka.create_topic(topic, 1)
    produce(kafka, topic, p0=5)
    query = adopt({"0": 5})
    empty = query.step()
    assert empty is not None
    assert empty.num_rows == 0
    assert query.log[-1]["source"] == "kafka"
    assert positions(query.log[-1]) == {topic: {"0": 5}}
    assert query.step() is None


def test_a_pending_batch_is_read_as_it_was_logged_with_a_partition_that_was_added(
    kafka: LocalKafka, topic: str, adopt: Adopt
) -> None:
    kafka.create_topic(topic, 2)
    produce(kafka, topic, p0=9, p1=7)
    query = adopt({"0": 2}, {"0": 5, "1": 3})
    pending = [(0, 2), (0, 3), (0, 4), (1, 0), (1, 1), (1, 2)]
    assert places(query.replay()) == pending
    query.restart()
    assert places(query.replay()) == pending
    assert places(query.step()) == [(0, 5), (0, 6), (0, 7), (0, 8), (1, 3), (1, 4), (1, 5), (1, 6)]


def test_an_added_partition_of_a_pending_batch_that_lost_its_beginning_is_data_loss(
    kafka: LocalKafka, topic: str, adopt: Adopt
) -> None:
    kafka.create_topic(topic, 2)
    produce(kafka, topic, p0=3, p1=6)
    kafka.delete_records(topic, {1: 4})
    with pytest.raises(DataLossError):
        adopt({"0": 2}, {"0": 3, "1": 6}).replay()
    assert places(adopt({"0": 2}, {"0": 3, "1": 6}, lossy=True).replay()) == [
        (0, 2),
        (1, 4),
        (1, 5),
    ]


def test_a_partition_that_was_gone_from_a_pending_batch_is_data_loss(
    kafka: LocalKafka, topic: str, adopt: Adopt
) -> None:
    kafka.create_topic(topic, 2)
    produce(kafka, topic, p0=3, p1=6)
    with pytest.raises(DataLossError, match="partition 1: it was gone when the batch was planned"):
        adopt({"0": 2, "1": 4}, {"0": 3}).replay()
    assert places(adopt({"0": 2, "1": 4}, {"0": 3}, lossy=True).replay()) == [(0, 2)]


def test_the_first_batch_pending_is_refused_with_what_to_do(
    kafka: LocalKafka, topic: str, adopt: Adopt
) -> None:
    kafka.create_topic(topic, 1)
    produce(kafka, topic, p0=3)
    with pytest.raises(OffsetError, match="the first batch of another source") as refused:
        adopt({"0": 3}).replay()
    assert "Start the query once more with that source" in str(refused.value)


def test_records_that_are_gone_beyond_a_position_are_found_as_ever(
    kafka: LocalKafka, topic: str, adopt: Adopt
) -> None:
    kafka.create_topic(topic, 1)
    produce(kafka, topic, p0=3)
    with pytest.raises(DataLossError, match="the log ends at offset 3"):
        adopt({"0": 8}).step()
