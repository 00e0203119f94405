"""Splits that a reader reads, and those that it leaves alone."""

from __future__ import annotations

from headwater.core.barrier_reader import pause_or_resume


def test_a_split_that_is_resumed_comes_behind_all_others() -> None:
    read: dict[tuple[str, ...], int] = {("a",): 1, ("b",): 2, ("c",): 3}
    left_alone: dict[tuple[str, ...], int] = {}
    pause_or_resume(read, left_alone, [("a",), ("b",)], [])
    assert (list(read), left_alone) == ([("c",)], {("a",): 1, ("b",): 2})
    pause_or_resume(read, left_alone, [], [("a",)])
    assert (list(read), left_alone) == ([("c",), ("a",)], {("b",): 2})


def test_a_split_that_was_removed_is_passed_over() -> None:
    read: dict[tuple[str, ...], int] = {("a",): 1}
    left_alone: dict[tuple[str, ...], int] = {}
    pause_or_resume(read, left_alone, [("x",)], [("y",)])
    assert (read, left_alone) == ({("a",): 1}, {})
