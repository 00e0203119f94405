"""The back edge and its log."""

from __future__ import annotations

from headwater.readers.runtime.epoch.dataflow import FeedbackLoop
from headwater.readers.runtime.partitions.subpartition import CheckpointBarrier
from tests.pages import start_of


def test_what_was_found_first_is_begun_first() -> None:
    loop = FeedbackLoop()
    for label in "abc":
        loop.put(start_of(label))
    assert len(loop) == 3
    assert [piece.split.path for piece in (loop.take(), loop.take()) if piece] == [("a",), ("b",)]
    assert len(loop) == 1


def test_the_log_is_what_comes_round_before_the_barrier_and_nothing_can_be_taken_behind_it() -> None:
    loop = FeedbackLoop()
    for label in "abc":
        loop.put(start_of(label))
    loop.take()
    assert loop.cut(CheckpointBarrier(0)) == [("b",), ("c",)]
    loop.put(start_of("d"))
    assert loop.take() is None
