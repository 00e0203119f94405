"""Which topics and partitions are read."""

from __future__ import annotations

import json
from collections.abc import Iterable

import pytest

from local_kafka import LocalKafka
from tests.parity.parity import Parity
from tests.parity.results import Failure, Row

PREFIX = "which-topics"
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


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (named("a1"), both("a1")),
        (named("a1", "B"), both("a1", "B")),
        (f" {named('a1')} , {named('b1')} ", both("a1", "b1")),
        (named("a1", "a1"), both("a1")),
        (named("a1") + ",", both("a1")),
        ("," + named("a1") + ",," + named("b1"), both("a1", "b1")),
    ],
)
def test_names(parity: Parity, topics: None, given: str, expected: set[tuple[str, int]]) -> None:
    assert parity.same(lambda source: read(source.batch(subscribe=given))) == expected


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        (f"{PREFIX}-.*", NAMES),
        (f"{PREFIX}-a1", ("a1",)),
        (f"{PREFIX}-a", ("a1", "a2")),
        (f"^{PREFIX}-a.$", ("a1", "a2")),
        (r"topics-[ab]\d$", ("a1", "a2", "b1")),
        (r"which-topics.*a1", ("a1", "b-a1")),
        (f"(?i){PREFIX}-b$", ("B",)),
        (rf"{PREFIX}-_x\.y", ("_x.y",)),
        (rf"{PREFIX}-(?!a|b)", ("_x.y", "B")),
        (rf"{PREFIX}-(?:a1|b1)\b", ("a1", "b1")),
        (rf"{PREFIX}-a{{1}}1", ("a1",)),
        (rf"(?<={PREFIX}-)[a-b][0-1]", ("a1", "b1")),
        (rf"{PREFIX}-[a-z&&[^b]]\d", ("a1", "a2")),
        (rf"{PREFIX}-\p{{Lower}}1", ("a1", "b1")),
        (rf"{PREFIX}-\Qb-a\E", ("b-a1",)),
    ],
)
def test_a_pattern_is_searched_in_the_name(
    parity: Parity, topics: None, pattern: str, expected: Iterable[str]
) -> None:
    assert parity.same(lambda source: read(source.batch(subscribePattern=pattern))) == both(*expected)


def test_a_pattern_that_python_cannot_say(parity: Parity, topics: None) -> None:
    assert parity.differs(
        "untranslatable-pattern", lambda source: source.batch(subscribePattern=rf"{PREFIX}-\p{{IsThai}}")
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
