"""Flink's SplitAssignmentTracker, as far as one plan at a time needs it."""

from __future__ import annotations

from headwater.connector.coordination.assignment import AssignmentTracker
from tests.doubles import NumberSplit

A, B = NumberSplit("a"), NumberSplit("b")


def test_a_committed_plan_returns_nothing() -> None:
    tracker: AssignmentTracker[NumberSplit] = AssignmentTracker()
    tracker.record("one", [A])
    assert tracker.resolve("one") == []
    assert tracker.resolve("one") == []


def test_plans_that_never_came_to_be_return_their_splits_once_in_order() -> None:
    tracker: AssignmentTracker[NumberSplit] = AssignmentTracker()
    tracker.record("one", [B])
    tracker.record("two", [A])
    assert tracker.resolve("zero") == [B, A]
    assert tracker.resolve("zero") == []
