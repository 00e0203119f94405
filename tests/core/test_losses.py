"""What is lost is counted once, and the last ranges are named."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.core.losses import MOST_RANGES, NO_LOSSES, FoundBy, Losses, LostRange


def distance(first: int, until: int) -> int:
    return max(0, until - first)


def lost(first: int, until: int, found: FoundBy = "task", split: str = "a") -> LostRange:
    return LostRange(split, first, until, found, 7)


def test_what_planning_found_counts_exactly_and_what_a_task_found_beside_it() -> None:
    losses = NO_LOSSES.plus([lost(0, 5, "planning"), lost(9, 12)], distance)
    assert (losses.rows, losses.at_least_rows) == (5, 3)
    assert losses.ranges == (lost(0, 5, "planning"), lost(9, 12))


def test_a_task_that_reports_again_or_more_counts_only_what_is_new() -> None:
    losses = NO_LOSSES.plus([lost(10, 20)], distance)
    assert losses.plus([lost(10, 20)], distance) == losses
    more = losses.plus([lost(8, 25)], distance)
    assert more.at_least_rows == 17
    assert more.ranges == (lost(10, 20), lost(8, 10), lost(20, 25))
    assert more.plus([lost(8, 25)], distance) == more


def test_the_same_range_of_another_split_is_another_loss() -> None:
    losses = NO_LOSSES.plus([lost(0, 5), lost(0, 5, split="b")], distance)
    assert losses.at_least_rows == 10


def test_planning_counts_a_range_again_that_was_lost_again() -> None:
    """A topic that is deleted and created anew twice loses its first records twice."""
    losses = NO_LOSSES.plus([lost(0, 5, "planning")], distance).plus([lost(0, 5, "planning")], distance)
    assert losses.rows == 10


def test_positions_without_an_order_are_known_as_a_whole_or_not_at_all() -> None:
    one = LostRange("a", "x", "y", "task", 7)
    losses = NO_LOSSES.plus([one, one, LostRange("a", "x", "z", "task", 8)], lambda *_: 1)
    assert losses.at_least_rows == 2


def test_the_last_ranges_are_named_and_all_are_counted() -> None:
    losses = NO_LOSSES.plus([lost(10 * i, 10 * i + 1, "planning") for i in range(MOST_RANGES + 5)], distance)
    assert losses.rows == MOST_RANGES + 5
    assert [found.first for found in losses.ranges] == [10 * i for i in range(5, MOST_RANGES + 5)]


def test_they_survive_the_log() -> None:
    losses = NO_LOSSES.plus([lost(0, 5, "planning"), lost(9, 12)], distance)
    assert Losses.from_json(json.loads(json.dumps(losses.to_json()))) == losses


def test_whole_splits_are_counted_and_the_last_of_them_named() -> None:
    losses = NO_LOSSES.plus([lost(0, 5)], distance)
    for number in range(3):
        losses = losses.plus_splits([f"f{number}-{at}" for at in range(50)], 7)
    assert (losses.splits, losses.at_least_rows, len(losses.ranges)) == (150, 5, MOST_RANGES)
    assert [each.split for each in losses.ranges][-1] == "f2-49"
    assert Losses.from_json(json.loads(json.dumps(losses.to_json()))) == losses
    assert losses.plus([lost(5, 9)], distance).splits == 150


@pytest.mark.parametrize("wrong", [3, {}, {"rows": 0, "at_least_rows": 0, "ranges": [{"split": "a"}]}])
def test_what_is_something_else_is_an_error(wrong: object) -> None:
    with pytest.raises((TypeError, KeyError, ValueError)):
        Losses.from_json(wrong)


borders = st.integers(0, 30)


@given(st.lists(st.tuples(st.sampled_from("ab"), borders, borders), max_size=30))
def test_however_the_reports_of_tasks_overlap_each_record_counts_once(
    reports: list[tuple[str, int, int]],
) -> None:
    ranges = [lost(min(one, two), max(one, two), split=split) for split, one, two in reports]
    losses = NO_LOSSES
    for each in ranges:
        losses = losses.plus([each], distance)
    spans: list[Any] = [(each.split, each.first, each.until) for each in ranges]
    gone = {(split, number) for split, first, until in spans for number in range(first, until)}
    assert losses.at_least_rows == len(gone)
