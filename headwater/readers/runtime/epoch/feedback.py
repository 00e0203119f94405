"""The back edge of the dataflow: splits that were found go from the emitter to the fetchers."""

from __future__ import annotations

from typing import Any

from headwater.core.split import SplitPath, SplitRange
from headwater.readers.runtime.partitions.pipelined import PipelinedSubpartition
from headwater.readers.runtime.partitions.subpartition import CheckpointBarrier, PartitionBuffer


class FeedbackLoop:
    """A channel from the task's thread to any fetcher that has room.

    It is not bounded: the emitter must never wait for the fetchers, which wait for the emitter. So the length
    is looked at when a split is put, and the epoch is cut in time.
    """

    def __init__(self) -> None:
        self._channel: PipelinedSubpartition[SplitRange[Any, Any]] = PipelinedSubpartition(0)

    def __len__(self) -> int:
        return self._channel.backlog

    def put(self, found: SplitRange[Any, Any]) -> None:
        """Send a split round. The task's thread."""
        self._channel.add(PartitionBuffer(found, 0, None))

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
