"""Slow splits do not come to one task, whether it is known which they are or not."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, ClassVar

import hypothesis.strategies as st
import pytest
from hypothesis import given

from headwater.connector.coordination.dealing import SplitTimes, deal
from headwater.core.simple_source import NamedSplit, Page, SimpleSource
from headwater.core.source import Boundedness
from headwater.testing import MemorySystem
from headwater.testing.making import configured
from tests.exactly_once.waiting import until
from tests.simple_sources import SYSTEM, LogSource

SPLITS = [(f"{number:02d}",) for number in range(16)]


@given(count=st.integers(0, 80), tasks=st.integers(1, 9))
def test_things_of_equal_cost_are_dealt_once_and_their_numbers_differ_by_one_at_most(
    count: int, tasks: int
) -> None:
    dealt = deal([1.0] * count, tasks)
    assert sorted(thing for things in dealt for thing in things) == list(range(count))
    assert max(map(len, dealt)) - min(map(len, dealt)) <= 1
    assert dealt == [sorted(things) for things in dealt]


@pytest.mark.parametrize(("period", "tasks"), [(2, 2), (4, 2), (8, 2), (2, 4), (4, 4), (3, 3)])
def test_slow_splits_in_a_period_are_spread_though_nothing_is_known_of_them(period: int, tasks: int) -> None:
    dealt = deal([1.0] * 48, tasks)
    slow = [sum(number % period == 0 for number in numbers) for numbers in dealt]
    assert max(slow) <= 1.5 * 48 / period / tasks + 1


@given(costs=st.lists(st.floats(0, 1_000), min_size=1, max_size=40), tasks=st.integers(1, 6))
def test_no_task_has_more_than_a_third_above_the_least_possible(costs: list[float], tasks: int) -> None:
    loads = [sum(costs[thing] for thing in things) for things in deal(costs, tasks)]
    least = max([sum(costs) / tasks, sum(sorted(costs, reverse=True)[tasks - 1 : tasks + 1]), *costs])
    assert max(loads) <= 4 / 3 * least + 1e-6


def test_every_second_of_16_splits_is_slow_and_two_tasks_have_four_of_them_each_at_once_and_later() -> None:
    """1.5 s each: 6 s of work for each task, as is ideal."""
    times = SplitTimes()
    costs = {path: 1_500.0 if number % 2 else 1.0 for number, path in enumerate(SPLITS)}
    for _ in range(3):
        dealt = deal(times.costs(SPLITS, [1.0] * 16), 2)
        took = [sum(costs[SPLITS[number]] for number in numbers) for numbers in dealt]
        assert max(took) <= 1.3 * sum(costs.values()) / 2
        times.add(costs.items())


def test_a_split_of_which_nothing_is_known_costs_as_much_as_one_on_average_and_few_are_remembered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    times = SplitTimes()
    a, b, c = SPLITS[:3]
    assert times.costs([a, b], [2.0, 3.0]) == [2.0, 3.0]
    times.add([(a, 10.0), (b, 30.0)])
    assert times.costs([a, b, c], [1.0, 1.0, 2.0]) == [10.0, 30.0, 40.0]
    monkeypatch.setattr("headwater.connector.coordination.dealing._MOST_SPLITS", 2)
    times.add([(a, 10.0), (c, 50.0)])
    assert times.costs([a, b, c], [1.0] * 3) == [10.0, 30.0, 50.0]
    assert list(times._ms) == [a, c]


class _SlowPages:
    """Takes a while for each page of some splits."""

    slow: ClassVar[set[str]] = set()

    def read(self, split: NamedSplit, position: Any) -> Iterator[Page]:
        if split.name in self.slow:
            threading.Event().wait(0.03)
        yield from super().read(split, position)  # type: ignore[misc]


class SlowLogs(_SlowPages, LogSource):
    """In planned mode."""


class Tails(SimpleSource):
    """Finds out by reading where its logs end."""

    name = "plain-tails"
    schema = LogSource.schema
    OPTIONS = (SYSTEM,)
    discover = LogSource.discover
    system = LogSource.system
    read = LogSource.read


class SlowTails(_SlowPages, Tails):
    """In barrier mode."""


@pytest.mark.parametrize("source", [SlowLogs, SlowTails], ids=["planned", "barrier"])
def test_splits_that_were_slow_in_the_last_batch_are_spread_over_the_tasks_of_the_next(
    source: Any, tmp_path: Path
) -> None:
    system = MemorySystem()
    mode = (
        {"minPartitions": "2"}
        if source is SlowLogs
        else {"stateLocation": str(tmp_path), "barrierInterval": "1m", "pollInterval": "0s"}
    )
    made = configured(
        source,
        {"system": system.name, "parallelism": "2", **mode},
        Boundedness.CONTINUOUS_UNBOUNDED,
    )
    with closing(made.create_coordinator()) as coordinator:
        start = coordinator.initial_offset()
        for batch in range(2):
            for (name,) in SPLITS:
                system.append(name, [batch])
            end = coordinator.plan_next(start, limited=True)
            tasks = coordinator.tasks(start, end)
            names = [{part.split.path[0] for part in task.ranges} for task in tasks]
            assert sorted(map(len, names)) == [8, 8] or batch
            if batch == 0:
                # As unlucky as can be: one task has all of them.
                source.slow = names[0]
            for task in tasks:
                assert sum(rows.num_rows for rows in made.read_task(task)) == len(task.ranges)
            if source is SlowLogs:
                until(
                    lambda: len(coordinator._times._ms) >= 14,  # type: ignore[attr-defined]
                    "the reports of the tasks",
                )
            start = end
    # The first split of a task may be taken for one of average speed. At 1.5 s each: 7.5 s at most, not 12 s.
    assert max(len(name & source.slow) for name in names) <= 5
