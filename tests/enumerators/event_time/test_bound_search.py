"""The search for a bound: hard limits, progress, order in time, few rounds; over backlogs of all shapes."""

from __future__ import annotations

import itertools
import time
from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.core.split import SplitPath
from headwater.enumerators.event_time.bound_search import BoundSearch
from headwater.enumerators.event_time.timeline import Backlog
from tests.enumerators.event_time.simulation import (
    BEGIN_MS,
    HOUR_MS,
    MINUTE_MS,
    IndexWithoutSpans,
    SimulatedIndex,
    Times,
    backlogs,
    even,
    read,
)

DELAY_MS = 10 * MINUTE_MS
LIMIT = 24_000
KEPT_ORDER = [name for name in backlogs() if "20 min" not in name and "year" not in name]
"""The backlogs whose disorder is below the delay, and that have no record in the future."""


@pytest.mark.parametrize("name", KEPT_ORDER)
def test_no_row_is_late_where_the_disorder_is_below_the_delay(name: str) -> None:
    splits = backlogs()[name]
    assert read(splits, limit=LIMIT, delay_ms=DELAY_MS, skew_ms=MINUTE_MS).late == 0


@pytest.mark.parametrize("name", [name for name in backlogs() if name not in KEPT_ORDER])
def test_where_the_watermark_must_drop_rows_it_drops_fewer(name: str) -> None:
    splits = backlogs()[name]
    plain = read(splits, limit=LIMIT, delay_ms=DELAY_MS, skew_ms=None).late
    aligned = read(splits, limit=LIMIT, delay_ms=DELAY_MS, skew_ms=MINUTE_MS).late
    assert 0 < aligned < plain


def test_the_outside_is_asked_at_most_twice_a_plan_on_average() -> None:
    rounds = [
        asked
        for splits in backlogs().values()
        for asked in read(splits, limit=LIMIT, delay_ms=DELAY_MS, skew_ms=MINUTE_MS).rounds
    ]
    print(f"{sum(rounds) / len(rounds):.2f} rounds a plan, {max(rounds)} at the most")
    assert sum(rounds) / len(rounds) <= 2


def test_a_restart_asks_no_more_than_a_first_plan() -> None:
    splits = backlogs()["one partition two hours behind"]
    outcome = read(splits, limit=LIMIT, delay_ms=DELAY_MS, skew_ms=MINUTE_MS, restart_every=1)
    assert outcome.late == 0
    assert max(outcome.rounds) <= 6


@pytest.mark.parametrize("age_ms", [1, HOUR_MS, 300 * HOUR_MS, 9_000 * HOUR_MS])
def test_without_times_of_first_and_last_records_a_restart_asks_few_times(
    age_ms: int,
) -> None:
    splits = backlogs()["one partition two hours behind"]
    outcome = read(
        splits,
        limit=LIMIT,
        delay_ms=DELAY_MS,
        skew_ms=MINUTE_MS,
        restart_every=1,
        index_of=IndexWithoutSpans,
        age_ms=age_ms,
    )
    first, *others = outcome.rounds
    print(f"{first} rounds of the first plan, {np.mean(others):.1f} of a restart")
    assert outcome.late == 0
    assert first <= 25
    assert np.mean(others) <= 5


@pytest.mark.parametrize("name", list(backlogs()))
def test_batches_are_not_much_smaller_than_the_limit(name: str) -> None:
    outcome = read(backlogs()[name], limit=LIMIT, delay_ms=DELAY_MS, skew_ms=MINUTE_MS)
    assert np.median(outcome.fills[:-1]) >= 0.7


def test_ten_thousand_splits_cost_little_to_plan() -> None:
    paths: tuple[SplitPath, ...] = tuple((f"{number:05}",) for number in range(10_000))
    rows = 100
    shared = even(BEGIN_MS, BEGIN_MS + HOUR_MS, rows)
    index = SimulatedIndex(dict.fromkeys(paths, shared))
    starts = np.zeros(len(paths), dtype=np.int64)
    backlog = Backlog(paths, starts, starts + rows, starts + 1, 100_000, None)
    search = BoundSearch(index, MINUTE_MS, lambda: BEGIN_MS + HOUR_MS)
    search.search(backlog, None)
    moved = Backlog(paths, starts + 10, starts + rows, starts + 1, 100_000, None)
    answered = 0.0

    class Answered(SimulatedIndex):
        """Does not count the broker's own time."""

        def first_at(  # type: ignore[override]
            self, paths: tuple[SplitPath, ...], time_ms: int
        ) -> Mapping[SplitPath, int]:
            nonlocal answered
            began = time.process_time()
            found = index.first_at(paths, time_ms)
            answered += time.process_time() - began
            return found

    search._index = Answered({})
    began = time.process_time()
    search.search(moved, BEGIN_MS)
    spent_s = time.process_time() - began - answered
    print(f"{spent_s * 1_000:.0f} ms of CPU")
    # It takes about 20 ms. Ten times as much would be quadratic somewhere.
    assert spent_s < 0.3


@st.composite
def worlds(draw: st.DrawFn) -> list[Times]:
    """A few splits: even, in bursts, at one time, out of order, with holes, of any age."""
    splits = []
    for _ in range(draw(st.integers(1, 5))):
        steps = draw(st.lists(st.sampled_from([0, 0, 1, 50, 5_000, 3_600_000]), min_size=1, max_size=60))
        first = BEGIN_MS + draw(st.sampled_from([0, 1, 1_000, HOUR_MS, 24 * HOUR_MS]))
        times = np.array([first, *steps], dtype=np.int64).cumsum()
        jitter = draw(st.sampled_from([0, 0, 100, MINUTE_MS]))
        if jitter:
            rng = np.random.default_rng(draw(st.integers(0, 100)))
            times += rng.integers(-jitter, jitter + 1, times.size)
        splits.append(times)
    return splits


@settings(max_examples=150)
@given(worlds(), st.integers(1, 80), st.sampled_from([1, 1_000, MINUTE_MS]), st.integers(0, 3))
def test_everything_is_read_within_the_limit_and_nothing_out_of_turn(
    splits: list[Times], limit: int, skew_ms: int, restart_every: int
) -> None:
    """Reads the world to its end; `read` asserts the limit and that something moves."""
    # A batch that may have fewer rows than there are splits may be a row of each.
    limit = max(limit, len(splits))
    outcome = read(splits, limit=limit, delay_ms=DELAY_MS, skew_ms=skew_ms, restart_every=restart_every)
    assert sum(fill * limit for fill in outcome.fills) == pytest.approx(sum(map(len, splits)))


@settings(max_examples=100)
@given(worlds(), st.integers(5, 80), st.sampled_from([1, 1_000, MINUTE_MS]))
def test_what_a_batch_reads_lies_within_the_skew_of_the_bound(
    splits: list[Times], limit: int, skew_ms: int
) -> None:
    """No unread record is older than the bound, and no record read is younger than bound and skew.

    By the largest time so far, which is what an index can tell.
    """
    times: dict[SplitPath, Times] = {(str(at),): each for at, each in enumerate(splits)}
    paths = tuple(times)
    heads = np.array([times[path].size for path in paths])
    positions = np.zeros(len(paths), dtype=np.int64)
    largest = {path: np.maximum.accumulate(each) for path, each in times.items()}
    search = BoundSearch(SimulatedIndex(times), skew_ms, lambda: max(int(each.max()) for each in splits) + 1)
    last_ms = None
    for _ in itertools.count():
        left = Backlog(paths, positions, heads, np.ones(len(paths), dtype=np.int64), limit, None)
        if left.load(heads) <= 1:
            return
        bound = search.search(left, last_ms)
        assert last_ms is None or bound.time_ms >= last_ms, "the front never goes back"
        last_ms = bound.time_ms
        ends = np.array([bound.ends[path] for path in paths])
        for path, start, end in zip(paths, positions, ends, strict=True):
            unread = largest[path][end:]
            assert unread.size == 0 or unread[0] >= bound.time_ms
            now_read = largest[path][start:end]
            if end - start > 1:
                assert now_read[-2] <= bound.time_ms + skew_ms
            assert bound.fronts_ms[path] >= bound.time_ms
            assert (largest[path][:end] < bound.fronts_ms[path]).sum() == (
                largest[path] < bound.fronts_ms[path]
            ).sum(), "all before the front is read"
        positions = ends
