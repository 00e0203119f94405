"""When a fetcher puts the barrier into its channel, and what comes before it."""

from __future__ import annotations

from headwater.core.barrier_reader import EpochRecords
from headwater.core.epoch import Barrier
from headwater.readers.runtime.fetchers.events import SourceEvents
from headwater.readers.runtime.partitions.subpartition import CheckpointBarrier
from tests.pages import Library, PageReader, pages
from tests.readers.runtime.fetchers.fetcher_rig import A, B, C, Rig


def test_the_barrier_follows_what_was_fetched_and_nothing_follows_the_barrier() -> None:
    rig = Rig(Library({"a": pages(9)}, events=["seen"]), "a", barrier=Barrier(rows=3), ready=[A])
    rig.steps()
    assert rig.read() == [("a", 0), SourceEvents(("seen",)), ("a", 1), ("a", 2), CheckpointBarrier(0)]
    rig.fetcher.wake_up()
    rig.steps()
    assert rig.read() == []
    assert rig.fetcher.fetches == 3


def test_once_a_limit_is_reached_splits_that_were_fetched_from_make_way_for_those_that_were_not() -> None:
    library = Library({label: pages(9) for label in "abc"})
    rig = Rig(library, "abc", barrier=Barrier(rows=2), ready=[A, B, C])
    rig.steps()
    assert rig.read() == [("a", 0), ("a", 1), ("b", 0), ("c", 0), CheckpointBarrier(0)]


def test_an_empty_answer_counts_as_a_turn_but_not_after_a_wake_up() -> None:
    class Quiet(PageReader):
        def fetch(self) -> EpochRecords:
            if wakes:
                wakes.pop()
                rig.fetcher.wake_up()
            return EpochRecords()

    wakes = [1]
    rig = Rig(Library({"a": pages(9)}), "a", barrier=Barrier(rows=1), ready=[A], reader=Quiet)
    rig.trigger.fire()
    rig.fetcher.step()
    rig.fetcher.step()
    assert not rig.trigger.is_due
    rig.steps()
    assert rig.trigger.is_due
    assert rig.fetcher.fetches == 2


def test_what_was_fetched_counts_once_it_is_in_the_channel_where_a_barrier_that_overtakes_finds_it() -> None:
    rig = Rig(Library({"a": pages(9)}), "a", barrier=Barrier(rows=1), ready=[A])
    while not rig.backlog:
        assert not rig.trigger.is_due
        rig.fetcher.step()
    rig.fetcher.step()
    assert rig.trigger.is_due
