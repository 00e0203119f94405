"""One fetcher, step by step and on a thread: the contracts of Flink's SplitFetcherTest."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from headwater.core.barrier_reader import EpochRecords
from headwater.core.epoch import Barrier
from headwater.core.errors import ContractError
from headwater.core.split import SplitPath
from headwater.readers.runtime.fetchers.events import NothingFetched, SplitsDone, SplitsPaused
from headwater.readers.runtime.partitions.subpartition import CheckpointBarrier
from tests.exactly_once.waiting import until
from tests.pages import Library, PageReader, pages
from tests.patience import PATIENCE_S
from tests.readers.runtime.fetchers.fetcher_rig import A, B, C, Rig, Start, done


def test_f1_all_methods_of_a_reader_but_wake_up_run_on_one_thread(threads: Start) -> None:
    rig = Rig(Library({"a": pages(5), "b": pages(5), "c": pages(99_999)}), "ab")
    thread = threads(rig.fetcher)
    until(lambda: rig.backlog == 10, "the fetcher")
    rig.find("c")
    until(lambda: C in rig.fetcher.assigned, "the fetcher")
    # From the task's thread, while there are splits, paused and not: the reader hears it on its own.
    rig.fetcher.pause_or_resume_splits([C], [])
    rig.fetcher.pause_or_resume_splits([], [C])
    rig.fetcher.remove_splits([C])
    until(lambda: not rig.fetcher.assigned, "the fetcher")
    rig.fetcher.stop()
    thread.join(PATIENCE_S)
    assert rig.reader.thread is thread
    assert rig.reader.closed == 1


def test_f2_tasks_run_in_their_order_and_before_fetching() -> None:
    rig = Rig(Library({"a": pages(2)}), "a")
    rig.fetcher.step()
    rig.fetcher.pause_or_resume_splits([A], [])
    rig.fetcher.pause_or_resume_splits([], [A])
    for has_room in (True, False):
        rig.fetcher.step()
        assert (rig.fetcher.has_room, rig.fetcher.fetches) == (has_room, 0)
    rig.fetcher.remove_splits([A])
    rig.fetcher.step()
    assert (rig.reader.open, rig.reader.paused, rig.fetcher.assigned, rig.fetcher.fetches) == (
        {},
        set(),
        (),
        0,
    )


def test_f2_without_a_split_there_is_no_fetch() -> None:
    rig = Rig(Library())
    assert not rig.fetcher.step()
    assert rig.fetcher.fetches == 0


def test_f3_a_split_that_is_found_wakes_an_idle_fetcher(threads: Start) -> None:
    rig = Rig(Library({"a": pages(2), "b": pages(1)}), "a")
    threads(rig.fetcher)
    until(lambda: rig.backlog == 2 and rig.fetcher.has_room, "the fetcher")
    rig.find("b")
    until(lambda: rig.backlog == 3, "the fetcher")


def test_f3_a_task_wakes_a_running_fetch(threads: Start) -> None:
    entered = threading.Event()

    def block_once(reader: PageReader) -> None:
        if not entered.is_set():
            entered.set()
            assert reader.woken.wait(PATIENCE_S)

    rig = Rig(Library({"a": pages(2), "b": pages(1)}, before_fetch=block_once), "ab")
    threads(rig.fetcher)
    assert entered.wait(PATIENCE_S)
    rig.fetcher.remove_splits([A])
    until(lambda: rig.library.fetched == [B], "the fetcher")


def test_f3_ids_are_assigned_before_the_reader_hears_of_them() -> None:
    seen: list[tuple[SplitPath, ...]] = []

    class Watching(PageReader):
        def handle_splits_changes(self, added: Any) -> None:
            seen.append(rig.fetcher.assigned)
            super().handle_splits_changes(added)

    rig = Rig(Library({"a": pages(1)}), "a", reader=Watching)
    rig.fetcher.step()
    assert seen == [(A,)]


def test_f4_nothing_is_lost_or_repeated_however_often_a_fetcher_is_woken(threads: Start) -> None:
    rig = Rig(Library({label: pages(200) for label in "abc"}), "abc", budget_bytes=200)
    threads(rig.fetcher)
    found: list[Any] = []
    while sum(isinstance(one, SplitsDone) for one in found) < 3:
        rig.told.clear()
        found += rig.read()
        rig.fetcher.wake_up()
        rig.told.wait(0.0005)
    assert [one for one in found if isinstance(one, tuple)] == [
        (label, number) for label in "abc" for number in range(200)
    ]


def test_f5_what_was_fetched_survives_a_task_while_it_waits_for_room(threads: Start) -> None:
    rig = Rig(Library({"a": pages(4), "b": pages(1)}), "ab", budget_bytes=1)
    threads(rig.fetcher)
    until(lambda: rig.pool._waiting == 1, "the fetcher")
    rig.fetcher.pause_or_resume_splits([A], [])
    until(lambda: rig.reader.paused == {A}, "the fetcher")
    found: list[Any] = []
    while ("b", 0) not in found:
        found += rig.read()
        rig.told.wait(0.001)
    rig.fetcher.pause_or_resume_splits([], [A])
    while ("a", 3) not in found:
        found += rig.read()
        rig.told.wait(0.001)
    assert [one for one in found if isinstance(one, tuple) and one[0] == "a"] == [
        ("a", number) for number in range(4)
    ]


def test_f6_a_stale_wake_up_costs_the_next_fetch_an_empty_answer_and_no_more() -> None:
    rig = Rig(Library({"a": pages(2)}), "a")
    rig.fetcher.step()
    for _ in range(3):
        rig.reader.wake_up()
    rig.steps()
    assert rig.read() == [NothingFetched(A), ("a", 0), ("a", 1), done(A)]
    assert rig.fetcher.fetches == 3


def test_f11_a_split_with_nothing_in_it_is_reported_as_done() -> None:
    rig = Rig(Library({"a": [], "b": pages(1)}), "ab")
    rig.steps()
    assert rig.read() == [done(A), ("b", 0), done(B)]


def test_f12_a_removed_split_is_reported_as_done() -> None:
    rig = Rig(Library({"a": pages(9), "b": pages(1)}), "ab")
    for _ in range(3):
        rig.fetcher.step()
    rig.fetcher.remove_splits([A, C])
    rig.steps()
    assert rig.read() == [("a", 0), SplitsDone(removed=frozenset([A])), ("b", 0), done(B)]


def test_f13_paused_splits_give_nothing_and_resumed_ones_go_on() -> None:
    rig = Rig(Library({"a": pages(2), "b": pages(2)}), "ab")
    rig.fetcher.step()
    rig.fetcher.pause_or_resume_splits([A, C], [C])
    rig.steps()
    assert rig.read() == [("b", 0), ("b", 1), done(B)]
    rig.fetcher.pause_or_resume_splits([B], [A, B])
    rig.steps()
    assert rig.read() == [("a", 0), ("a", 1), done(A)]


def test_f13_pausing_what_just_finished_is_ignored() -> None:
    rig = Rig(Library({"a": pages(1)}), "a")
    rig.fetcher.step()
    rig.fetcher.step()
    rig.fetcher.pause_or_resume_splits([A], [])
    rig.steps()
    assert rig.reader.paused == set()


class Busy(PageReader):
    """Asks that split a is left alone, once."""

    was_busy = False

    def fetch(self) -> EpochRecords:
        if A in self.open and A not in self.paused and not self.was_busy:
            self.was_busy = True
            return EpochRecords(paused={A: 500})
        return super().fetch()


def test_f13_a_split_that_the_outside_wants_left_alone_is_paused_alone_and_resumed_in_time() -> None:
    rig = Rig(Library({"a": pages(2), "b": pages(1)}), "ab", reader=Busy)
    rig.steps()
    assert rig.read() == [NothingFetched(A), SplitsPaused({A: 500}), ("b", 0), done(B)]
    rig.clock.advance(499)
    rig.steps()
    assert (rig.read(), rig.reader.paused) == ([], {A})
    rig.clock.advance(1)
    rig.steps()
    assert rig.read() == [("a", 0), ("a", 1), done(A)]


def test_a_pause_that_outlasts_the_epoch_holds_up_no_barrier() -> None:
    rig = Rig(Library({"a": pages(2), "b": pages(9)}), "ab", barrier=Barrier(rows=2), reader=Busy)
    rig.steps()
    assert rig.read()[2:] == [("b", 0), ("b", 1), CheckpointBarrier(0)]
    rig.clock.advance(1_000)
    rig.steps()
    assert (rig.read(), rig.fetcher._held_s()) == ([], None)


def test_f14_a_reader_is_closed_once_on_the_fetchers_thread_also_while_paused(threads: Start) -> None:
    rig = Rig(Library({"a": pages(3)}), "a")
    rig.fetcher.step()
    rig.reader.thread = None
    rig.fetcher.pause_or_resume_splits([A], [])
    thread = threads(rig.fetcher)
    until(lambda: rig.reader.paused == {A}, "the fetcher")
    rig.fetcher.stop()
    thread.join(PATIENCE_S)
    assert rig.reader.thread is thread
    assert rig.reader.closed == 1


def test_a_reader_that_was_never_needed_is_never_made(threads: Start) -> None:
    rig = Rig(Library())
    thread = threads(rig.fetcher)
    rig.fetcher.stop()
    thread.join(PATIENCE_S)
    assert not hasattr(rig, "reader")


def test_records_of_a_split_that_was_not_given_break_the_contract() -> None:
    class Confused(PageReader):
        def fetch(self) -> EpochRecords:
            return EpochRecords(finished=frozenset([B]))

    rig = Rig(Library({"a": pages(1)}), "a", reader=Confused)
    with pytest.raises(ContractError, match="split b, which it was not given or has finished"):
        rig.steps()


def test_a_split_is_not_finished_and_caught_up_at_once() -> None:
    class Confused(PageReader):
        def fetch(self) -> EpochRecords:
            return EpochRecords(finished=frozenset([A]), caught_up={A: None})

    rig = Rig(Library({"a": pages(1)}), "a", reader=Confused)
    with pytest.raises(ContractError, match="both finished and caught up"):
        rig.steps()
