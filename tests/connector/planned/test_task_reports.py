"""Losses wait until a committed offset counts them."""

from __future__ import annotations

from headwater.connector.planned.task_reports import TaskLosses
from headwater.core.losses import LostRange

ONE = LostRange("a", 0, 5, "task", 1)
TWO = LostRange("a", 9, 12, "task", 2)


def test_what_a_committed_offset_counts_waits_no_longer() -> None:
    losses = TaskLosses()
    losses.add([ONE])
    assert losses.waiting({"batch": 1}) == [ONE]
    losses.planned({"batch": 2}, 1)
    losses.add([TWO])
    assert losses.waiting({"batch": 2}) == [TWO]


def test_a_plan_that_was_given_up_counts_for_nothing() -> None:
    losses = TaskLosses()
    losses.add([ONE])
    losses.waiting({"batch": 1})
    losses.planned({"batch": 2}, 1)
    assert losses.waiting({"batch": 1}) == [ONE]
