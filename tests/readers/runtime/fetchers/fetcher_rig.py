"""What the tests of a fetcher share: one that is fed, stepped, run on a thread, and read."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Any

from headwater.core.clock import ManualClock
from headwater.core.epoch import Barrier
from headwater.core.split import SplitPath, SplitRange
from headwater.readers.runtime.fetchers.events import Fetched, SplitsDone
from headwater.readers.runtime.fetchers.split_fetcher import FetcherWork, SplitFetcher
from headwater.readers.runtime.fetchers.trigger import BarrierTrigger
from headwater.readers.runtime.partitions.pipelined import PipelinedResultPartition
from headwater.readers.runtime.partitions.subpartition import BufferPool, PartitionEvent
from tests.pages import Library, PageReader, start_of

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
        budget_bytes: int = 1 << 20,
        reader: type[PageReader] = PageReader,
    ) -> None:
        self.library = library
        self.waiting = deque(start_of(label) for label in labels)
        self.told = threading.Event()
        self.pool = BufferPool(budget_bytes)
        self.partition: PipelinedResultPartition[Fetched] = PipelinedResultPartition(1, self.pool)
        self.view = self.partition.create_view(0, self.told.set)
        self.clock = ManualClock()
        self.trigger = BarrierTrigger(barrier or Barrier(), self.clock, self._on_change)
        self._make_reader = reader
        self.fetcher = SplitFetcher(
            0, FetcherWork(self._create, self.partition, self.trigger, self.clock), self._take
        )

    def _on_change(self) -> None:
        self.fetcher.wake_up()

    def _create(self) -> PageReader:
        self.reader = self._make_reader(self.library)
        return self.reader

    def _take(self, _: bool) -> SplitRange[Any, Any] | None:
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
            if isinstance(element, PartitionEvent):
                found.append(element)
            else:
                found += [(row["label"], row["number"]) for row in element.payload.record.rows.to_pylist()]
                element.recycle()
        return found


def done(*paths: SplitPath) -> SplitsDone:
    return SplitsDone(frozenset(paths))


Start = Callable[[SplitFetcher], threading.Thread]
