"""All of a task that lies before its emitter: fetchers, channels, and the way back for found splits."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from typing import Any

from headwater.core.barrier_source import BarrierSource
from headwater.core.clock import Clock
from headwater.core.epoch import Barrier
from headwater.core.split import SplitPath, SplitRange
from headwater.readers.runtime.epoch.feedback import FeedbackLoop
from headwater.readers.runtime.epoch.input_gate import InputGate
from headwater.readers.runtime.epoch.task import EpochTask
from headwater.readers.runtime.fetchers.events import Fetched
from headwater.readers.runtime.fetchers.fetcher_manager import SplitFetcherManager
from headwater.readers.runtime.fetchers.split_fetcher import FetcherWork
from headwater.readers.runtime.fetchers.trigger import BarrierTrigger
from headwater.readers.runtime.partitions.buffer_pool import BufferPool
from headwater.readers.runtime.partitions.pipelined import PipelinedResultPartition
from headwater.readers.runtime.partitions.result_partition import PROCESS_PARTITIONS, ResultPartitionId
from headwater.readers.runtime.partitions.subpartition import CheckpointBarrier, Element


class Dataflow:
    """Fetchers -> channels -> the emitter, and the loop from the emitter back to the fetchers.

    Belongs to the task's thread, which repeats `prepare`, `poll`, `wait`, in this order: what happens after
    `prepare` ends the next `wait` at once.

    Attributes:
        loop: takes the splits that the emitter finds.
        trigger: says when the barrier goes into the channels.

    Args:
        source: makes the readers.
        task: how many bytes may lie in the channels, and the events for the readers.
        ranges: what the fetchers read.
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
        self._attempt = uuid.uuid4().hex
        self._partition: PipelinedResultPartition[Fetched] = PipelinedResultPartition(
            ResultPartitionId(f"fetched/{source.name}", self._attempt),
            source.fetcher_threads,
            BufferPool(task.budget_bytes),
        )
        self._gate = InputGate(self._partition, clock)
        self.loop = FeedbackLoop()
        self.trigger = BarrierTrigger(
            barrier, [piece.split.path for piece in ranges], clock, self._on_trigger
        )
        self._manager = SplitFetcherManager(
            FetcherWork(source.create_reader, self._partition, self.trigger, task.events),
            threads=source.fetcher_threads,
            starts=ranges,
            take_found=self.loop.take,
            name=source.name,
            on_error=self._gate.wake_up,
        )

    @property
    def channels(self) -> int:
        """How many there are."""
        return len(self._partition)

    @property
    def fetches(self) -> int:
        """How often readers were asked."""
        return self._manager.fetches

    @property
    def peak_bytes(self) -> int:
        """The most that ever lay in the channels."""
        return self._partition.pool.peak_bytes

    def start(self) -> None:
        """Start the fetchers. Once."""
        PROCESS_PARTITIONS.register(self._partition)
        self._manager.start()

    def prepare(self) -> None:
        """Forget earlier wake-ups, and raise what a fetcher has raised.

        Raises:
            Exception: what a reader raised.
        """
        self._gate.prepare()
        self._manager.check_errors()

    def poll(self) -> tuple[int, Element[Fetched]] | None:
        """Return the next element with its channel, None if there is none now."""
        return self._gate.poll()

    def wait(self, timeout_ms: int | None) -> None:
        """Wait for an element, an error or the trigger, at most so long. May return earlier."""
        self._gate.wait(timeout_ms)

    def overtake(self, channel: int, barrier: CheckpointBarrier) -> tuple[Element[Fetched], ...]:
        """Put the barrier before all that lies in a channel, and return what it overtook."""
        return self._partition.overtake(channel, barrier)

    def notify_found(self) -> None:
        """There is something in the loop."""
        self._manager.notify_found()

    def remove_splits(self, paths: Iterable[SplitPath]) -> None:
        """Fetch from some splits no more."""
        self._manager.remove_splits(paths)

    def close(self) -> None:
        """End the fetchers, give up what lies in the channels. Idempotent."""
        # Fetchers first: they put into the channels until they end.
        self._manager.close()
        self._gate.close()
        PROCESS_PARTITIONS.release_produced_by(self._attempt)

    def _on_trigger(self) -> None:
        self._manager.notify_trigger()
        self._gate.wake_up()
