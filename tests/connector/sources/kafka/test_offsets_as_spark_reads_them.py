"""JSON of offsets and partitions: read as Spark's source reads it, or refused.

What Spark makes of each text was asked of the ``JsonUtils`` of its Kafka source 4.2.0.
"""

from __future__ import annotations

import pytest

from headwater.connector.sources.kafka.source import KafkaSource
from headwater.core.errors import OptionError
from headwater.core.source import Boundedness
from headwater.enumerators.kafka.lookup_settings import AssignedPartitions, LookupSettings
from headwater.enumerators.kafka.offsets_initializer import OffsetsInitializer
from tests.connector.sources.kafka.kafka_queries import configure

OFFSETS: dict[str, dict[tuple[str, int], int] | None] = {
    '{"a":{"0":23,"1":-1},"b":{"0":-2}}': {("a", 0): 23, ("a", 1): -1, ("b", 0): -2},
    ' { "a" : { "0" : 5 } }\n': {("a", 0): 5},
    '{"a":{"00":5}}': {("a", 0): 5},
    '{"a":{"\u0663":5}}': {("a", 3): 5},
    '{"a":{"0":-0}}': {("a", 0): 0},
    '{"a":{"0":9223372036854775807}}': {("a", 0): 9223372036854775807},
    '{"a":{"0":"5"}}': None,
    '{"a":{"0":true}}': None,
    '{"a":{"0":{}}}': None,
    '{"a":{"0":"earliest"}}': None,
    '{"a":{"0":NaN}}': None,
    '{"a":{"0":05}}': None,
    '{"a":{"x":5}}': None,
    '{"a":{" 1":5}}': None,
    '{"a":{"":5}}': None,
    '{"a":{"0":5},}': None,
    '{"a":[0]}': None,
    '{"a":5}': None,
    "{'a':{'0':5}}": None,
    '{a:{"0":5}}': None,
    '[{"a":{"0":5}}]': None,
    '"x"': None,
    "": None,
    " ": None,
}
"""None: Spark refuses it."""

BENT_OFFSETS = {
    '{"a":{"0":null}}': "offset 0",
    '{"a":{"0":1.5}}': "offset 1",
    '{"a":{"0":1.0}}': "offset 1",
    '{"a":{"0":1e3}}': "offset 1000",
    '{"a":{"0":9223372036854775808}}': "offset -9223372036854775808",
    '{"a":{"0":36893488147419103233}}': "offset 1",
    '{"a":{"0":-3}}': "an offset that no log has",
    '{"a":{"0":5},"a":{"1":6}}': "the last one only",
    '{"a":{"0":5,"0":6}}': "the last one only",
    '{"a":{"0":5}} x': "what follows the JSON does not count",
    '{"a":{"+1":5}}': "partition 1",
    '{"a":{"-1":5}}': "partition -1, which does not exist",
    '{"a":null}': "no partition of the topic",
    '{"a":{}}': "no partition of the topic",
    "null": "no partition at all",
}
"""What Spark makes of it. Here it is an error."""

PARTITIONS: dict[str, set[tuple[str, int]] | None] = {
    '{"a":[0,1],"b":[0]}': {("a", 0), ("a", 1), ("b", 0)},
    '{"a":[0,0]}': {("a", 0)},
    '{"a":["0"]}': None,
    '{"a":[true]}': None,
    '{"a":[0,]}': None,
    '{"a":0}': None,
    '{"a":{"0":0}}': None,
    "[]": None,
    "": None,
}

BENT_PARTITIONS = {
    '{"a":[1.5]}': "partition 1",
    '{"a":[1e1]}': "partition 10",
    '{"a":[null]}': "partition 0",
    '{"a":[2147483648]}': "partition -2147483648, which does not exist",
    '{"a":[-1]}': "partition -1, which does not exist",
    '{"a":[0],"a":[1]}': "the last one only",
    '{"a":[0]} x': "what follows the JSON does not count",
    '{"a":[],"b":[0]}': "nothing of topic a",
    '{"a":[]}': "no partition at all",
    '{"a":null}': "no partition at all",
    "{}": "no partition at all",
}


def lookup(**options: str) -> LookupSettings:
    made = configure({"kafka.bootstrap.servers": "nowhere:9092", **options}, Boundedness.CONTINUOUS_UNBOUNDED)
    assert isinstance(made.source, KafkaSource)
    return made.source.lookup


def read_offsets(text: str) -> dict[tuple[str, int], object] | None:
    try:
        starting = lookup(subscribe="a,b", startingOffsets=text).starting
    except OptionError:
        return None
    assert starting == OffsetsInitializer("startingOffsets", partitions=starting.partitions)
    return {(tp.topic, tp.partition): offset for tp, offset in starting.partitions.items()}


def read_partitions(text: str) -> set[tuple[str, int]] | None:
    try:
        found = lookup(assign=text).subscription
    except OptionError:
        return None
    assert isinstance(found, AssignedPartitions)
    return set(found.partitions)


@pytest.mark.parametrize("text", OFFSETS)
def test_offsets_are_read_as_spark_reads_them(text: str) -> None:
    assert read_offsets(text) == OFFSETS[text]


@pytest.mark.parametrize("text", BENT_OFFSETS)
def test_offsets_that_spark_bends_are_refused(text: str) -> None:
    assert read_offsets(text) is None


@pytest.mark.parametrize("text", PARTITIONS)
def test_partitions_are_read_as_spark_reads_them(text: str) -> None:
    assert read_partitions(text) == PARTITIONS[text]


@pytest.mark.parametrize("text", BENT_PARTITIONS)
def test_partitions_that_spark_bends_are_refused(text: str) -> None:
    assert read_partitions(text) is None
