"""Which topics and partitions are read."""

from __future__ import annotations

import json
from collections.abc import Iterable

import pytest
from confluent_kafka import Consumer, TopicPartition

from local_kafka import LocalKafka
from tests.parity.parity import Parity
from tests.parity.results import Failure, Row
from tests.parity.sources import Source

PREFIX = "which-topics"
INTERNAL = "__consumer_offsets"
NAMES = ("a1", "a2", "b-a1", "B", "_x.y", "b1")


@pytest.fixture(scope="module")
def topics(kafka: LocalKafka) -> None:
    """Topics of two partitions, each with one record that is the topic's name."""
    for name in NAMES:
        kafka.create_topic(f"{PREFIX}-{name}", 2)
        kafka.produce(f"{PREFIX}-{name}", [name.encode()] * 2)


def read(found: list[Row] | Failure) -> set[tuple[str, int]] | Failure:
    return (
        found
        if isinstance(found, Failure)
        else {(row[2].removeprefix(f"{PREFIX}-"), row[3]) for row in found}
    )


def both(*names: str) -> set[tuple[str, int]]:
    return {(name, partition) for name in names for partition in (0, 1)}


def named(*names: str) -> str:
    return ",".join(f"{PREFIX}-{name}" for name in names)


NAMED: dict[str, set[tuple[str, int]]] = {
    named("a1"): both("a1"),
    named("a1", "B"): both("a1", "B"),
    f" {named('a1')} , {named('b1')} ": both("a1", "b1"),
    named("a1", "a1"): both("a1"),
    named("a1") + ",": both("a1"),
    "," + named("a1", "a1") + ",," + named("b1"): both("a1", "b1"),
}
PATTERNS: dict[str, Iterable[str]] = {
    f"{PREFIX}-.*": NAMES,
    f"{PREFIX}-a1": ("a1",),
    f"{PREFIX}-a": ("a1", "a2"),
    f"^{PREFIX}-a.$": ("a1", "a2"),
    r"topics-[ab]\d$": ("a1", "a2", "b1"),
    r"which-topics.*a1": ("a1", "b-a1"),
    f"(?i){PREFIX}-b$": ("B",),
    rf"{PREFIX}-_x\.y": ("_x.y",),
    rf"{PREFIX}-(?!a|b)": ("_x.y", "B"),
    rf"{PREFIX}-(?:a1|b1)\b": ("a1", "b1"),
    rf"{PREFIX}-a{{1}}1": ("a1",),
    rf"{PREFIX}-[^b_B-]\d": ("a1", "a2"),
}


@pytest.mark.parametrize("given", NAMED)
def test_names(parity: Parity, topics: None, given: str) -> None:
    assert parity.same(lambda source: read(source.batch(subscribe=given))) == NAMED[given]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_pattern_is_searched_in_the_name(parity: Parity, topics: None, pattern: str) -> None:
    assert parity.same(lambda source: read(source.batch(subscribePattern=pattern))) == both(
        *PATTERNS[pattern]
    )


def test_a_pattern_of_java_alone(parity: Parity, topics: None) -> None:
    assert parity.differs(
        "java-pattern", lambda source: source.batch(subscribePattern=rf"{PREFIX}-\p{{IsThai}}")
    ) == ([], Failure("option subscribepattern"))


def test_a_pattern_that_matches_nothing(parity: Parity, topics: None) -> None:
    assert parity.same(lambda source: source.batch(subscribePattern="no-such-topic-anywhere")) == []


def test_assigned_partitions(parity: Parity, topics: None) -> None:
    given = json.dumps({f"{PREFIX}-a1": [1], f"{PREFIX}-b1": [0, 1]})
    assert parity.same(lambda source: read(source.batch(assign=given))) == {("a1", 1), ("b1", 0), ("b1", 1)}


def test_a_topic_that_does_not_exist(parity: Parity) -> None:
    assert parity.same(lambda source: source.batch(subscribe="no-such-topic")) == Failure(
        "unknown topic or partition"
    )


def test_a_stream_of_a_topic_that_does_not_exist(parity: Parity) -> None:
    assert parity.same(lambda source: source.stream(subscribe="no-such-topic").step()) == Failure(
        "unknown topic or partition"
    )


def test_an_assigned_partition_that_does_not_exist(parity: Parity, topics: None) -> None:
    given = json.dumps({f"{PREFIX}-a1": [1, 7]})
    assert parity.differs("assigned-partition-missing", lambda source: read(source.batch(assign=given))) == (
        {("a1", 1)},
        Failure("unknown topic or partition"),
    )


@pytest.mark.parametrize("option", ["subscribe", "assign"])
def test_a_topic_of_kafka_itself(parity: Parity, topics: None, option: str) -> None:
    group = Consumer({"bootstrap.servers": parity.kafka.bootstrap_servers, "group.id": PREFIX})
    group.commit(offsets=[TopicPartition(f"{PREFIX}-a1", 0, 1)], asynchronous=False)
    group.close()
    given = INTERNAL if option == "subscribe" else json.dumps({INTERNAL: [0]})

    def scenario(source: Source) -> bool | Failure:
        found = source.batch(**{option: given})
        return found if isinstance(found, Failure) else bool(found)

    assert parity.differs("internal-topic", scenario) == (False, True)
