"""When a fetcher puts the barrier into its channel, and what comes before it."""

from __future__ import annotations

from collections.abc import Callable

from headwater.core.barrier_reader import EpochRecords
from headwater.core.epoch import Barrier
from headwater.readers.runtime.partitions.subpartition import CheckpointBarrier
from tests.pages import Library, PageReader, pages
from tests.readers.runtime.fetchers.fetcher_rig import A, Rig


def test_the_barrier_follows_what_was_fetched_and_nothing_follows_the_barrier() -> None:
    rig = Rig(Library({"a": pages(9)}), "a", barrier=Barrier(rows=3))
    rig.steps()
    assert rig.read() == [("a", 0), ("a", 1), ("a", 2), CheckpointBarrier(0)]
    rig.fetcher.wake_up()
    rig.steps()
    assert rig.read() == []
    assert rig.fetcher.fetches == 3


def test_every_split_has_its_first_turn_before_any_has_its_second() -> None:
    library = Library({label: pages(9) for label in "abc"})
    rig = Rig(library, "abc", barrier=Barrier(rows=5))
    rig.steps()
    assert rig.read() == [("a", 0), ("b", 0), ("c", 0), ("a", 1), ("b", 1), CheckpointBarrier(0)]


def test_once_a_limit_is_reached_nothing_more_is_fetched() -> None:
    rig = Rig(Library({label: pages(9) for label in "abc"}), "abc", barrier=Barrier(rows=2))
    rig.steps()
    assert rig.read() == [("a", 0), ("b", 0), CheckpointBarrier(0)]


class Quiet(PageReader):
    """Has nothing, and is woken where the test says so."""

    wake: list[Callable[[], None]]

    def fetch(self) -> EpochRecords:
        if self.wake:
            self.wake.pop()()
        return EpochRecords()


def test_an_empty_answer_is_a_turn_but_not_after_a_wake_up() -> None:
    rig = Rig(Library({"a": pages(9)}), "a", barrier=Barrier(rows=1), reader=Quiet)
    Quiet.wake = [rig.fetcher.wake_up]
    rig.fetcher.step()
    rig.fetcher.step()
    assert (rig.fetcher.fetches, rig.trigger.had_turn(A)) == (1, False)
    for _ in range(4):
        rig.fetcher.step()
    assert rig.trigger.had_turn(A)


def test_a_wake_up_that_comes_late_takes_no_turn_from_the_next_split() -> None:
    """The reader is woken when the fetch that was meant is over: the next split's fetch brings nothing."""

    class Woken(PageReader):
        """Another thread wakes it up in its first fetch, and comes to that only later."""

        def fetch(self) -> EpochRecords:
            if not library.fetched:
                rig.fetcher.wake_up()
            return super().fetch()

        def wake_up(self) -> None:
            """Comes late: see below."""

    library = Library({label: pages(9) for label in "ab"})
    rig = Rig(library, "ab", barrier=Barrier(rows=4), reader=Woken)
    while not library.fetched:
        rig.fetcher.step()
    rig.reader.woken.set()
    rig.steps()
    assert rig.read() == [("a", 0), ("b", 0), ("a", 1), ("b", 1), CheckpointBarrier(0)]


def test_what_was_fetched_counts_once_it_is_in_the_channel_where_a_barrier_that_overtakes_finds_it() -> None:
    rig = Rig(Library({"a": pages(9)}), "a", barrier=Barrier(rows=1))
    while not rig.backlog:
        assert not rig.trigger.is_due
        rig.fetcher.step()
    rig.fetcher.step()
    assert rig.trigger.is_due
