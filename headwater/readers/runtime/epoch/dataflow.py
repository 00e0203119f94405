"""The part of a task before its emitter: fetchers, channels, and the way back for found splits."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

from headwater.core.barrier_source import BarrierSource
from headwater.core.clock import Clock
from headwater.core.epoch import Barrier
from headwater.core.split import SplitPath, SplitRange
from headwater.readers.runtime.epoch.task import EpochTask
from headwater.readers.runtime.fetchers.events import Fetched
from headwater.readers.runtime.fetchers.fetcher_manager import SplitFetcherManager
from headwater.readers.runtime.fetchers.split_fetcher import FetcherWork
from headwater.readers.runtime.fetchers.trigger import BarrierTrigger
from headwater.readers.runtime.partitions.pipelined import (
    PipelinedResultPartition,
    PipelinedSubpartition,
    PipelinedSubpartitionView,
)
from headwater.readers.runtime.partitions.subpartition import (
    BufferPool,
    CheckpointBarrier,
    Element,
    PartitionBuffer,
)


class FeedbackLoop:
    """A channel from the task's thread to any fetcher that has room.

    It is not bounded: the emitter must never wait for the fetchers, which wait for the emitter. So the length
    is looked at when a split is put, and the epoch is cut in time.
    """

    def __init__(self) -> None:
        self._channel: PipelinedSubpartition[SplitRange[Any, Any]] = PipelinedSubpartition()

    def __len__(self) -> int:
        return self._channel.backlog

    def put(self, start: SplitRange[Any, Any]) -> None:
        """Send a split round. The task's thread."""
        self._channel.add(PartitionBuffer(start, 0, None))

    def take(self) -> SplitRange[Any, Any] | None:
        """Return the next split to begin with. Any fetcher.

        None if there is none, or if the barrier is in the loop.
        """
        element = self._channel.poll()
        return element.payload if isinstance(element, PartitionBuffer) else None

    def cut(self, barrier: CheckpointBarrier) -> list[SplitPath]:
        """Put the barrier into the loop, and return the splits that come out before it does: the loop's log.

        The task's thread. Behind the barrier nothing can be taken: a split is begun in this epoch, or it is
        in the log.
        """
        self._channel.add(barrier)
        log: list[SplitPath] = []
        while isinstance(element := self._channel.poll(), PartitionBuffer):
            log.append(element.payload.split.path)
        return log


_MOMENT_S = 0.005


class Dataflow:
    """Fetchers -> channels -> the emitter, and the loop from the emitter back to the fetchers.

    Belongs to the task's thread, which repeats `prepare`, `poll`, `wait`, in this order: an event after
    `prepare` ends the next `wait` at once.

    Attributes:
        partition: the channels.
        manager: of the fetchers.
        loop: takes the splits that the emitter finds.
        trigger: says when the barrier goes into the channels.

    Args:
        source: makes the readers.
        task: how many bytes may lie in the channels, and the events for the readers.
        ranges: the ranges that the fetchers read.
        barrier: when the trigger is due.
        clock: time.
    """

    def __init__(
        self,
        source: BarrierSource[Any, Any],
        task: EpochTask,
        *,
        ranges: Sequence[SplitRange[Any, Any]],
        barrier: Barrier,
        clock: Clock,
    ) -> None:
        self._clock = clock
        self.partition: PipelinedResultPartition[Fetched] = PipelinedResultPartition(
            source.fetcher_threads, BufferPool(task.budget_bytes)
        )
        # Set by channels, by the trigger and by a fetcher that failed: what the task's thread waits for.
        self._available = threading.Event()
        self._views: list[PipelinedSubpartitionView[Fetched]] = []
        self._turn = 0
        self.loop = FeedbackLoop()
        self.trigger = BarrierTrigger(barrier, clock, self._on_trigger)
        self.manager = SplitFetcherManager(
            FetcherWork(source.create_reader, self.partition, self.trigger, clock, task.events),
            threads=source.fetcher_threads,
            starts=ranges,
            take_found=self.loop.take,
            most_open=task.least_ready,
            name=source.name,
            on_error=self._available.set,
        )

    def start(self) -> None:
        """Start the fetchers. Once."""
        self._views = [
            self.partition.create_view(index, self._available.set) for index in range(len(self.partition))
        ]
        self.manager.start()

    def prepare(self) -> None:
        """Forget earlier wake-ups, and raise the error of a fetcher.

        Raises:
            Exception: the error of a reader.
        """
        self._available.clear()
        self.manager.check_errors()

    def poll(self) -> tuple[int, Element[Fetched]] | None:
        """Return the next element with its channel, None if there is none now. The channels take turns."""
        count = len(self._views)
        for offset in range(count):
            channel = (self._turn + offset) % count
            element = self._views[channel].next()
            if element is not None:
                self._turn = channel + 1
                return channel, element
        return None

    def wait(self, timeout_ms: int | None) -> None:
        """Wait for an element, an error or the trigger, at most for this time. May return earlier."""
        if timeout_ms is None:
            self._available.wait()
        else:
            self._clock.wait(self._available, timeout_ms)

    def wait_a_moment(self) -> None:
        """Wait for the same, for 5 ms of real time: calls are answered meanwhile, and nothing tells of it."""
        self._available.wait(_MOMENT_S)

    def close(self) -> None:
        """End the fetchers, give up the content of the channels. Idempotent."""
        # Fetchers first: they put into the channels until they end.
        self.manager.close()
        for view in self._views:
            view.release()
        self.partition.release()

    def _on_trigger(self) -> None:
        self.manager.notify_trigger()
        self._available.set()
