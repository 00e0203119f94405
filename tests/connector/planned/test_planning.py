"""Tasks: together they read exactly the ranges; few for a small batch, many for a large one."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.connector.planned.planning import (
    LARGE_TASK_BYTES,
    PlanningHints,
    ReadTask,
    plan_tasks,
    shares_of_tasks,
)
from headwater.core.split import SplitRange
from tests.doubles import NumberSource, NumberSplit

SOURCE = NumberSource()


def ranges(*sizes: int) -> list[SplitRange[NumberSplit, int]]:
    return [SplitRange(NumberSplit(f"s{i}"), 5, 5 + size) for i, size in enumerate(sizes)]


def plan(sizes: list[int], row_bytes: int, hints: PlanningHints) -> list[ReadTask[NumberSplit, int]]:
    return plan_tasks(SOURCE, ranges(*sizes), [row_bytes] * len(sizes), hints)


def fewest(sizes: list[int], row_bytes: int, hints: PlanningHints) -> list[ReadTask[NumberSplit, int]]:
    """The plan of a micro-batch whose rows are known to be cheap."""
    return plan_tasks(SOURCE, ranges(*sizes), [row_bytes] * len(sizes), hints, lambda _, fewest, __: fewest)


@given(
    st.lists(st.integers(1, 100_000), max_size=20),
    st.integers(1, 10_000),
    st.integers(1, 8),
    st.integers(1, 40),
    st.one_of(st.none(), st.integers(1_000, 50_000)),
)
def test_together_the_tasks_read_every_record_once(
    sizes: list[int], row_bytes: int, cores: int, min_tasks: int, most_rows: int | None
) -> None:
    tasks = plan(
        sizes, row_bytes, PlanningHints(parallelism=cores, min_tasks=min_tasks, max_rows_per_task=most_rows)
    )
    for whole in ranges(*sizes):
        pieces = sorted((p.start, p.stop) for task in tasks for p in task.ranges if p.split == whole.split)
        assert [pieces[0][0], *[stop for _, stop in pieces]] == [*[start for start, _ in pieces], whole.stop]
        assert pieces[0][0] == whole.start
    assert all(task.ranges for task in tasks)


@given(st.lists(st.integers(1, 1_000), min_size=1, max_size=50), st.integers(1, 8))
def test_a_small_batch_of_cheap_rows_costs_one_task_however_many_splits(sizes: list[int], cores: int) -> None:
    assert len(fewest(sizes, 80, PlanningHints(parallelism=cores))) == 1


@given(st.lists(st.integers(1, 1_000), min_size=1, max_size=50), st.one_of(st.none(), st.integers(1, 60)))
def test_a_small_batch_of_which_nothing_is_known_has_a_task_for_each_split_up_to_the_parallelism(
    sizes: list[int], parallelism: int | None
) -> None:
    assert len(plan(sizes, 80, PlanningHints(parallelism=parallelism))) == min(
        len(sizes), parallelism or len(sizes)
    )


def test_a_medium_batch_is_spread_over_the_cores_however_cheap_its_rows_are() -> None:
    assert len(fewest([100_000, 100_000, 100_000], 100, PlanningHints(parallelism=2))) == 2


def test_how_many_tasks_is_chosen_between_what_bytes_need_and_what_splits_allow() -> None:
    asked: list[tuple[int, int, int]] = []

    def choose(rows: int, fewest: int, most: int) -> int:
        asked.append((rows, fewest, most))
        return 3

    made = plan_tasks(SOURCE, ranges(10, 10, 10, 10, 10, 10), [80] * 6, PlanningHints(parallelism=5), choose)
    assert asked == [(60, 1, 5)]
    assert [len(task.ranges) for task in made] == [2, 2, 2]


def test_a_large_split_is_cut_by_bytes() -> None:
    tasks = fewest([10_000_000], 1_000, PlanningHints(parallelism=2))
    assert len(tasks) == -(-10_000_000 * 1_000 // LARGE_TASK_BYTES)


def test_min_partitions_cuts_small_splits_too() -> None:
    assert len(plan([100, 100], 10, PlanningHints(parallelism=2, min_tasks=10))) >= 10


@pytest.mark.parametrize(
    ("sizes", "min_tasks", "pieces"),
    [
        ([10, 10, 1], 6, [3, 3, 4, 3, 3, 4, 1]),
        ([1, 1000], 4, [1, 333, 333, 334]),
        ([3, 3], 1, [3, 3]),
    ],
)
def test_min_partitions_cuts_as_spark_does(sizes: list[int], min_tasks: int, pieces: list[int]) -> None:
    tasks = plan(sizes, 10, PlanningHints(parallelism=2, min_tasks=min_tasks))
    assert [[p.stop - p.start for p in task.ranges] for task in tasks] == [[piece] for piece in pieces]


def test_no_task_gets_more_records_than_the_limit() -> None:
    tasks = plan([2_500, 10], 10, PlanningHints(parallelism=1, max_rows_per_task=1_000))
    assert max(p.stop - p.start for task in tasks for p in task.ranges) <= 1_000
    assert all(len(task.ranges) == 1 for task in tasks)


def test_the_same_arguments_give_the_same_tasks() -> None:
    hints = PlanningHints(parallelism=3, min_tasks=7)
    assert plan([5_000, 70_000, 3], 999, hints) == plan([5_000, 70_000, 3], 999, hints)


def test_nothing_to_read_is_no_task() -> None:
    assert plan([], 100, PlanningHints(parallelism=2)) == []


def spark_shares(sizes: list[int], min_partitions: int) -> list[int]:
    """What ``KafkaOffsetRangeCalculator.getRanges`` computes, step by step."""

    def part_count(size: int, total: int, parts: int) -> int:
        return max(math.floor(float(size) / total * parts + 0.5), 1)

    if len(sizes) >= min_partitions:
        return [1 for _ in sizes]
    total = sum(sizes)
    unsplit = {at for at, size in enumerate(sizes) if part_count(size, total, min_partitions) == 1}
    split_total = total - sum(sizes[at] for at in unsplit)
    split_parts = max(min_partitions - len(unsplit), 1)
    return [
        1 if at in unsplit else part_count(size, split_total, split_parts) for at, size in enumerate(sizes)
    ]


@given(st.lists(st.integers(1, 10**6), min_size=1, max_size=30), st.integers(1, 200))
def test_each_range_is_cut_as_spark_cuts_it(sizes: list[int], min_partitions: int) -> None:
    assert shares_of_tasks(sizes, min_partitions) == spark_shares(sizes, min_partitions)


def test_ranges_without_records_are_not_cut() -> None:
    assert shares_of_tasks([0, 0], 10) == [1, 1]


@given(st.lists(st.integers(0, 50), min_size=1, max_size=30), st.integers(1, 60))
def test_ranges_without_records_do_not_count(sizes: list[int], min_partitions: int) -> None:
    shares = shares_of_tasks(sizes, min_partitions)
    filled = [share for size, share in zip(sizes, shares, strict=True) if size]
    assert filled == spark_shares([size for size in sizes if size], min_partitions)
