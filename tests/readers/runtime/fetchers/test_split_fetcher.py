"""One fetcher, step by step and on a thread.

The contracts that Flink's SplitFetcherTest and its readers rely on.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from headwater.core.clock import ManualClock
from headwater.core.epoch import Barrier
from headwater.core.epoch_records import EpochRecords
from headwater.core.errors import ContractError
from headwater.core.split import Path, SplitRange
from headwater.readers.runtime.fetchers.events import Fetched, SourceEvents, SplitsDone
from headwater.readers.runtime.fetchers.split_fetcher import FetcherWork, SplitFetcher
from headwater.readers.runtime.fetchers.trigger import BarrierTrigger
from headwater.readers.runtime.partitions.buffer_pool import Buffer, BufferPool
from headwater.readers.runtime.partitions.events import CheckpointBarrier, Event
from headwater.readers.runtime.partitions.partition_id import ResultPartitionId
from headwater.readers.runtime.partitions.result_partition import PipelinedResultPartition
from tests.exactly_once.waiting import until
from tests.pages import Library, Page, PageReader, pages, start_of

A, B, C = ("a",), ("b",), ("c",)


@dataclass
class Rig:
    """A fetcher, what feeds it, and the reading end of its channel."""

    library: Library
    barrier: Barrier = field(default_factory=Barrier)
    ready: tuple[Path, ...] = ()
    waiting: deque[SplitRange[Any, Any]] = field(default_factory=deque)
    splits_at_once: int | None = None
    waits: bool = True
    budget_bytes: int = 1 << 20

    def __post_init__(self) -> None:
        self.told = threading.Event()
        self.pool = BufferPool(self.budget_bytes)
        self.partition: PipelinedResultPartition[Fetched] = PipelinedResultPartition(
            ResultPartitionId("p", "a"), 1, self.pool
        )
        self.view = self.partition.create_view(0, self.told.set)
        self.trigger = BarrierTrigger(self.barrier, self.ready, ManualClock(), self._on_change)
        work = FetcherWork(
            self._create, self.partition, self.trigger, self._take, self.splits_at_once, self.waits
        )
        self.fetcher = SplitFetcher(0, work)

    def _on_change(self) -> None:
        self.fetcher.wake_up()

    def _create(self) -> PageReader:
        self.reader = PageReader(self.library)
        return self.reader

    def _take(self) -> SplitRange[Any, Any] | None:
        return self.waiting.popleft() if self.waiting else None

    def steps(self) -> None:
        while self.fetcher.step():
            pass

    def read(self, recycle: bool = True) -> list[Any]:
        found: list[Any] = []
        while (element := self.view.next()) is not None:
            if isinstance(element, Event):
                found.append(element)
            else:
                found += [(row["label"], row["number"]) for row in element.payload.record.rows.to_pylist()]
                if recycle:
                    element.recycle()
        return found


def done(*paths: Path) -> SplitsDone:
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
    rig = Rig(Library({"a": pages(5), "b": pages(5)}))
    thread = threads(rig.fetcher)
    rig.fetcher.add_splits([start_of("a")])
    rig.fetcher.add_splits([start_of("b")])
    until(lambda: rig.fetcher.is_idle and rig.partition._pipelined[0].backlog == 10, "the fetcher")
    rig.fetcher.stop()
    thread.join(10)
    assert rig.reader.thread is thread
    assert rig.reader.closed == 1


def test_f2_tasks_run_in_their_order_and_before_fetching() -> None:
    rig = Rig(Library({"a": pages(1), "b": pages(1)}))
    rig.fetcher.add_splits([start_of("a"), start_of("b")])
    rig.fetcher.remove_splits([A])
    rig.fetcher.add_splits([start_of("a")])
    for _ in range(3):
        rig.fetcher.step()
    assert rig.fetcher.fetches == 0
    rig.steps()
    assert rig.library.fetched == [B, A]


def test_f2_without_a_split_there_is_no_fetch() -> None:
    rig = Rig(Library())
    assert not rig.fetcher.step()
    assert rig.fetcher.fetches == 0


def test_f3_a_split_that_is_added_wakes_a_running_fetch(threads: Start) -> None:
    entered = threading.Event()

    def block_once(reader: PageReader) -> None:
        if not entered.is_set():
            entered.set()
            assert reader.woken.wait(10)

    rig = Rig(Library({"a": pages(2), "b": pages(1)}, before_fetch=block_once))
    threads(rig.fetcher)
    rig.fetcher.add_splits([start_of("a")])
    assert entered.wait(10)
    rig.fetcher.add_splits([start_of("b")])
    until(lambda: rig.partition._pipelined[0].backlog == 3, "the fetcher")


def test_f3_ids_are_assigned_before_the_reader_hears_of_them() -> None:
    rig = Rig(Library({"a": pages(1)}))
    seen: list[tuple[Path, ...]] = []
    original = PageReader.handle_splits_changes

    class Watching(PageReader):
        def handle_splits_changes(self, added: Any) -> None:
            seen.append(rig.fetcher.assigned)
            original(self, added)

    rig.fetcher._reader = Watching(rig.library)
    rig.fetcher.add_splits([start_of("a")])
    rig.fetcher.step()
    assert seen == [(A,)]


def test_f4_nothing_is_lost_or_repeated_however_often_a_fetcher_is_woken(threads: Start) -> None:
    rig = Rig(Library({label: pages(200) for label in "abc"}), budget_bytes=200)
    threads(rig.fetcher)
    rig.fetcher.add_splits([start_of("a"), start_of("b"), start_of("c")])
    found: list[Any] = []
    while sum(isinstance(one, SplitsDone) for one in found) < 3:
        rig.told.clear()
        found += rig.read()
        rig.fetcher.wake_up()
        rig.told.wait(0.0005)
    assert sorted(one for one in found if isinstance(one, tuple)) == [
        (label, number) for label in "abc" for number in range(200)
    ]


def test_f5_what_was_fetched_survives_a_wake_up_while_it_waits_for_room(threads: Start) -> None:
    rig = Rig(Library({"a": pages(4), "b": pages(1)}), budget_bytes=1)
    threads(rig.fetcher)
    rig.fetcher.add_splits([start_of("a")])
    until(lambda: rig.pool._waiting == 1, "the fetcher")
    rig.fetcher.add_splits([start_of("b")])
    until(lambda: B in rig.fetcher.assigned, "the fetcher")
    found: list[Any] = []
    while len([one for one in found if isinstance(one, tuple)]) < 5:
        found += rig.read()
        rig.told.wait(0.001)
    assert [one for one in found if isinstance(one, tuple) and one[0] == "a"] == [
        ("a", number) for number in range(4)
    ]


def test_f6_a_stale_wake_up_costs_the_next_fetch_an_empty_answer_and_no_more() -> None:
    rig = Rig(Library({"a": pages(2)}))
    rig.fetcher.add_splits([start_of("a")])
    rig.fetcher.step()
    for _ in range(3):
        rig.reader.wake_up()
    rig.steps()
    assert rig.read() == [("a", 0), ("a", 1), done(A)]
    assert rig.fetcher.fetches == 3


def test_f7_finished_splits_leave_only_when_all_of_them_is_in_the_channel() -> None:
    rig = Rig(Library({"a": pages(1)}))
    rig.fetcher.add_splits([start_of("a")])
    rig.fetcher.step()
    rig.fetcher.step()
    assert rig.fetcher.assigned == (A,)
    assert not rig.fetcher.is_idle
    rig.steps()
    assert rig.fetcher.is_idle
    assert rig.read() == [("a", 0), done(A)]


def test_f8_idle_means_no_split_no_task_and_nothing_to_hand_over() -> None:
    rig = Rig(Library({"a": pages(1)}))
    assert rig.fetcher.is_idle
    rig.fetcher.add_splits([start_of("a")])
    assert not rig.fetcher.is_idle
    rig.steps()
    assert rig.fetcher.is_idle


def test_f11_a_split_with_nothing_in_it_is_reported_as_done() -> None:
    rig = Rig(Library({"a": [], "b": pages(1)}))
    rig.fetcher.add_splits([start_of("a"), start_of("b")])
    rig.steps()
    assert rig.read() == [done(A), ("b", 0), done(B)]


def test_f12_a_removed_split_is_reported_as_done() -> None:
    rig = Rig(Library({"a": pages(9), "b": pages(1)}))
    rig.fetcher.add_splits([start_of("a"), start_of("b")])
    for _ in range(3):
        rig.fetcher.step()
    rig.fetcher.remove_splits([A, C])
    rig.steps()
    assert rig.read() == [("a", 0), SplitsDone(removed=frozenset([A])), ("b", 0), done(B)]


def test_f13_paused_splits_give_nothing_and_resumed_ones_go_on() -> None:
    rig = Rig(Library({"a": pages(2), "b": pages(2)}))
    rig.fetcher.add_splits([start_of("a"), start_of("b")])
    rig.fetcher.pause_or_resume_splits([A, C], [C])
    rig.steps()
    assert rig.read() == [("b", 0), ("b", 1), done(B)]
    rig.fetcher.pause_or_resume_splits([B], [A, B])
    rig.steps()
    assert rig.read() == [("a", 0), ("a", 1), done(A)]


def test_f13_pausing_what_just_finished_is_ignored() -> None:
    rig = Rig(Library({"a": pages(1)}))
    rig.fetcher.add_splits([start_of("a")])
    rig.fetcher.step()
    rig.fetcher.step()
    rig.fetcher.pause_or_resume_splits([A], [])
    rig.steps()
    assert rig.reader.paused == set()


def test_f14_a_reader_is_closed_once_on_the_fetchers_thread_also_while_paused(threads: Start) -> None:
    rig = Rig(Library({"a": pages(3)}))
    rig.fetcher.pause_or_resume_splits([], [])
    thread = threads(rig.fetcher)
    rig.fetcher.add_splits([start_of("a")])
    rig.fetcher.pause_or_resume_splits([A], [])
    until(lambda: rig.fetcher.assigned == (A,), "the fetcher")
    rig.fetcher.stop()
    thread.join(10)
    assert rig.reader.closed == 1


def test_a_reader_that_was_never_needed_is_never_made(threads: Start) -> None:
    rig = Rig(Library())
    thread = threads(rig.fetcher)
    rig.fetcher.stop()
    thread.join(10)
    assert not hasattr(rig, "reader")


def test_records_of_a_split_that_was_not_given_break_the_contract() -> None:
    rig = Rig(Library({"a": pages(1)}))

    class Confused(PageReader):
        def fetch(self) -> EpochRecords:
            return EpochRecords(finished=frozenset([B]))

    rig.fetcher._reader = Confused(rig.library)
    rig.fetcher.add_splits([start_of("a")])
    with pytest.raises(ContractError, match="split b, which it was not given"):
        rig.steps()


def test_a_split_is_not_finished_and_caught_up_at_once() -> None:
    rig = Rig(Library({"a": pages(1)}))

    class Confused(PageReader):
        def fetch(self) -> EpochRecords:
            return EpochRecords(finished=frozenset([A]), caught_up={A: None})

    rig.fetcher._reader = Confused(rig.library)
    rig.fetcher.add_splits([start_of("a")])
    with pytest.raises(ContractError, match="both finished and caught up"):
        rig.steps()


def test_the_barrier_follows_what_was_fetched_and_nothing_follows_the_barrier() -> None:
    rig = Rig(Library({"a": pages(9)}, events=["seen"]), Barrier(rows=3), (A,))
    rig.fetcher.add_splits([start_of("a")])
    rig.steps()
    assert rig.read() == [("a", 0), SourceEvents(("seen",)), ("a", 1), ("a", 2), CheckpointBarrier(0)]
    rig.fetcher.wake_up()
    rig.steps()
    assert rig.read() == []
    assert rig.fetcher.fetches == 3


def test_once_a_limit_is_reached_splits_that_were_fetched_from_make_way_for_those_that_were_not() -> None:
    rig = Rig(
        Library({label: pages(9) for label in "abc"}),
        Barrier(rows=2),
        (A, B, C),
        deque(map(start_of, "abc")),
        splits_at_once=1,
    )
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
    rig = Rig(Library({"a": pages(9)}), Barrier(rows=1), (A,))
    rig.fetcher._reader = Quiet(rig.library)
    rig.fetcher.add_splits([start_of("a")])
    rig.trigger.fire()
    rig.fetcher.step()
    rig.fetcher.step()
    assert not rig.trigger.is_due
    rig.steps()
    assert rig.trigger.is_due
    assert rig.fetcher.fetches == 2


def test_what_was_fetched_counts_once_it_is_in_the_channel_where_a_barrier_that_overtakes_finds_it() -> None:
    rig = Rig(Library({"a": pages(9)}), Barrier(rows=1), (A,))
    rig.fetcher.add_splits([start_of("a")])
    while not rig.partition._pipelined[0].backlog:
        assert not rig.trigger.is_due
        rig.fetcher.step()
    rig.fetcher.step()
    assert rig.trigger.is_due


def test_on_the_thread_that_makes_room_a_fetcher_does_not_wait_for_it() -> None:
    rig = Rig(Library({"a": [Page((1,)), Page((2,))]}), waits=False, budget_bytes=1)
    rig.fetcher.add_splits([start_of("a")])
    rig.steps()
    rig.steps()
    first = rig.view.next()
    assert isinstance(first, Buffer)
    assert rig.view.next() is None
    first.recycle()
    rig.steps()
    assert rig.read() == [("a", 2), done(A)]
