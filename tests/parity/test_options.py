"""What is refused before anything is read. No broker is asked: the address is one where none is."""

from __future__ import annotations

from typing import Any

import pytest

from local_kafka import LocalKafka
from tests.parity.parity import Parity
from tests.parity.results import Failure, Step
from tests.parity.sources import FOREVER, NOON_MS, Source

NOWHERE = {
    "kafka.bootstrap.servers": "127.0.0.1:1",
    "kafka.default.api.timeout.ms": 100,
    "kafka.request.timeout.ms": 50,
    "fetchOffset.numRetries": 0,
}

STRATEGIES = "one of subscribe, subscribePattern and assign"
BOTH: dict[str, tuple[dict[str, Any], str]] = {
    "no strategy": ({}, STRATEGIES),
    "a name and a pattern": ({"subscribe": "t", "subscribePattern": "t.*"}, STRATEGIES),
    "a name and an assignment": ({"subscribe": "t", "assign": '{"a":[0]}'}, STRATEGIES),
    "a pattern and an assignment": ({"subscribePattern": "t", "assign": '{"a":[0]}'}, STRATEGIES),
    "no partitions": ({"assign": ""}, "option assign"),
    "an assignment that is no JSON": ({"assign": '{"a":[0}'}, "option assign"),
    "no names": ({"subscribe": ""}, "option subscribe"),
    "no pattern": ({"subscribePattern": ""}, "option subscribepattern"),
    "the client's own start": (
        {"subscribe": "t", "kafka.auto.offset.reset": "latest"},
        "option kafka.auto.offset.reset",
    ),
    "commits of the client": (
        {"subscribe": "t", "kafka.enable.auto.commit": "true"},
        "option kafka.enable.auto.commit",
    ),
    "interceptors": (
        {"subscribe": "t", "kafka.interceptor.classes": "x"},
        "option kafka.interceptor.classes",
    ),
    "a deserializer of keys": (
        {"subscribe": "t", "kafka.key.deserializer": "x"},
        "option kafka.key.deserializer",
    ),
    "a deserializer of values": (
        {"subscribe": "t", "kafka.value.deserializer": "x"},
        "option kafka.value.deserializer",
    ),
    "no address": ({"subscribe": "t", "kafka.bootstrap.servers": None}, "option kafka.bootstrap.servers"),
    "an unknown strategy for timestamps": (
        {"subscribe": "t", "startingTimestamp": 5, "startingOffsetsByTimestampStrategy": "guess"},
        "option startingoffsetsbytimestampstrategy",
    ),
    "a start that is neither a word nor JSON": (
        {"subscribe": "t", "startingOffsets": "soon"},
        "option startingoffsets",
    ),
    "minPartitions a": ({"subscribe": "t", "minPartitions": "a"}, "option minpartitions"),
    "minPartitions 1.0": ({"subscribe": "t", "minPartitions": "1.0"}, "option minpartitions"),
    "minPartitions 0": ({"subscribe": "t", "minPartitions": "0"}, "option minpartitions"),
    "minPartitions -1": ({"subscribe": "t", "minPartitions": "-1"}, "option minpartitions"),
    "maxRecordsPerPartition 0": (
        {"subscribe": "t", "maxRecordsPerPartition": "0"},
        "option maxrecordsperpartition",
    ),
}
BATCHES: dict[str, tuple[dict[str, Any], str]] = {
    "a start at the latest": ({"subscribe": "t", "startingOffsets": "latest"}, "option startingoffsets"),
    "a partition that starts at the latest": (
        {"subscribe": "t", "startingOffsets": '{"t":{"0":-1}}'},
        "option startingoffsets",
    ),
    "an end at the earliest": ({"subscribe": "t", "endingOffsets": "earliest"}, "option endingoffsets"),
    "a partition that ends at the earliest": (
        {"subscribe": "t", "endingOffsets": '{"t":{"0":-2}}'},
        "option endingoffsets",
    ),
}
STREAMS: dict[str, tuple[dict[str, Any], str]] = {
    "an end": ({"subscribe": "t", "endingOffsets": "latest"}, "option endingoffsets"),
    "an end by timestamps": (
        {"subscribe": "t", "endingOffsetsByTimestamp": '{"t":{"0":1000}}'},
        "option endingoffsetsbytimestamp",
    ),
    "a minimum above the maximum": (
        {"subscribe": "t", "minOffsetsPerTrigger": 20, "maxOffsetsPerTrigger": 15},
        "option minoffsetspertrigger",
    ),
}


@pytest.mark.parametrize("name", [*BOTH, *BATCHES])
def test_of_a_batch(parity: Parity, name: str) -> None:
    given, kind = {**BOTH, **BATCHES}[name]
    assert parity.same(lambda source: source.batch(**{**NOWHERE, **given})) == Failure(kind)


@pytest.mark.parametrize("name", [*BOTH, *STREAMS])
def test_of_a_stream(parity: Parity, name: str) -> None:
    given, kind = {**BOTH, **STREAMS}[name]
    assert parity.same(lambda source: source.stream(**{**NOWHERE, **given}).step()) == Failure(kind)


@pytest.fixture(scope="module")
def three(kafka: LocalKafka) -> str:
    """A topic of three records, which both sources read."""
    topic = kafka.create_topic("three-records", 1, FOREVER)
    kafka.produce(topic, [b"1", b"2", b"3"], timestamps_ms=[NOON_MS] * 3)
    return topic


def count_of(source: Source, **options: Any) -> int | Failure:
    """Return how many rows a batch read gives."""
    found = source.batch(**options)
    return found if isinstance(found, Failure) else len(found)


def test_an_isolation_level_that_is_none(parity: Parity, three: str) -> None:
    found = parity.same(
        lambda source: count_of(source, subscribe=three, kafka_isolation_level="intentionally_invalid")
    )
    assert found == Failure("option kafka.isolation.level")


def test_an_option_that_does_not_exist(parity: Parity, three: str) -> None:
    assert parity.differs(
        "unknown-option", lambda source: count_of(source, subscribe=three, startingOffset="latest")
    ) == (3, Failure("option startingoffset"))


def test_a_kafka_property_that_does_not_exist(parity: Parity, three: str) -> None:
    assert parity.differs(
        "unknown-kafka-property",
        lambda source: count_of(source, subscribe=three, kafka_isolation_levle="read_committed"),
    ) == (3, Failure("option kafka.isolation.levle"))


def test_an_ending_timestamp_of_a_stream(parity: Parity, three: str) -> None:
    def scenario(source: Source) -> int | Failure:
        step = source.stream(subscribe=three, startingOffsets="earliest", endingTimestamp=1000).step()
        return len(step.rows) if isinstance(step, Step) else step

    assert parity.differs("ending-timestamp-of-a-stream", scenario) == (3, Failure("option endingtimestamp"))


def test_a_negative_timestamp(parity: Parity, three: str) -> None:
    assert parity.differs(
        "negative-timestamp", lambda source: count_of(source, subscribe=three, startingTimestamp=-2)
    ) == (3, Failure("option startingtimestamp"))


BENT: dict[str, dict[str, str | None]] = {
    "null": {"startingOffsets": '{"TOPIC":{"0":null}}'},
    "a fraction": {"startingOffsets": '{"TOPIC":{"0":1.5}}'},
    "more than 64 bits": {"startingOffsets": '{"TOPIC":{"0":18446744073709551617}}'},
    "a partition twice": {"startingOffsets": '{"TOPIC":{"0":0,"0":2}}'},
    "a topic twice": {"startingOffsets": '{"TOPIC":{"0":0},"TOPIC":{"0":1}}'},
    "text after it": {"startingOffsets": '{"TOPIC":{"0":1}} and more'},
    "a sign at a partition": {"startingOffsets": '{"TOPIC":{"+0":1}}'},
    "a topic without partitions": {"startingOffsets": '{"TOPIC":{"0":1},"other":{}}'},
    "a timestamp of more than 64 bits": {
        "startingOffsetsByTimestamp": '{"TOPIC":{"0":18446744073709551617}}'
    },
    "an assignment of nothing": {"subscribe": None, "assign": "{}"},
    "an assignment of a topic without partitions": {"subscribe": None, "assign": '{"TOPIC":[]}'},
    "an assignment with a fraction": {"subscribe": None, "assign": '{"TOPIC":[0.5]}'},
}


@pytest.mark.parametrize("name", BENT)
def test_json_that_is_bent(parity: Parity, three: str, name: str) -> None:
    given = {option: raw and raw.replace("TOPIC", three) for option, raw in BENT[name].items()}
    sparks, ours = parity.differs(
        "bent-json", lambda source: count_of(source, **{"subscribe": three, **given})
    )
    assert isinstance(sparks, int)
    assert isinstance(ours, Failure)
    assert ours.kind.startswith("option ")


def test_one_timestamp_of_more_than_64_bits(parity: Parity, three: str) -> None:
    found = parity.same(lambda source: count_of(source, subscribe=three, startingTimestamp=1 << 64))
    assert found == Failure("option startingtimestamp")
