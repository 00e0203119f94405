"""Offsets, timestamps and strategies of a batch read, on one topic that both sources read."""

from __future__ import annotations

import json
from typing import Any

import pytest

from local_kafka import LocalKafka
from tests.parity.parity import Parity
from tests.parity.results import Failure, Row, rows_read
from tests.parity.sources import FOREVER, NOON_MS

TOPIC = "where-a-batch-begins-and-ends"
SECOND_MS, THIRD_MS, AFTER_MS = (NOON_MS + 1_000, NOON_MS + 2_000, NOON_MS + 3_000)
LATE_MS = 1 << 62
START, END = "startingOffsets", "endingOffsets"
START_AT, END_AT = "startingOffsetsByTimestamp", "endingOffsetsByTimestamp"
STRATEGY = "startingOffsetsByTimestampStrategy"


@pytest.fixture(scope="module")
def timed(kafka: LocalKafka) -> str:
    """Three partitions; each has records of three seconds: 4, 3 and 3 at noon, then 3, 4, 3, then 3, 3, 4.

    The first two records of partition 0 are gone.
    """
    kafka.create_topic(TOPIC, 3, FOREVER)
    for partition in range(3):
        numbers = [i for i in range(30) if i % 3 == partition]
        kafka.produce(
            TOPIC,
            [b"%d" % i for i in numbers],
            timestamps_ms=[NOON_MS + i // 10 * 1_000 for i in numbers],
            partition=partition,
        )
    kafka.delete_records(TOPIC, {0: 2})
    return TOPIC


def each(*by_partition: int) -> str:
    return json.dumps({TOPIC: {str(i): value for i, value in enumerate(by_partition)}})


ALL = {i for i in range(30) if i not in (0, 3)}
RANGES: dict[str, tuple[dict[str, Any], set[int]]] = {
    "by default from the earliest to the latest": ({}, ALL),
    "said in words": ({START: "earliest", END: "latest"}, ALL),
    "words in other cases": ({START: "eArLiEsT", END: "LaTest"}, ALL),
    "options in other cases": (
        {"STARTINGoffsets": each(5, 8, 9), "endingoffsets": "latest"},
        {15, 18, 21, 24, 27, 25, 28, 29},
    ),
    "-2 and -1 in JSON": (
        {START: each(-2, -2, 0), END: each(-1, -1, 1)},
        {i for i in ALL if i % 3 < 2} | {2},
    ),
    "offsets to offsets": ({START: each(3, 2, 1), END: each(5, 2, 4)}, {9, 12, 5, 8, 11}),
    "nothing at all": ({START: each(5, 5, 5), END: each(5, 5, 5)}, set()),
    "timestamps to timestamps": (
        {START_AT: each(*[SECOND_MS] * 3), END_AT: each(*[THIRD_MS] * 3)},
        set(range(10, 20)),
    ),
    "timestamps to offsets": (
        {START_AT: each(*[NOON_MS] * 3), END: each(-1, -1, 1)},
        {i for i in ALL if i % 3 < 2} | {2},
    ),
    "offsets to timestamps": (
        {START: each(-2, -2, 0), END_AT: each(*[THIRD_MS] * 3)},
        {i for i in ALL if i < 20},
    ),
    "timestamps to the latest": ({START_AT: each(*[SECOND_MS] * 3)}, set(range(10, 30))),
    "the earliest to timestamps": ({END_AT: each(*[THIRD_MS] * 3)}, {i for i in ALL if i < 20}),
    "one timestamp for all to another": (
        {"startingTimestamp": SECOND_MS, "endingTimestamp": THIRD_MS},
        set(range(10, 20)),
    ),
    "between two records": (
        {"startingTimestamp": NOON_MS + 1, "endingTimestamp": SECOND_MS + 1},
        set(range(10, 20)),
    ),
    "before all records": ({"startingTimestamp": 0, "endingTimestamp": 1}, set()),
    "one timestamp beats the others, and these beat offsets": (
        {"startingTimestamp": THIRD_MS, START_AT: each(*[SECOND_MS] * 3), START: "earliest"},
        set(range(20, 30)),
    ),
    "timestamps beat offsets": ({START_AT: each(*[SECOND_MS] * 3), START: "earliest"}, set(range(10, 30))),
    "one ending timestamp beats the others, and these beat offsets": (
        {"endingTimestamp": SECOND_MS, END_AT: each(*[THIRD_MS] * 3), END: "latest"},
        {i for i in ALL if i < 10},
    ),
    "ending timestamps beat offsets": (
        {END_AT: each(*[SECOND_MS] * 3), END: "latest"},
        {i for i in ALL if i < 10},
    ),
    "an end that no record reaches is the latest": (
        {END_AT: each(SECOND_MS, SECOND_MS, LATE_MS)},
        {i for i in ALL if i < 10 or i % 3 == 2},
    ),
    "an ending timestamp that no record reaches is the latest": ({"endingTimestamp": AFTER_MS}, ALL),
    "a start that no record reaches may be the latest": (
        {START_AT: each(SECOND_MS, AFTER_MS, SECOND_MS), STRATEGY: "latest"},
        {i for i in range(10, 30) if i % 3 != 1},
    ),
    "the strategy in other cases": ({"startingTimestamp": THIRD_MS, STRATEGY: "eRRor"}, set(range(20, 30))),
    "limits of a stream do not count": ({"maxOffsetsPerTrigger": 2, "minOffsetsPerTrigger": 1}, ALL),
    "assigned partitions": ({"assign": f'{{"{TOPIC}":[0,2]}}'}, {i for i in ALL if i % 3 != 1}),
    "assigned partitions and their offsets": (
        {"assign": f'{{"{TOPIC}":[2]}}', START: f'{{"{TOPIC}":{{"2":8}}}}'},
        {26, 29},
    ),
    "a pattern": ({"subscribePattern": "where-a-batch-.*"}, ALL),
    "offsets that are gone, without failing": (
        {START: each(0, 0, 0), END: each(3, 1, 0), "failOnDataLoss": "false"},
        {6, 1},
    ),
}

REFUSALS: dict[str, tuple[dict[str, Any], str]] = {
    "a start that no record reaches": (
        {START_AT: each(SECOND_MS, SECOND_MS, LATE_MS)},
        "no record at or after the timestamp",
    ),
    "one start for all that no record reaches": (
        {"startingTimestamp": AFTER_MS, STRATEGY: "error"},
        "no record at or after the timestamp",
    ),
    "partitions without a start": ({START: each(0, 0)}, "partitions that are not those that are read"),
    "starts of partitions that are not there": (
        {START: each(0, 0, 0, 0)},
        "partitions that are not those that are read",
    ),
    "partitions without an end": ({END: each(1, 1)}, "partitions that are not those that are read"),
    "partitions without a timestamp": ({START_AT: each(0, 0)}, "partitions that are not those that are read"),
    "timestamps of partitions that are not there": (
        {START_AT: each(0, 0, 0, 0)},
        "partitions that are not those that are read",
    ),
    "starts and ends of other partitions": (
        {START: each(1, 1, 1), END: each(0, 0)},
        "partitions that are not those that are read",
    ),
    "a start after the end": ({START: each(3, 1, 1), END: each(2, 0, 0)}, "start after end"),
    "a start after the end of a timestamp": (
        {START: each(9, 9, 9), END_AT: each(*[SECOND_MS] * 3)},
        "start after end",
    ),
    "limits of a stream that contradict each other": (
        {"maxOffsetsPerTrigger": 1, "minOffsetsPerTrigger": 99},
        "option minoffsetspertrigger",
    ),
    "an end before the first record": ({END: each(1, -1, -1)}, "start after end"),
    "a time after the end": (
        {START_AT: each(NOON_MS, THIRD_MS, NOON_MS), END_AT: each(*[SECOND_MS] * 3)},
        "start after end",
    ),
    "one time after the end": (
        {"startingTimestamp": THIRD_MS, "endingTimestamp": SECOND_MS},
        "start after end",
    ),
    "one time after the end of each": (
        {"startingTimestamp": THIRD_MS, END_AT: each(*[SECOND_MS] * 3)},
        "start after end",
    ),
    "times after the one at the end": (
        {START_AT: each(*[THIRD_MS] * 3), "endingTimestamp": SECOND_MS},
        "start after end",
    ),
    "offsets that are gone": ({START: each(0, 0, 0)}, "data loss"),
}


def options(timed: str, given: dict[str, Any]) -> dict[str, Any]:
    return given if "assign" in given or "subscribePattern" in given else {"subscribe": timed, **given}


@pytest.mark.parametrize("name", RANGES)
def test_rows(parity: Parity, timed: str, name: str) -> None:
    given, expected = RANGES[name]
    found = parity.same(lambda source: source.batch(**options(timed, given)))
    assert not isinstance(found, Failure), found
    assert {number(row) for row in found} == expected


@pytest.mark.parametrize("name", REFUSALS)
def test_errors(parity: Parity, timed: str, name: str) -> None:
    given, kind = REFUSALS[name]
    assert parity.same(lambda source: source.batch(**options(timed, given))) == Failure(kind)


def test_an_end_before_the_beginning_of_a_range_that_is_divided(parity: Parity, timed: str) -> None:
    sparks, ours = parity.differs(
        "end-before-the-beginning",
        lambda source: source.batch(**options(timed, {END: each(1, -1, -1), "minPartitions": 5})),
    )
    assert {number(row) for row in rows_read(sparks)} == {i for i in range(30) if i % 3}
    assert ours == Failure("start after end")


def number(row: Row) -> int:
    return int(row[1])
