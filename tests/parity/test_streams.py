"""Where a stream begins, its restarts, and partitions that are added while it runs or rests."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from tests.parity.parity import Parity
from tests.parity.results import Failure, Positions, Step, rows, values
from tests.parity.sources import NOON_MS, Source

SECOND_MS = NOON_MS + 1_000
NAMED: dict[str, Callable[[str], dict[str, str]]] = {
    "subscribe": lambda topic: {"subscribe": topic},
    "subscribePattern": lambda topic: {"subscribePattern": topic.replace(".", r"\.") + ".*"},
    "assign": lambda topic: {"assign": json.dumps({topic: [0, 1, 2, 3, 4]})},
}
"""The same topic, by each of the three options."""


def timed(source: Source) -> str:
    """Five partitions with three records each, the last one or two a second later; in 4 none is."""
    topic = source.topic("t", 5)
    for partition, early in enumerate((1, 1, 2, 2, 3)):
        source.produce(
            topic,
            [b"%d/%d" % (partition, i) for i in range(3)],
            partition,
            timestamps_ms=[NOON_MS if i < early else SECOND_MS for i in range(3)],
        )
    return topic


def starts(topic: str) -> dict[str, dict[str, Any]]:
    """Where a stream may begin."""
    return {
        "latest": {"startingOffsets": "latest"},
        "earliest": {"startingOffsets": "earliest"},
        "offsets": {"startingOffsets": json.dumps({topic: {"0": -2, "1": -1, "2": 0, "3": 1, "4": 2}})},
        "timestamps": {
            "startingOffsetsByTimestamp": json.dumps(
                {topic: {**{str(i): SECOND_MS for i in range(4)}, "4": NOON_MS}}
            )
        },
        "one timestamp or the latest": {
            "startingTimestamp": SECOND_MS,
            "startingOffsetsByTimestampStrategy": "latest",
        },
    }


EXPECTED = {"latest": 0, "earliest": 15, "offsets": 9, "timestamps": 9, "one timestamp or the latest": 6}
ALL = [(named, start, fail) for named in NAMED for start in EXPECTED for fail in (True, False)]


def life_of_a_stream(source: Source, named: str, start: str, *, fail: bool) -> list[Step | Failure]:
    """First batch, new records, a restart with and without new records, and added partitions."""
    topic = timed(source)
    query = source.stream(**NAMED[named](topic), **starts(topic)[start], failOnDataLoss=str(fail).lower())
    found = [query.step()]
    source.produce(topic, [b"running"] * 3, partition=1)
    found.append(query.step())
    query.stop()
    found.append(query.step())
    query.stop()
    source.produce(topic, [b"stopped"] * 3, partition=2)
    found.append(query.step())
    if named != "assign":
        source.kafka.add_partitions(topic, 7)
        source.produce(topic, [b"added"] * 2, partition=5)
        source.produce(topic, [b"added"] * 2, partition=6)
        found.append(query.until(lambda positions: "6" in positions["t"]))
    source.produce(topic, [b"last"], partition=4)
    found.append(query.step())
    query.stop()
    return found


@pytest.mark.parametrize("case", ALL, ids=str)
def test_from_its_start_over_restarts(parity: Parity, case: tuple[str, str, bool]) -> None:
    named, start, fail = case
    found = parity.same(lambda source: life_of_a_stream(source, named, start, fail=fail))
    steps = [step for step in found if isinstance(step, Step)]
    assert len(steps) == len(found)
    assert [len(step.rows) for step in steps] == [
        EXPECTED[start],
        3,
        0,
        3,
        *([4] if named != "assign" else []),
        1,
    ]


@pytest.mark.parametrize(
    "given",
    [
        {"startingTimestamp": SECOND_MS},
        {"startingTimestamp": SECOND_MS, "startingOffsetsByTimestampStrategy": "error"},
    ],
)
def test_a_start_that_no_record_reaches(parity: Parity, given: dict[str, Any]) -> None:
    def scenario(source: Source) -> Step | Failure:
        return source.stream(subscribe=timed(source), **given).step()

    assert parity.same(scenario) == Failure("no record at or after the timestamp")


def test_a_start_that_no_record_reaches_at_the_latest_goes_on_there(parity: Parity) -> None:
    def scenario(source: Source) -> list[Step | Failure]:
        topic = timed(source)
        query = source.stream(subscribe=topic, **starts(topic)["one timestamp or the latest"])
        first = query.step()
        source.produce(topic, [b"23", b"24"], partition=4, timestamps_ms=[SECOND_MS] * 2)
        return [first, query.step()]

    assert [len(rows(step)) for step in parity.same(scenario)] == [6, 2]


def test_starts_must_name_the_partitions_that_are_read(parity: Parity) -> None:
    def scenario(source: Source) -> Step | Failure:
        topic = source.filled(1, 1)
        return source.stream(subscribe=topic, startingOffsets=json.dumps({topic: {"0": 0}})).step()

    assert parity.same(scenario) == Failure("partitions that are not those that are read")


def test_nothing_there_yet(parity: Parity) -> None:
    def scenario(source: Source) -> list[Step | Failure]:
        topic = source.topic("t", 2)
        query = source.stream(subscribe=topic, startingOffsets="earliest")
        found = [query.step()]
        query.stop()
        source.produce(topic, [b"first"], partition=1)
        return [*found, query.step()]

    steps = parity.same(scenario)
    assert [values(rows(step)) for step in steps] == [[], [b"first"]]


def test_rows_that_are_written_while_a_batch_is_planned_come_in_the_next_one(parity: Parity) -> None:
    """Spark's consumer fetches ahead of its batch (SPARK-25495)."""

    def scenario(source: Source) -> list[Any]:
        topic = source.topic()
        source.kafka.produce_transaction(topic, [b"%d" % i for i in range(4)], commit=True)
        query = source.stream(
            subscribe=topic, startingOffsets="earliest", kafka_isolation_level="read_committed"
        )

        def more(batch_id: int) -> None:
            if batch_id == 0:
                source.kafka.produce_transaction(topic, [b"%d" % i for i in range(4, 8)], commit=True)

        query.before_batch = more
        query.step()
        return [[row[:5] for row in rows] for rows in query.batches]

    assert [[row[1] for row in rows] for rows in parity.same(scenario)] == [
        [b"0", b"1", b"2", b"3"],
        [b"4", b"5", b"6", b"7"],
    ]


def has_partitions(count: int, positions: Positions) -> bool:
    return len(positions["t"]) == count


@pytest.mark.parametrize("number", range(6))
def test_streams_over_changing_topics(parity: Parity, seed: int, number: int) -> None:
    """Records, restarts, new partitions and other limits, in a random order."""

    def scenario(source: Source) -> list[Step | Failure]:
        rng = random.Random(seed * 100 + number)  # the same order for both sources
        partitions = rng.randint(1, 3)
        topic = source.topic("t", partitions)
        query = source.stream(subscribe=topic, startingOffsets=rng.choice(("earliest", "latest")))
        found = [query.step()]
        for _ in range(12):
            match rng.randrange(5):
                case 0:
                    query.stop()
                    query.options["maxOffsetsPerTrigger"] = rng.choice((None, 1, 7, 100))
                case 1 if partitions < 6:
                    partitions += 1
                    source.kafka.add_partitions(topic, partitions)
                    found.append(query.until(partial(has_partitions, partitions)))
                case 2:
                    query.stop()
                    found.append(query.available_now())
                case _:
                    count = rng.randint(1, 20)
                    source.produce(topic, [rng.randbytes(5) for _ in range(count)], rng.randrange(partitions))
            found.append(query.step())
        query.stop()
        return found

    assert all(isinstance(step, Step) for step in parity.same(scenario))
