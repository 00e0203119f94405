"""All fetchers of a task: errors, closing, who reads what."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Any

import pytest

from headwater.core.barrier_reader import BarrierSplitReader
from headwater.core.clock import SystemClock
from headwater.core.epoch import Barrier
from headwater.core.epoch_records import EpochRecords
from headwater.core.errors import OptionError, SourceError
from headwater.readers.runtime.fetchers.events import Fetched
from headwater.readers.runtime.fetchers.fetcher_manager import SplitFetcherManager
from headwater.readers.runtime.fetchers.shape import INLINE, ONE_THREAD, ThreadShape, thread_per_split
from headwater.readers.runtime.fetchers.split_fetcher import FetcherWork
from headwater.readers.runtime.fetchers.trigger import BarrierTrigger
from headwater.readers.runtime.partitions.buffer_pool import BufferPool
from headwater.readers.runtime.partitions.partition_id import ResultPartitionId
from headwater.readers.runtime.partitions.result_partition import PipelinedResultPartition
from tests.exactly_once.waiting import until
from tests.pages import Library, PageReader, pages, start_of


class Rig:
    """A manager with its channels."""

    def __init__(
        self, shape: ThreadShape, library: Library, labels: str, close_timeout_ms: int = 10_000
    ) -> None:
        self.failed = threading.Event()
        self.library, self.shape = library, shape
        self.partition: PipelinedResultPartition[Fetched] = PipelinedResultPartition(
            ResultPartitionId("p", "a"), shape.fetchers, BufferPool(1 << 20)
        )
        self.manager = SplitFetcherManager(
            shape, list(map(start_of, labels)), lambda: None, self.failed.set, close_timeout_ms
        )
        self.trigger = BarrierTrigger(Barrier(), (), SystemClock(), lambda: None)
        self.create: Callable[[], BarrierSplitReader[Any, Any]] = lambda: PageReader(library)

    def start(self) -> None:
        work = FetcherWork(
            self.create, self.partition, self.trigger, self.manager.take, self.shape.splits_per_thread
        )
        self.manager.start(work, (), "test")


class Failing(PageReader):
    """Fails in its n-th fetch."""

    at = 0

    def fetch(self) -> EpochRecords:
        if self.at == 0:
            raise SourceError("no more", source="pages", split="a", position=3)
        self.at -= 1
        return super().fetch()


@pytest.mark.parametrize("successful", [0, 2])
def test_exception_propagation_first_and_successive_fetch(successful: int) -> None:
    rig = Rig(ONE_THREAD, Library({"a": pages(9)}), "a")
    reader = Failing(rig.library)
    reader.at = successful
    rig.create = lambda: reader
    rig.start()
    assert rig.failed.wait(10)
    with pytest.raises(SourceError, match="no more") as caught:
        rig.manager.check_errors()
    assert caught.value.split == "a"
    assert caught.value.__notes__ == ["raised by fetcher 0 of 1, which reads a"]
    rig.manager.check_errors()
    rig.manager.close()
    assert reader.closed == 1


def test_later_errors_are_noted_with_the_first() -> None:
    both = threading.Barrier(2)

    class FailingTogether(PageReader):
        def fetch(self) -> EpochRecords:
            both.wait(10)
            raise SourceError("gone")

    rig = Rig(thread_per_split(2), Library(), "ab")
    rig.create = lambda: FailingTogether(rig.library)
    rig.start()
    until(lambda: len(rig.manager._failures) == 2, "the fetcher")
    with pytest.raises(SourceError) as caught:
        rig.manager.check_errors()
    assert caught.value.__notes__[1] == "another fetcher failed too: SourceError: gone"
    rig.manager.close()


def test_f10_an_error_while_closing_is_logged_and_hides_no_other(caplog: pytest.LogCaptureFixture) -> None:
    class Stubborn(PageReader):
        def close(self) -> None:
            raise OSError("cannot close")

    rig = Rig(ONE_THREAD, Library({"a": pages(1)}), "a")
    rig.create = lambda: Stubborn(rig.library)
    rig.start()
    until(lambda: rig.partition._pipelined[0].backlog == 1, "the fetcher")
    with caplog.at_level(logging.ERROR):
        rig.manager.close()
    assert "closing the reader of fetcher 0 failed" in caplog.text


def test_f10_closing_is_bounded_though_a_reader_does_not_come_back(caplog: pytest.LogCaptureFixture) -> None:
    release = threading.Event()
    entered = threading.Event()

    class Deaf(PageReader):
        def fetch(self) -> EpochRecords:
            entered.set()
            release.wait(60)
            return EpochRecords()

    rig = Rig(ONE_THREAD, Library({"a": pages(1)}), "a", close_timeout_ms=5)
    rig.create = lambda: Deaf(rig.library)
    rig.start()
    assert entered.wait(60)
    with caplog.at_level(logging.ERROR):
        rig.manager.close()
    assert "test-fetcher-0 did not return from SplitReader.fetch within 5 ms" in caplog.text
    release.set()
    rig.manager._threads[0].join(10)


def test_f10_no_fetcher_is_made_after_closing() -> None:
    rig = Rig(ONE_THREAD, Library({"a": pages(1)}), "a")
    rig.manager.close()
    rig.manager.close()
    before = list(rig.manager._threads)
    rig.start()
    assert rig.manager._threads == before


def test_closing_frees_a_fetcher_that_waits_for_room() -> None:
    rig = Rig(ONE_THREAD, Library({"a": pages(9)}), "a")
    rig.partition.pool.try_request(1 << 20)
    rig.start()
    until(lambda: rig.partition.pool._waiting == 1, "the fetcher")
    rig.manager.close()
    assert not any(thread.is_alive() for thread in rig.manager._threads)


def test_three_shapes_one_thread_over_all_or_one_split_after_the_other_or_a_thread_each() -> None:
    together = threading.Barrier(3)

    class Meeting(PageReader):
        def fetch(self) -> EpochRecords:
            together.wait(10)
            return super().fetch()

    rig = Rig(thread_per_split(3), Library({label: pages(1) for label in "abc"}), "abc")
    rig.create = lambda: Meeting(rig.library)
    rig.start()
    until(lambda: sum(channel.backlog for channel in rig.partition._pipelined) == 3, "the fetcher")
    assert [channel.backlog for channel in rig.partition._pipelined] == [1, 1, 1]
    rig.manager.close()


@pytest.mark.parametrize(("at_once", "expected"), [(None, "ababab"), (1, "aaabbb")])
def test_a_single_thread_reads_splits_in_turn_or_one_after_the_other(
    at_once: int | None, expected: str
) -> None:
    rig = Rig(ThreadShape(0, at_once), Library({"a": pages(3), "b": pages(3)}), "ab")
    rig.start()
    while rig.manager.step():
        pass
    assert "".join(path[0] for path in rig.library.fetched) == expected
    rig.manager.close()


def test_without_threads_closing_closes_the_reader() -> None:
    rig = Rig(INLINE, Library({"a": pages(3)}), "a")
    readers: list[PageReader] = []
    rig.create = lambda: readers.append(PageReader(rig.library)) or readers[-1]  # type: ignore[func-returns-value]
    rig.start()
    rig.manager.step()
    rig.manager.close()
    assert [reader.closed for reader in readers] == [1]
    assert not rig.manager.step()


def test_pausing_and_removing_reach_the_fetcher_that_has_the_split() -> None:
    rig = Rig(INLINE, Library({"a": pages(3), "b": pages(3)}), "ab")
    rig.start()
    for _ in range(2):
        rig.manager.step()
    rig.manager.pause_or_resume_splits([("a",)], [])
    rig.manager.remove_splits([("b",), ("c",)])
    while rig.manager.step():
        pass
    assert rig.library.fetched == []
    rig.manager.close()


@pytest.mark.parametrize(("threads", "at_once"), [(-1, None), (1, 0)])
def test_a_shape_without_room_is_refused(threads: int, at_once: int | None) -> None:
    with pytest.raises(OptionError):
        ThreadShape(threads, at_once)
