"""How much a batch of a stream reads."""

from __future__ import annotations

from typing import Any

import pytest

from tests.parity.parity import Parity
from tests.parity.results import Row, Step, rows
from tests.parity.sources import Source
from tests.readers.kafka import record_sets
from tests.readers.kafka.record_sets import Record


def places(batches: list[list[Row]]) -> list[list[tuple[Any, ...]]]:
    return [[(row[3], row[4]) for row in rows] for rows in batches]


def test_the_most_offsets_are_shared_as_the_backlog_is(parity: Parity) -> None:
    def scenario(source: Source) -> list[Any]:
        topic = source.filled(101, 11, 1)
        query = source.stream(subscribe=topic, startingOffsets="earliest", maxOffsetsPerTrigger=60)
        return [query.available_now(), places(query.batches)]

    step, batches = parity.same(scenario)
    assert len(step.rows) == 113
    assert [len({partition for partition, _ in rows}) for rows in batches] == [3, 2]


def test_another_most_after_a_restart(parity: Parity) -> None:
    def scenario(source: Source) -> list[Any]:
        topic = source.filled(101, 11, 1)
        query = source.stream(subscribe=topic, startingOffsets="earliest", maxOffsetsPerTrigger=10)
        found: list[Any] = [query.available_now()]
        source.produce(topic, [b"more"] * 11, partition=1)
        query.options["maxOffsetsPerTrigger"] = 7
        found.append(query.available_now())
        return [*found, places(query.batches)]

    *steps, batches = parity.same(scenario)
    assert [len(rows) for rows in batches][:2] == [10, 10]
    assert [len(step.rows) for step in steps] == [113, 11]
    assert batches[0] == [*((0, i) for i in range(8)), (1, 0), (2, 0)]


def test_a_most_that_no_arithmetic_may_overflow(parity: Parity) -> None:
    def scenario(source: Source) -> list[Any]:
        topic = source.filled(5)
        query = source.stream(
            subscribe=topic,
            startingOffsets=f'{{"{topic}":{{"0":5}}}}',
            maxOffsetsPerTrigger=(1 << 63) - 1,
        )
        first = query.step()
        source.produce(topic, [b"%d" % i for i in range(30, 35)])
        return [first, query.step()]

    assert [len(step.rows) for step in parity.same(scenario)] == [0, 5]


@pytest.mark.parametrize(
    "limit",
    [
        {"maxOffsetsPerTrigger": 10},
        {"minOffsetsPerTrigger": 15, "maxTriggerDelay": "5s"},
        {"minOffsetsPerTrigger": 15, "maxTriggerDelay": "5s", "maxOffsetsPerTrigger": 20},
    ],
)
def test_once_knows_no_limit(parity: Parity, limit: dict[str, Any]) -> None:
    def scenario(source: Source) -> list[Any]:
        topic = source.filled(30, 11, 1)
        query = source.stream(subscribe=topic, startingOffsets="earliest", **limit)
        first = query.once()
        source.produce(topic, [b"more"] * 11, partition=1)
        return [first, query.once(), places(query.batches)]

    *steps, batches = parity.same(scenario)
    assert [len(step.rows) for step in steps] == [42, 11]
    assert len(batches) == 2


def test_fewer_than_the_minimum_wait_but_not_those_of_the_first_batch_of_a_start(parity: Parity) -> None:
    def scenario(source: Source) -> list[Any]:
        topic = source.filled(10, 5, 1)
        query = source.stream(
            subscribe=topic, startingOffsets="earliest", minOffsetsPerTrigger=15, maxTriggerDelay="1h"
        )
        found = [query.step()]
        source.produce(topic, [b"few"] * 6, partition=1)
        found.append(query.step())
        source.produce(topic, [b"enough"] * 12)
        found.append(query.step())
        query.stop()
        source.produce(topic, [b"few"] * 2)
        return [*found, query.step()]

    assert [len(step.rows) for step in parity.same(scenario)] == [16, 0, 18, 2]


def test_no_longer_than_the_longest_delay(parity: Parity) -> None:
    def scenario(source: Source) -> list[Any]:
        topic = source.filled(10, 5, 1)
        query = source.stream(
            subscribe=topic, startingOffsets="earliest", minOffsetsPerTrigger=15, maxTriggerDelay="3s"
        )
        found: list[Any] = [query.step()]
        source.produce(topic, [b"few"] * 6, partition=1)
        query.wait_for_rows(22)
        return [*found, places(query.batches)]

    first, batches = parity.same(scenario)
    assert (len(first.rows), [len(rows) for rows in batches]) == (16, [16, 6])


def test_a_minimum_and_a_maximum(parity: Parity) -> None:
    def scenario(source: Source) -> list[Any]:
        topic = source.filled(17, 11, 1)
        query = source.stream(
            subscribe=topic,
            startingOffsets="earliest",
            minOffsetsPerTrigger=15,
            maxOffsetsPerTrigger=20,
            maxTriggerDelay="1h",
        )
        found: list[Any] = [query.step()]
        source.produce(topic, [b"more"] * 4)
        # What makes enough comes at once: the query runs meanwhile.
        enough = record_sets.batch([Record(at, value=b"more") for at in range(10)])
        source.kafka.append(topic, 1, enough)
        return [*found, query.step(), places(query.batches)]

    assert [len(rows) for rows in parity.same(scenario)[-1]] == [19, 19]


def test_a_union_goes_on_when_one_of_the_two_has_nothing_new(parity: Parity) -> None:
    """SPARK-22956."""

    def scenario(source: Source) -> list[Any]:
        given = {"startingOffsets": "earliest", "maxOffsetsPerTrigger": 5}
        short, long = source.filled(10, short="short"), source.filled(25, short="long")
        query = source.stream(subscribe=short, **given)
        query.transform = lambda df: df.union(source.read_stream(subscribe=long, **given))
        query.available_now()
        return [[(row[2], row[4]) for row in rows] for rows in query.batches]

    batches = parity.same(scenario, needs_spark=True)
    assert [len(rows) for rows in batches] == [10, 10, 5, 5, 5]


def test_available_now_reads_what_is_there_when_it_starts(parity: Parity) -> None:
    def scenario(source: Source) -> list[Any]:
        topic = source.filled(15, 0)
        query = source.stream(subscribe=topic, startingOffsets="earliest", maxOffsetsPerTrigger=5)

        def more(batch_id: int) -> None:
            source.produce(topic, [b"too late"], partition=1)

        query.before_batch = more
        return [query.available_now(), places(query.batches)]

    step, batches = parity.same(scenario)
    assert isinstance(step, Step)
    assert [len(rows) for rows in batches] == [5, 5, 5]


def test_available_now_reads_all_whatever_the_minimum_is(parity: Parity) -> None:
    def scenario(source: Source) -> int:
        query = source.stream(
            subscribe=source.filled(42),
            startingOffsets="earliest",
            minOffsetsPerTrigger=15,
            maxOffsetsPerTrigger=20,
            maxTriggerDelay="1h",
        )
        return len(rows(query.available_now()))

    assert parity.differs("available-now-with-a-minimum", scenario) == (40, 42)
