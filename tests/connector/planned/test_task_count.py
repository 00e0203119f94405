"""Few tasks for few and cheap rows, many where rows take time: learnt from how long batches take."""

from __future__ import annotations

import random

import pytest

from headwater.connector.planned.task_count import TaskCount, TaskCounts
from headwater.core.clock import ManualClock


class World:
    """Spark with so many slots, a price for each task, and work behind the source."""

    def __init__(self, *, slots: int, row_ms: float, noise: float = 0.1, interval_ms: int = 0) -> None:
        self.slots = slots
        self.row_ms = row_ms
        self.interval_ms = interval_ms
        self._noise = noise
        self._random = random.Random(7)

    def duration_ms(self, rows: int, tasks: int) -> float:
        """Each task costs 15 ms on one of two cores, and Spark's own steps 100 ms; rows are spread evenly."""
        together = min(self.slots, tasks)
        waves = -(-tasks // together)
        took = 100 + 15 * tasks / 2 + waves * -(-rows // tasks) * self.row_ms
        took *= self._random.uniform(1 - self._noise, 1 + self._noise)
        return max(took, -(-took // self.interval_ms) * self.interval_ms) if self.interval_ms else took


def run(world: World, rows: int, most: int, batches: int = 60, count: TaskCount | None = None) -> list[int]:
    """Return how many tasks each batch had."""
    count = count or TaskCount()
    found = []
    for _ in range(batches):
        tasks = count.wanted(1, most)
        count.took(world.duration_ms(rows, tasks), tasks, 1)
        found.append(tasks)
    return found


@pytest.mark.parametrize("most", [8, 200, 2_000])
def test_few_and_cheap_rows_come_to_one_or_two_tasks(most: int) -> None:
    found = run(World(slots=8, row_ms=0), rows=10, most=most)
    assert found[0] == most
    assert max(found[-20:]) <= 2


@pytest.mark.parametrize(("rows", "row_ms"), [(100, 20), (1_000, 5), (800, 20), (10_000, 1), (10_000, 20)])
def test_rows_that_take_time_keep_the_most_tasks(rows: int, row_ms: float) -> None:
    world = World(slots=8, row_ms=row_ms)
    found = run(world, rows, most=8, batches=300)
    best = world.duration_ms(rows, 8)
    spent = sum(world.duration_ms(rows, tasks) for tasks in found)
    assert found.count(8) > 280
    assert spent < 1.1 * 300 * best


@pytest.mark.parametrize(("rows", "row_ms"), [(10, 1), (10, 5), (10, 20), (40, 5), (100, 1)])
def test_in_between_it_is_never_far_from_the_best(rows: int, row_ms: float) -> None:
    world = World(slots=8, row_ms=row_ms, noise=0.05)
    quiet = World(slots=8, row_ms=row_ms, noise=0)
    best = min(quiet.duration_ms(rows, tasks) for tasks in range(1, 9))
    late = run(world, rows, most=8, batches=200)[60:]
    assert sum(quiet.duration_ms(rows, tasks) for tasks in late) / len(late) < 1.2 * best


def test_very_long_batches_are_never_tried_with_fewer_tasks() -> None:
    assert set(run(World(slots=8, row_ms=20), rows=10_000, most=8)) == {8}


def test_what_a_triggers_interval_hides_keeps_the_most_tasks() -> None:
    found = run(World(slots=8, row_ms=20, noise=0, interval_ms=1_000), rows=40, most=8, batches=100)
    assert found.count(8) > 80


def test_rows_that_become_dearer_get_the_most_tasks_within_a_few_batches() -> None:
    world = World(slots=8, row_ms=0)
    count = TaskCount()
    assert run(world, 100, most=8, count=count)[-1] <= 2
    world.row_ms = 20
    found = run(world, 100, most=8, count=count)
    assert 8 in found[:8]
    assert found[-20:].count(8) > 15


def test_limits_that_change_are_kept() -> None:
    count = TaskCount()
    run(World(slots=8, row_ms=20), 800, most=8, count=count)
    assert count.wanted(1, 4) == 4
    count.took(3_000, 4, 1)
    assert count.wanted(6, 8) == 6


class TestBatches:
    @pytest.fixture
    def clock(self) -> ManualClock:
        return ManualClock()

    @pytest.fixture
    def counts(self, clock: ManualClock) -> TaskCounts:
        return TaskCounts(clock)

    def test_the_same_batch_gets_the_same_tasks_each_time_that_it_is_asked_for(
        self, counts: TaskCounts, clock: ManualClock
    ) -> None:
        assert counts.choose({"at": 1}, 10, 1, 8) == 8
        for at in range(2, 30):
            chosen = counts.choose({"at": at}, 10, 1, 8)
            clock.advance(100 + 20 * chosen)
            assert counts.choose({"at": at}, 10, 1, 8) == chosen
            counts.committed({"at": at})
        assert chosen == 1

    def test_what_spark_does_while_nothing_is_new_does_not_count(
        self, counts: TaskCounts, clock: ManualClock
    ) -> None:
        for at in range(30):
            chosen = counts.choose({"at": at}, 10, 1, 8)
            clock.advance(100 + 20 * chosen)
            counts.committed({"at": at})
            clock.advance(60_000)
            counts.committed({"at": at})
        assert chosen == 1

    def test_the_first_batch_of_a_run_waits_for_new_processes_and_does_not_count(
        self, counts: TaskCounts, clock: ManualClock
    ) -> None:
        counts.choose({"at": 0}, 10, 1, 8)
        clock.advance(10_000)
        counts.committed({"at": 0})
        for at in range(1, 5):
            chosen = counts.choose({"at": at}, 10, 1, 8)
            clock.advance(300)
            counts.committed({"at": at})
        assert chosen == 4

    def test_small_batches_teach_nothing_about_large_ones(
        self, counts: TaskCounts, clock: ManualClock
    ) -> None:
        for at in range(30):
            clock.advance(100 + 20 * counts.choose({"at": at}, 10, 1, 8))
            counts.committed({"at": at})
        assert counts.choose({"at": 30}, 10, 1, 8) == 1
        assert counts.choose({"at": 31}, 1_000, 1, 8) == 8
