"""One fetcher, step by step and on a thread: the contracts of Flink's SplitFetcherTest."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from headwater.core.clock import ManualClock
from headwater.core.epoch import Barrier
from headwater.core.epoch_records import EpochRecords
from headwater.core.errors import ContractError
from headwater.core.split import SplitPath, SplitRange
from headwater.readers.runtime.fetchers.events import Fetched, SourceEvents, SplitsDone
from headwater.readers.runtime.fetchers.split_fetcher import FetcherWork, SplitFetcher
from headwater.readers.runtime.fetchers.trigger import BarrierTrigger
from headwater.readers.runtime.partitions.buffer_pool import BufferPool
from headwater.readers.runtime.partitions.events import CheckpointBarrier, Event
from headwater.readers.runtime.partitions.partition_id import ResultPartitionId
from headwater.readers.runtime.partitions.result_partition import PipelinedResultPartition
from tests.exactly_once.waiting import until
from tests.pages import Library, PageReader, pages, start_of

A = ("a",)
B = ("b",)
C = ("c",)


class Rig:
    """A fetcher, what feeds it, and the reading end of its channel."""

    def __init__(
        self,
        library: Library,
        labels: str = "",
        *,
        barrier: Barrier | None = None,
        ready: Sequence[SplitPath] = (),
        budget_bytes: int = 1 << 20,
        reader: type[PageReader] = PageReader,
    ) -> None:
        self.library = library
        self.waiting = deque(start_of(label) for label in labels)
        self.told = threading.Event()
        self.pool = BufferPool(budget_bytes)
        self.partition: PipelinedResultPartition[Fetched] = PipelinedResultPartition(
            ResultPartitionId("p", "a"), 1, self.pool
        )
        self.view = self.partition.create_view(0, self.told.set)
        self.trigger = BarrierTrigger(barrier or Barrier(), ready, ManualClock(), self._on_change)
        self._make_reader = reader
        self.fetcher = SplitFetcher(0, FetcherWork(self._create, self.partition, self.trigger), self._take)

    def _on_change(self) -> None:
        self.fetcher.wake_up()

    def _create(self) -> PageReader:
        self.reader = self._make_reader(self.library)
        return self.reader

    def _take(self) -> SplitRange[Any, Any] | None:
        return self.waiting.popleft() if self.waiting else None

    def find(self, label: str) -> None:
        """As a manager does it: there is one more split, and who has room looks."""
        self.waiting.append(start_of(label))
        if self.fetcher.has_room:
            self.fetcher.wake_up()

    @property
    def backlog(self) -> int:
        return self.partition._pipelined[0].backlog

    def steps(self) -> None:
        while self.fetcher.step():
            pass

    def read(self) -> list[Any]:
        found: list[Any] = []
        while (element := self.view.next()) is not None:
            if isinstance(element, Event):
                found.append(element)
            else:
                found += [(row["label"], row["number"]) for row in element.payload.record.rows.to_pylist()]
                element.recycle()
        return found


def done(*paths: SplitPath) -> SplitsDone:
    return SplitsDone(frozenset(paths))


@pytest.fixture
def threads() -> Iterator[Callable[[SplitFetcher], threading.Thread]]:
    """Runs fetchers as their manager does, and ends them."""
    running: list[tuple[SplitFetcher, threading.Thread]] = []

    def start(fetcher: SplitFetcher) -> threading.Thread:
        def body() -> None:
            fetcher.run()
            fetcher.finish()

        thread = threading.Thread(target=body)
        running.append((fetcher, thread))
        thread.start()
        return thread

    yield start
    for fetcher, thread in running:
        fetcher.stop()
        thread.join(10)
        assert not thread.is_alive()


Start = Callable[[SplitFetcher], threading.Thread]


def test_f1_all_methods_of_a_reader_but_wake_up_run_on_one_thread(threads: Start) -> None:
    rig = Rig(Library({"a": pages(5), "b": pages(5)}), "ab")
    thread = threads(rig.fetcher)
    until(lambda: rig.backlog == 10, "the fetcher")
    rig.fetcher.stop()
    thread.join(10)
    assert rig.reader.thread is thread
    assert rig.reader.closed == 1


def test_f2_tasks_run_in_their_order_and_before_fetching() -> None:
    rig = Rig(Library({"a": pages(2)}), "a")
    rig.fetcher.step()
    rig.fetcher.pause_or_resume_splits([A], [])
    rig.fetcher.pause_or_resume_splits([], [A])
    rig.fetcher.remove_splits([A])
    for _ in range(3):
        rig.fetcher.step()
    assert (rig.reader.paused, rig.fetcher.assigned, rig.fetcher.fetches) == (set(), (), 0)


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
            assert reader.woken.wait(10)

    rig = Rig(Library({"a": pages(2), "b": pages(1)}, before_fetch=block_once), "ab")
    threads(rig.fetcher)
    assert entered.wait(10)
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
    assert rig.read() == [("a", 0), ("a", 1), done(A)]
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


def test_f14_a_reader_is_closed_once_on_the_fetchers_thread_also_while_paused(threads: Start) -> None:
    rig = Rig(Library({"a": pages(3)}), "a")
    rig.fetcher.step()
    rig.reader.thread = None
    rig.fetcher.pause_or_resume_splits([A], [])
    thread = threads(rig.fetcher)
    until(lambda: rig.reader.paused == {A}, "the fetcher")
    rig.fetcher.stop()
    thread.join(10)
    assert rig.reader.thread is thread
    assert rig.reader.closed == 1


def test_a_reader_that_was_never_needed_is_never_made(threads: Start) -> None:
    rig = Rig(Library())
    thread = threads(rig.fetcher)
    rig.fetcher.stop()
    thread.join(10)
    assert not hasattr(rig, "reader")


def test_records_of_a_split_that_was_not_given_break_the_contract() -> None:
    class Confused(PageReader):
        def fetch(self) -> EpochRecords:
            return EpochRecords(finished=frozenset([B]))

    rig = Rig(Library({"a": pages(1)}), "a", reader=Confused)
    with pytest.raises(ContractError, match="split b, which it was not given"):
        rig.steps()


def test_a_split_is_not_finished_and_caught_up_at_once() -> None:
    class Confused(PageReader):
        def fetch(self) -> EpochRecords:
            return EpochRecords(finished=frozenset([A]), caught_up={A: None})

    rig = Rig(Library({"a": pages(1)}), "a", reader=Confused)
    with pytest.raises(ContractError, match="both finished and caught up"):
        rig.steps()


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
