"""Splits that are waited for: those to which something was written within the time-out."""

from __future__ import annotations

from headwater.core.clock import ManualClock
from headwater.enumerators.event_time.late_splits import Silence


def test_a_split_is_waited_for_until_nothing_has_come_for_the_time_out() -> None:
    clock = ManualClock()
    silence = Silence(1_000, clock)
    assert silence.awaited({("a",): 1, ("b",): 1}) == (("a",), ("b",))
    clock.advance(999)
    assert silence.awaited({("a",): 1, ("b",): 2}) == (("a",), ("b",))
    clock.advance(1)
    assert silence.awaited({("a",): 1, ("b",): 2}) == (("b",),)
    clock.advance(999)
    assert silence.awaited({("a",): 2, ("b",): 2}) == (("a",),)


def test_without_a_time_out_nobody_is_waited_for() -> None:
    assert Silence(None, ManualClock()).awaited({("a",): 1}) == ()
