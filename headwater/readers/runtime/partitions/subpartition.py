"""What lies in a channel between threads: its elements, and the pool of bytes that bounds them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeVar

from headwater.core.errors import ContractError


class BufferPool:
    """A budget of bytes, shared by all channels of a task. Any thread may call any method.

    A buffer is let in while less than the budget is in use, however large it is: Arrow batches are not cut
    here, and a batch that is larger than the whole budget must get through too. So the most that is ever in
    use is the budget and one buffer more.

    Attributes:
        peak_bytes: the most that was ever in use at the same time.

    Args:
        budget_bytes: at least 1.
    """

    def __init__(self, budget_bytes: int) -> None:
        if budget_bytes < 1:
            raise ContractError(f"a buffer pool needs a budget of at least one byte, not {budget_bytes}")
        self.budget_bytes = budget_bytes
        self._used_bytes = 0
        self.peak_bytes = 0
        self._waiting = 0
        self._is_closed = False
        # Guards everything above, and is where producers wait for room.
        self._changed = threading.Condition(threading.Lock())

    def request(self, size_bytes: int, cancelled: Callable[[], bool] = lambda: False) -> bool:
        """Take bytes, waiting until consumers gave some back: the back-pressure on producers.

        Args:
            size_bytes: of the buffer.
            cancelled: asked under the pool's lock, before waiting and after each `wake_up`; True ends the
                waiting.

        Returns:
            Whether they were taken: False after ``cancelled`` or `close`.
        """
        with self._changed:
            while not self._take(size_bytes):
                if self._is_closed or cancelled():
                    return False
                self._waiting += 1
                self._changed.wait()
                self._waiting -= 1
            return True

    def recycle(self, size_bytes: int) -> None:
        """Give bytes back. Also after `close`."""
        with self._changed:
            self._used_bytes -= size_bytes
            # Once per buffer, and rarely does a producer wait: the count spares the notification.
            if self._waiting:
                self._changed.notify_all()

    def wake_up(self) -> None:
        """Let all producers that wait ask their ``cancelled`` again."""
        with self._changed:
            self._changed.notify_all()

    def close(self) -> None:
        """Let nothing in any more. Producers that wait return without having taken anything. Idempotent."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()

    def _take(self, size_bytes: int) -> bool:
        if self._used_bytes >= self.budget_bytes or self._is_closed:
            return False
        self._used_bytes += size_bytes
        self.peak_bytes = max(self.peak_bytes, self._used_bytes)
        return True


T = TypeVar("T")


class PartitionBuffer(Generic[T]):
    """An element that lies in a partition and counts bytes there until its consumer is done with it.

    Attributes:
        payload: what the producer puts there.
        size_bytes: of the payload.
    """

    __slots__ = ("_pool", "payload", "size_bytes")

    def __init__(self, payload: T, size_bytes: int, pool: BufferPool | None) -> None:
        self.payload = payload
        self.size_bytes = size_bytes
        self._pool = pool

    def recycle(self) -> None:
        """Give the bytes back to the pool they came from, if they came from one. Idempotent."""
        pool = self._pool
        self._pool = None
        if pool is not None:
            pool.recycle(self.size_bytes)


class PartitionEvent:
    """Base of all elements that are no data. They weigh nothing.

    An event keeps its place among the buffers, unless it is made to overtake them.
    """

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class EndOfPartition(PartitionEvent):
    """The last element of a subpartition."""


@dataclass(frozen=True, slots=True)
class CheckpointBarrier(PartitionEvent):
    """The cut: elements before it belong to this epoch, those after it to the next.

    Attributes:
        triggered_ms: the monotonic time at which the epoch was cut.
    """

    triggered_ms: int


Element: TypeAlias = "PartitionBuffer[T] | PartitionEvent"
Listener: TypeAlias = Callable[[], None]
