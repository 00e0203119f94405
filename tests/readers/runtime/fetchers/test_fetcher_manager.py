"""All fetchers of a task: errors, closing, who reads what."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

import pytest

from headwater.core.barrier_reader import EpochRecords
from headwater.core.clock import SystemClock
from headwater.core.epoch import Barrier
from headwater.core.errors import ContractError, SourceError
from headwater.readers.runtime.fetchers.events import Fetched
from headwater.readers.runtime.fetchers.fetcher_manager import SplitFetcherManager
from headwater.readers.runtime.fetchers.split_fetcher import FetcherWork
from headwater.readers.runtime.fetchers.trigger import BarrierTrigger
from headwater.readers.runtime.partitions.pipelined import PipelinedResultPartition
from headwater.readers.runtime.partitions.subpartition import BufferPool
from tests.exactly_once.waiting import until
from tests.pages import Library, PageReader, pages, start_of
from tests.patience import PATIENCE_S


class Rig:
    """A manager with its channels."""

    def __init__(
        self,
        library: Library,
        labels: str,
        *,
        threads: int = 1,
        close_timeout_ms: int = 10_000,
        create: Callable[[], PageReader] | None = None,
    ) -> None:
        self.failed = threading.Event()
        self.partition: PipelinedResultPartition[Fetched] = PipelinedResultPartition(
            threads, BufferPool(1 << 20)
        )
        trigger = BarrierTrigger(Barrier(), SystemClock(), lambda: None)
        self.manager = SplitFetcherManager(
            FetcherWork(create or (lambda: PageReader(library)), self.partition, trigger, SystemClock()),
            threads=threads,
            starts=[start_of(label) for label in labels],
            take_found=lambda: None,
            most_open=100,
            name="test",
            on_error=self.failed.set,
            close_timeout_ms=close_timeout_ms,
        )

    def backlogs(self) -> list[int]:
        return [channel.backlog for channel in self.partition._pipelined]


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
    library = Library({"a": pages(9)})
    reader = Failing(library)
    reader.at = successful
    rig = Rig(library, "a", create=lambda: reader)
    rig.manager.start()
    assert rig.failed.wait(PATIENCE_S)
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
            both.wait(PATIENCE_S)
            raise SourceError("gone")

    rig = Rig(Library(), "ab", threads=2, create=lambda: FailingTogether(Library()))
    rig.manager.start()
    until(lambda: len(rig.manager._failures) == 2, "the fetcher")
    with pytest.raises(SourceError) as caught:
        rig.manager.check_errors()
    assert caught.value.__notes__[1] == "another fetcher failed too: SourceError: gone"
    rig.manager.close()


def test_f10_an_error_while_closing_is_logged_and_hides_no_other(caplog: pytest.LogCaptureFixture) -> None:
    class Stubborn(PageReader):
        def close(self) -> None:
            raise OSError("cannot close")

    rig = Rig(Library(), "a", create=lambda: Stubborn(Library({"a": pages(1)})))
    rig.manager.start()
    until(lambda: rig.backlogs() == [1], "the fetcher")
    with caplog.at_level(logging.ERROR):
        rig.manager.close()
    assert "closing the reader of fetcher 0 failed" in caplog.text


def test_f10_closing_is_bounded_though_a_reader_does_not_come_back(caplog: pytest.LogCaptureFixture) -> None:
    entered = threading.Event()
    release = threading.Event()

    class Deaf(PageReader):
        def fetch(self) -> EpochRecords:
            entered.set()
            release.wait(PATIENCE_S)
            return EpochRecords()

    rig = Rig(Library(), "a", close_timeout_ms=5, create=lambda: Deaf(Library({"a": pages(1)})))
    rig.manager.start()
    assert entered.wait(PATIENCE_S)
    with caplog.at_level(logging.ERROR):
        rig.manager.close()
    assert "test-fetcher-0 did not return from SplitReader.fetch within 5 ms" in caplog.text
    release.set()
    rig.manager._threads[0].join(PATIENCE_S)


def test_f10_no_fetcher_is_started_after_closing() -> None:
    rig = Rig(Library({"a": pages(1)}), "a")
    rig.manager.close()
    rig.manager.close()
    rig.manager.start()
    assert all(thread.ident is None for thread in rig.manager._threads)


def test_closing_frees_a_fetcher_that_waits_for_room() -> None:
    rig = Rig(Library({"a": pages(9)}), "a")
    rig.partition.pool.request(1 << 20, lambda: True)
    rig.manager.start()
    until(lambda: rig.partition.pool._waiting == 1, "the fetcher")
    rig.manager.close()
    assert not any(thread.is_alive() for thread in rig.manager._threads)


def test_each_thread_reads_a_split_of_its_own() -> None:
    together = threading.Barrier(3)

    class Meeting(PageReader):
        def fetch(self) -> EpochRecords:
            together.wait(PATIENCE_S)
            return super().fetch()

    library = Library({label: pages(1) for label in "abc"})
    rig = Rig(library, "abc", threads=3, create=lambda: Meeting(library))
    rig.manager.start()
    until(lambda: sum(rig.backlogs()) == 3, "the fetcher")
    assert rig.backlogs() == [1, 1, 1]
    rig.manager.close()


def test_a_single_thread_reads_splits_one_after_the_other() -> None:
    library = Library({"a": pages(3), "b": pages(3)})
    rig = Rig(library, "ab")
    rig.manager.start()
    until(lambda: rig.backlogs() == [6], "the fetcher")
    assert "".join(path[0] for path in library.fetched) == "aaabbb"
    rig.manager.close()


def test_pausing_and_removing_reach_the_fetcher_that_has_the_split() -> None:
    library = Library({label: pages(3) for label in "abc"})
    rig = Rig(library, "abc", threads=2)
    first, second = rig.manager._fetchers
    first.step()
    second.step()
    rig.manager.pause_or_resume_splits([("a",)], [])
    rig.manager.remove_splits([("b",), ("d",)])
    for fetcher in (first, second):
        while fetcher.step():
            pass
    assert set(library.fetched) == {("c",)}
    assert (first.assigned, second.assigned) == ((("a",),), ())


def test_a_source_without_a_thread_that_fetches_is_refused() -> None:
    with pytest.raises(ContractError, match="fetcher_threads is 0"):
        Rig(Library(), "a", threads=0)
