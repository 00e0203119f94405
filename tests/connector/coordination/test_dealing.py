"""Slow splits do not come to one task, whether it is known which they are or not."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, given, settings

from headwater.connector.coordination.dealing import SplitTimes, deal
from headwater.core.clock import SystemClock
from headwater.core.simple_source import NamedSplit, Page, SimpleSource
from headwater.core.source import Boundedness
from headwater.readers.runtime import source_reader
from headwater.testing import MemorySystem
from headwater.testing.making import configured
from tests.exactly_once.waiting import until
from tests.simple_sources import SYSTEM, LogSource

SPLITS = [(f"{number:02d}",) for number in range(16)]
SLOW_MS = 1_500


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
def test_no_task_has_much_more_than_a_third_above_the_least_possible(costs: list[float], tasks: int) -> None:
    loads = [sum(costs[thing] for thing in things) for things in deal(costs, tasks)]
    least = max([sum(costs) / tasks, sum(sorted(costs, reverse=True)[tasks - 1 : tasks + 1]), *costs])
    assert max(loads) <= (4 / 3 + 0.05) * least + 1e-6


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


class FetchTime:
    """The time that fetching takes: it moves with each page, and by nothing else."""

    def __init__(self) -> None:
        self.ms = 0

    def monotonic(self) -> float:
        return self.ms / 1_000


class _SlowPages:
    """Takes 1.5 s for what is new of some splits, and 1 ms for that of others."""

    slow: ClassVar[set[str]] = set()
    time: ClassVar[FetchTime] = FetchTime()

    def read(self, split: NamedSplit, position: Any) -> Iterator[Page]:
        self.time.ms += SLOW_MS if split.name in self.slow else 1
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


class Batches:
    """A query over 16 splits that reads one new record of each in a batch.

    Its tasks run by the rules of Spark: the next one goes to the slot that is free.
    """

    def __init__(self, source: Any, folder: Path, tasks: int) -> None:
        system = MemorySystem()
        self._append = system.append
        mode = (
            {"minPartitions": str(tasks)}
            if source is SlowLogs
            else {"stateLocation": str(folder), "barrierInterval": "1h", "pollInterval": "0s"}
        )
        options = {"system": system.name, "parallelism": str(tasks), **mode}
        self._made = configured(source, options, Boundedness.CONTINUOUS_UNBOUNDED)
        self._time = source.time
        self.coordinator: Any = self._made.create_coordinator()
        self._start = self.coordinator.initial_offset()
        self._count = 0

    def plan(self) -> list[Any]:
        """Return the tasks of the next batch."""
        for (name,) in SPLITS:
            self._append(name, [self._count])
        self._count += 1
        end = self.coordinator.plan_next(self._start, limited=True)
        tasks: list[Any] = self.coordinator.tasks(self._start, end)
        self._start = end
        return tasks

    def took_ms(self, tasks: list[Any]) -> int:
        """Read a batch; return how long two slots take for it."""
        slots = [0, 0]
        for task in tasks:
            began_ms = self._time.ms
            assert sum(rows.num_rows for rows in self._made.read_task(task)) == len(task.ranges)
            heapq.heapreplace(slots, slots[0] + self._time.ms - began_ms)
        return max(slots)

    def wait_for_reports(self, most_unmeasured: int) -> None:
        """Wait until planned mode has heard its tasks, whose first fetch says nothing of its split."""
        until(
            lambda: len(self.coordinator._reports.times._ms) >= len(SPLITS) - most_unmeasured,
            "the tasks' reports",
        )


def names_of(task: Any) -> set[str]:
    return {part.split.path[0] for part in task.ranges}


@pytest.fixture
def fetch_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_SlowPages, "time", FetchTime())
    monkeypatch.setattr(_SlowPages, "slow", set())
    monkeypatch.setattr(SystemClock, "monotonic_ms", lambda _: _SlowPages.time.ms)
    monkeypatch.setattr(source_reader, "time", SimpleNamespace(monotonic=_SlowPages.time.monotonic))


BOTH_MODES = pytest.mark.parametrize("source", [SlowLogs, SlowTails], ids=["planned", "barrier"])
EVERY_SECOND = {name for (name,) in SPLITS[1::2]}


@BOTH_MODES
@pytest.mark.usefixtures("fetch_time")
def test_two_tasks_take_within_1_3_of_the_ideal_at_first_later_and_after_splits_have_become_slow(
    source: Any, tmp_path: Path
) -> None:
    batches = Batches(source, tmp_path, tasks=2)
    turned = [EVERY_SECOND, EVERY_SECOND, EVERY_SECOND | {"00"}, EVERY_SECOND | {"00"}]
    turned += [{name for (name,) in SPLITS} - EVERY_SECOND] * 2
    with closing(batches.coordinator):
        for slow in turned:
            _SlowPages.slow = slow
            least_ms = -(-len(slow) // 2) * SLOW_MS
            assert batches.took_ms(batches.plan()) <= 1.3 * least_ms
            if source is SlowLogs:
                batches.wait_for_reports(2)


@BOTH_MODES
@pytest.mark.usefixtures("fetch_time")
def test_splits_that_are_alike_are_dealt_evenly_in_each_batch(source: Any, tmp_path: Path) -> None:
    batches = Batches(source, tmp_path, tasks=2)
    with closing(batches.coordinator):
        for _ in range(3):
            tasks = batches.plan()
            # One that was not measured counts as one on average, and fetches of 1 ms may differ by one.
            assert max(len(task.ranges) for task in tasks) <= 9
            batches.took_ms(tasks)


@BOTH_MODES
@pytest.mark.usefixtures("fetch_time")
def test_splits_that_all_became_slow_in_one_task_are_spread_in_the_next_batch(
    source: Any, tmp_path: Path
) -> None:
    batches = Batches(source, tmp_path, tasks=2)
    with closing(batches.coordinator):
        tasks = batches.plan()
        _SlowPages.slow = names_of(tasks[0])
        # As unlucky as can be, and nothing can be known of it: as many times the ideal as there are tasks.
        assert batches.took_ms(tasks) <= 2 * 1.01 * 4 * SLOW_MS
        if source is SlowLogs:
            batches.wait_for_reports(2)
        assert batches.took_ms(batches.plan()) <= 1.3 * 4 * SLOW_MS


@BOTH_MODES
@pytest.mark.usefixtures("fetch_time")
@given(slow=st.sets(st.sampled_from([name for (name,) in SPLITS]), min_size=6))
@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_with_more_tasks_than_slots_spark_spreads_whatever_is_slow_at_once(
    source: Any, tmp_path_factory: pytest.TempPathFactory, slow: set[str]
) -> None:
    batches = Batches(source, tmp_path_factory.mktemp("state"), tasks=16)
    _SlowPages.slow = slow
    with closing(batches.coordinator):
        assert batches.took_ms(batches.plan()) <= 1.01 * -(-len(slow) // 2) * SLOW_MS
