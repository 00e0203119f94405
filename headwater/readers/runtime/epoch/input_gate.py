"""The reading end of all channels of a task (Flink's ``InputGate``)."""

from __future__ import annotations

import threading
from typing import Generic, TypeVar

from headwater.core.clock import Clock
from headwater.readers.runtime.partitions.result_partition import ResultPartition
from headwater.readers.runtime.partitions.subpartition import Element

T = TypeVar("T")


class InputGate(Generic[T]):
    """Takes from the channels in turn. One thread reads; any thread may wake it.

    The reader repeats `prepare`, `poll`, `wait`, in this order. So a wake-up that comes after `prepare` is
    still there when it waits, and none is slept through.

    Args:
        partition: whose channels are read.
        clock: time.
    """

    def __init__(self, partition: ResultPartition[T], clock: Clock) -> None:
        self._clock = clock
        self._available = threading.Event()
        self._views = [partition.create_view(index, self._available.set) for index in range(len(partition))]
        self._turn = 0

    def prepare(self) -> None:
        """Forget earlier wake-ups."""
        self._available.clear()

    def poll(self) -> tuple[int, Element[T]] | None:
        """Return the next element with its channel, None if there is none now."""
        count = len(self._views)
        for offset in range(count):
            channel = (self._turn + offset) % count
            element = self._views[channel].next()
            if element is not None:
                self._turn = channel + 1
                return channel, element
        return None

    def wait(self, timeout_ms: int | None) -> None:
        """Wait until something may have come, `wake_up` was called, or the time is over.

        May return though nothing came.
        """
        if timeout_ms is None:
            self._available.wait()
        else:
            self._clock.wait(self._available, timeout_ms)

    def wake_up(self) -> None:
        """Make `wait` return. Any thread."""
        self._available.set()

    def close(self) -> None:
        """Stop reading. Idempotent."""
        for view in self._views:
            view.release()
