"""When splits are due, by clocks that move by themselves."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from headwater.connector.barrier.due import DueSplits
from headwater.connector.barrier.settlement import Settlement
from headwater.core.clock import ManualClock

PAUSE_MS = 5_000
HOUR_MS = 3_600_000
START_MS = 1_700_000_000_000


@dataclass
class Wall:
    """A wall clock that somebody sets."""

    now_ms: int = START_MS

    def __call__(self) -> int:
        return self.now_ms


def settlement(due_ms: int) -> Settlement:
    return Settlement(
        splits={},
        positions={},
        caught_up=frozenset(),
        failing={},
        due_ms={("a",): due_ms},
        turns=[("a",), ("b",)],
        not_run=(),
        restored=(),
        waiting=(),
        events=(),
        at_end=frozenset(),
        fronts=None,
        held=frozenset(),
        ran=True,
        state=None,
    )


@pytest.mark.parametrize("step_ms", [-HOUR_MS, 0, HOUR_MS])
def test_a_split_waits_as_long_as_its_server_said_however_the_wall_clock_is_set(step_ms: int) -> None:
    clock = ManualClock()
    wall = Wall()
    due = DueSplits(1_000, clock, wall)
    epoch = settlement(wall.now_ms + PAUSE_MS)
    live = [("a",), ("b",)]
    assert due.due(live, epoch) == [("b",)]
    wall.now_ms += step_ms
    clock.advance(PAUSE_MS - 1)
    assert due.due(live, epoch) == [("b",)]
    clock.advance(1)
    assert due.due(live, epoch) == [("a",), ("b",)]


def test_a_run_until_now_waits_by_the_monotonic_clock_too() -> None:
    clock = ManualClock()
    wall = Wall()
    due = DueSplits(1_000, clock, wall)
    due.begin_run()
    epoch = settlement(wall.now_ms + PAUSE_MS)
    assert due.wait_ms([("a",)], epoch) == PAUSE_MS
    wall.now_ms -= HOUR_MS
    clock.advance(PAUSE_MS - 10)
    assert due.wait_ms([("a",)], epoch) == 10


def test_what_a_later_epoch_says_counts() -> None:
    clock = ManualClock()
    wall = Wall()
    due = DueSplits(1_000, clock, wall)
    assert due.due([("a",)], settlement(wall.now_ms + HOUR_MS)) == []
    later = settlement(wall.now_ms)
    due.take_up(later, opened_ms=0)
    assert due.due([("a",)], later) == [("a",)]
