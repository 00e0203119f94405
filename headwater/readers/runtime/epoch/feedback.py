"""The back edge: splits that were found go from the emitter to the fetchers."""

from __future__ import annotations

from typing import Any

from headwater.core.split import Path, SplitRange
from headwater.readers.runtime.partitions.buffer_pool import Buffer
from headwater.readers.runtime.partitions.events import CheckpointBarrier
from headwater.readers.runtime.partitions.pipelined import PipelinedSubpartition

__all__ = ["FeedbackLoop"]


class FeedbackLoop:
    """A channel that begins at the task's thread and ends at whichever fetcher has room.

    It is not bounded, since the emitter must never wait for the fetchers, which wait for the emitter: whoever
    fills it looks at its length and cuts the epoch in time.
    """

    def __init__(self) -> None:
        self._channel: PipelinedSubpartition[SplitRange[Any, Any]] = PipelinedSubpartition(0)

    def __len__(self) -> int:
        return self._channel.backlog

    def put(self, found: SplitRange[Any, Any]) -> None:
        """Send a split round. The task's thread."""
        self._channel.add(Buffer(found, 0, None))

    def take(self) -> SplitRange[Any, Any] | None:
        """Return the next split to begin with, None if there is none, or the barrier is in the loop.

        Any fetcher.
        """
        element = self._channel.poll()
        return element.payload if isinstance(element, Buffer) else None

    def waiting(self) -> list[Path]:
        """Return what nobody has begun with, and leave it there."""
        return [
            element.payload.split.path for element in self._channel.waiting() if isinstance(element, Buffer)
        ]

    def cut(self, barrier: CheckpointBarrier) -> list[Path]:
        """Put the barrier into the loop and log what comes out before it does.

        Nothing can be taken afterwards. The task's thread.
        """
        self._channel.add(barrier)
        log: list[Path] = []
        while isinstance(element := self._channel.poll(), Buffer):
            log.append(element.payload.split.path)
        return log
