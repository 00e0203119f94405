"""Limits and weights of single topics: a flood in one does not starve the others."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping

import pytest

from headwater.core.errors import OptionError
from headwater.core.source import Boundedness
from local_kafka import LocalKafka
from tests.connector.sources.kafka.kafka_queries import Query, configure


@pytest.fixture
def topics(kafka: LocalKafka, topic: str) -> tuple[str, str]:
    """One topic with 3,000 records in three partitions, one with 100 in one."""
    flood = f"{topic}-flood"
    calm = f"{topic}-calm"
    kafka.create_topic(flood, 3)
    kafka.create_topic(calm)
    kafka.produce(flood, [b"flood"] * 3_000)
    kafka.produce(calm, [b"calm"] * 100)
    return flood, calm


def counts(kafka: LocalKafka, topics: tuple[str, str], **options: str) -> list[tuple[int, int]]:
    """How many records of each of the two topics the batches have."""
    options = {"subscribe": ",".join(topics), "startingOffsets": "earliest"} | options
    with Query(kafka.bootstrap_servers, **options) as query:  # type: ignore[arg-type]
        read = []
        while (rows := query.step()) is not None:
            seen = Counter(rows.column("value").to_pylist())
            read.append((seen[b"flood"], seen[b"calm"]))
        return read


def test_without_weights_a_flood_takes_the_limit(kafka: LocalKafka, topics: tuple[str, str]) -> None:
    read = counts(kafka, topics, maxOffsetsPerTrigger="200")
    assert read[0] == (192, 6)


def test_by_weight_the_calm_topic_is_read_at_once(kafka: LocalKafka, topics: tuple[str, str]) -> None:
    _, calm = topics
    read = counts(kafka, topics, maxOffsetsPerTrigger="200", topicWeights=json.dumps({calm: 3}))
    assert read[0] == (99, 100)
    assert tuple(map(sum, zip(*read, strict=True))) == (3_000, 100)


def test_a_topic_has_a_limit_of_its_own(kafka: LocalKafka, topics: tuple[str, str]) -> None:
    flood, _ = topics
    read = counts(kafka, topics, maxOffsetsPerTrigger=json.dumps({flood: 900}))
    assert read == [(900, 100), (900, 0), (900, 0), (300, 0)]


def test_a_topics_limit_is_kept_where_batches_are_aligned(kafka: LocalKafka, topics: tuple[str, str]) -> None:
    flood, _ = topics
    read = counts(kafka, topics, maxOffsetsPerTrigger=json.dumps({flood: 900}), maxEventTimeSkew="1ms")
    assert max(of_flood for of_flood, _ in read) <= 900
    assert tuple(map(sum, zip(*read, strict=True))) == (3_000, 100)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"maxOffsetsPerTrigger": '{"other": 5}'}, r"maxOffsetsPerTrigger.*names topic 'other', which"),
        ({"maxOffsetsPerTrigger": '{"orders": 0}'}, r"maxOffsetsPerTrigger.*at least 1 for topic 'orders'"),
        ({"maxOffsetsPerTrigger": '{"orders": "5"}'}, r"at least 1 for topic 'orders', not '5'"),
        ({"maxOffsetsPerTrigger": "{}"}, r"maxOffsetsPerTrigger.*must name a topic, or be a number"),
        ({"maxOffsetsPerTrigger": '{"orders": 5'}, r"maxOffsetsPerTrigger.*not valid JSON"),
        ({"maxOffsetsPerTrigger": '{"orders": 5, "orders": 6}'}, "orders"),
        ({"topicWeights": '{"orders": 5}'}, r"topicWeights.*needs a limit that topics share"),
        ({"topicWeights": '{"orders": 0}', "maxBytesPerTrigger": "5"}, r"above 0 for topic 'orders', not 0"),
        ({"topicWeights": '{"other": 1}', "maxBytesPerTrigger": "5"}, r"names topic 'other', which"),
        (
            {"topicWeights": '{"orders": 5}', "maxBytesPerTrigger": "5", "maxEventTimeSkew": "1s"},
            r"topicWeights.*cannot be used with maxEventTimeSkew",
        ),
        ({"targetBatchDuration": "10s"}, r"targetBatchDuration.*needs option 'checkpointLocation'"),
        ({"targetBatchDuration": "0s"}, r"targetBatchDuration.*must be more than 0"),
        ({"triggerInterval": "10s"}, r"triggerInterval.*requires option 'targetBatchDuration'"),
        (
            {"checkpointLocation": "/tmp"},
            r"checkpointLocation.*requires option 'targetBatchDuration'",
        ),
        (
            {"targetBatchDuration": "10s", "triggerInterval": "1m"},
            r"triggerInterval.*is longer than targetBatchDuration.*give option 'checkpointLocation'",
        ),
    ],
)
def test_options_that_mean_nothing_are_refused(options: Mapping[str, str], message: str) -> None:
    given = {"kafka.bootstrap.servers": "localhost:9092", "subscribe": "orders", **options}
    with pytest.raises(OptionError, match=message):
        configure(given, Boundedness.CONTINUOUS_UNBOUNDED)
