"""When an epoch is cut."""

from __future__ import annotations

import pytest

from headwater.core.clock import ManualClock
from headwater.core.epoch import Barrier
from headwater.readers.runtime.fetchers.trigger import BarrierTrigger

A = ("a",)
B = ("b",)
C = ("c",)


class Triggered:
    """A trigger with its clock, and how often it said that something changed."""

    def __init__(self, barrier: Barrier) -> None:
        self.clock = ManualClock(100)
        self.changes = 0
        self.trigger = BarrierTrigger(barrier, self.clock, self._changed)

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
    t.trigger.fetched(A, rows, row_bytes)
    assert t.state == (False, False)
    t.trigger.fetched(B, rows, row_bytes)
    assert t.state == (True, True)
    assert t.changes == 1


def test_the_duration_counts_from_the_first_fetch() -> None:
    t = Triggered(Barrier(duration_ms=50))
    t.clock.advance(1_000)
    t.trigger.check_time()
    assert (t.state, t.trigger.left_ms()) == ((False, False), None)
    assert t.trigger.begin_turn(A)
    t.trigger.fetched(A, 1, 1)
    t.clock.advance(20)
    assert t.trigger.begin_turn(A)
    assert t.trigger.left_ms() == 30
    t.clock.advance(30)
    t.trigger.check_time()
    assert (t.state, t.trigger.triggered_ms) == ((True, True), 1_150)
    assert t.trigger.left_ms() is None


def test_once_a_limit_is_reached_no_turn_begins_and_first_turns_are_let_finish() -> None:
    t = Triggered(Barrier(rows=1))
    assert all(t.trigger.begin_turn(path) for path in (A, B))
    t.trigger.fetched(A, 100, 100)
    assert t.state == (True, False)
    assert [t.trigger.begin_turn(path) for path in (A, B, C)] == [False, True, False]
    assert [t.trigger.is_first_turn(path) for path in (A, B, C)] == [False, True, False]
    t.trigger.fetched(B, 0, 0)
    assert t.state == (True, True)
    assert t.changes == 2


def test_an_epoch_has_one_turn_at_least() -> None:
    t = Triggered(Barrier(duration_ms=5))
    assert t.trigger.begin_turn(A)
    t.clock.advance(5)
    t.trigger.check_time()
    t.trigger.give_up([A])
    assert t.state == (True, False)
    assert t.trigger.begin_turn(B)
    t.trigger.fetched(B, 0, 0)
    assert t.state == (True, True)


def test_a_turn_that_is_given_up_holds_up_nothing() -> None:
    t = Triggered(Barrier(rows=1))
    assert all(t.trigger.begin_turn(path) for path in (A, B))
    t.trigger.fetched(A, 1, 1)
    t.trigger.give_up([B])
    assert t.state == (True, True)


def test_without_limits_only_the_end_cuts() -> None:
    t = Triggered(Barrier())
    t.trigger.fetched(A, 1 << 40, 1 << 50)
    t.clock.advance(1 << 40)
    t.trigger.check_time()
    assert t.state == (False, False)
    t.trigger.fire()
    t.trigger.fire()
    assert (t.state, t.changes) == ((True, True), 1)
