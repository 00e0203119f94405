"""How a read is cut by ``minPartitions`` and ``maxRecordsPerPartition``: into enough tasks; the same rows.

Which record is read by which task is not compared.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.parity.parity import Parity
from tests.parity.sources import Source

CASES: dict[str, tuple[tuple[int, ...], int, int]] = {
    "as many as partitions": ((1, 1, 1), 3, 3),
    "one partition into all": ((4,), 4, 4),
    "a smaller and a larger one": ((4, 20), 4, 4),
    "a very small and a large one": ((1, 1000), 4, 4),
    "empty ones do not count": ((0, 20), 4, 4),
    "an empty one besides": ((4, 20, 0), 4, 4),
    "no exact multiple": ((10,), 3, 3),
    "two of ten and one of one": ((10, 10, 1), 6, 6),
    "three large ones": ((100, 150, 200), 9, 9),
    "one small, two large": ((5, 120, 151), 6, 6),
    "two small, one large": ((1, 1, 100), 6, 6),
    "more than there are records": ((1, 2), 9, 3),
}
"""Records by partition, ``minPartitions``, and how many tasks there are at least."""


def cut(source: Source, topic: str, **given: Any) -> list[list[Any]]:
    """Return the places of the records of each task that has some."""
    tasks = source.rows_by_task(subscribe=topic, **given)
    return sorted(sorted(row[3:5] for row in rows) for rows in tasks if rows)


@pytest.mark.parametrize("name", CASES)
def test_pieces(parity: Parity, name: str) -> None:
    counts, given, least = CASES[name]

    def scenario(source: Source) -> list[Any]:
        tasks = cut(source, source.filled(*counts), minPartitions=given)
        assert len(tasks) >= least
        return sorted(place for task in tasks for place in task)

    assert len(parity.same(scenario)) == sum(counts)


def test_the_most_records_of_a_task(parity: Parity) -> None:
    def scenario(source: Source) -> list[int]:
        tasks = cut(source, source.filled(10, 3, 1), maxRecordsPerPartition=4)
        return [len(task) for task in tasks]

    sparks, ours = parity.differs("most-records-of-a-batch-task", scenario)
    assert sparks == [10, 3, 1]
    assert sum(ours) == 14
    assert max(ours) <= 4


def test_the_most_records_of_a_task_and_the_fewest_tasks(parity: Parity) -> None:
    def scenario(source: Source) -> list[Any]:
        tasks = cut(source, source.filled(10, 3), maxRecordsPerPartition=6, minPartitions=5)
        assert len(tasks) >= 4
        assert max(map(len, tasks)) <= 6
        return sorted(place for task in tasks for place in task)

    assert len(parity.same(scenario)) == 13
