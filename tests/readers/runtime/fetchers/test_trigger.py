"""When an epoch is cut."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from headwater.core.clock import ManualClock
from headwater.core.epoch import Barrier
from headwater.readers.runtime.fetchers.trigger import BarrierTrigger

A = ("a",)
B = ("b",)


class Triggered:
    """A trigger with its clock, and how often it said that something changed."""

    def __init__(self, barrier: Barrier, ready: Sequence[tuple[str, ...]] = ()) -> None:
        self.clock = ManualClock(100)
        self.changes = 0
        self.trigger = BarrierTrigger(barrier, ready, self.clock, self._changed)

    def _changed(self) -> None:
        self.changes += 1

    @property
    def state(self) -> tuple[bool, bool]:
        return self.trigger.is_reached, self.trigger.is_due


@pytest.mark.parametrize(
    ("barrier", "rows", "row_bytes"), [(Barrier(rows=10), 5, 0), (Barrier(row_bytes=10), 0, 5)]
)
def test_rows_and_bytes_are_counted_over_all_fetches(barrier: Barrier, rows: int, row_bytes: int) -> None:
    t = Triggered(barrier)
    t.trigger.fetched([A], rows, row_bytes)
    assert t.state == (False, False)
    t.trigger.fetched([B], rows, row_bytes)
    assert t.state == (True, True)
    assert t.changes == 1


def test_the_duration_counts_from_the_first_fetch() -> None:
    t = Triggered(Barrier(duration_ms=50))
    t.clock.advance(1_000)
    t.trigger.check_time()
    assert (t.state, t.trigger.left_ms()) == ((False, False), None)
    t.trigger.begin_fetch()
    t.clock.advance(20)
    t.trigger.begin_fetch()
    assert t.trigger.left_ms() == 30
    t.clock.advance(30)
    t.trigger.check_time()
    assert (t.state, t.trigger.triggered_ms) == ((True, True), 1_150)
    assert t.trigger.left_ms() is None


def test_no_barrier_before_every_ready_split_had_its_turn() -> None:
    t = Triggered(Barrier(rows=1), [A, B])
    t.trigger.fetched([A], 100, 100)
    assert t.state == (True, False)
    assert t.trigger.unserved([A, B]) == {B}
    t.trigger.fetched([B], 0, 0)
    assert t.state == (True, True)
    assert t.changes == 2


def test_without_limits_only_the_end_cuts() -> None:
    t = Triggered(Barrier(), [A])
    t.trigger.fetched([A], 1 << 40, 1 << 50)
    t.clock.advance(1 << 40)
    t.trigger.check_time()
    assert t.state == (False, False)
    t.trigger.fire()
    t.trigger.fire()
    assert (t.state, t.changes) == ((True, True), 1)
