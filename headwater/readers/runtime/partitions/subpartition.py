"""One channel of a result partition: what lies in it, and how it is read."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeVar

from headwater.readers.runtime.partitions.buffer_pool import BufferPool

T = TypeVar("T")


class PartitionBuffer(Generic[T]):
    """An element that lies in a partition and counts bytes there until its consumer is done with it.

    Attributes:
        payload: an Arrow batch; in partitions that never write to a file, anything.
        size_bytes: what it weighs.
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
    """The cut: what came before it belongs to this epoch, what comes after it to the next.

    Attributes:
        triggered_ms: the monotonic time at which the epoch was cut.
    """

    triggered_ms: int


Element: TypeAlias = "PartitionBuffer[T] | PartitionEvent"
Listener: TypeAlias = Callable[[], None]


class ResultSubpartitionView(ABC, Generic[T]):
    """Reads one subpartition (Flink's ``ResultSubpartitionView``). Used by one thread."""

    @abstractmethod
    def next(self) -> Element[T] | None:
        """Return the next buffer or event, None if there is none now.

        Never waits for a producer. After a release it always returns None. The caller recycles each buffer
        when it is done with it. The last element of a finished subpartition is an `EndOfPartition`.
        """

    @abstractmethod
    def release(self) -> None:
        """Stop reading. Does not release the subpartition. Idempotent."""


class ResultSubpartition(ABC, Generic[T]):
    """A queue of buffers and events (Flink's ``ResultSubpartition``).

    One thread produces, others consume.

    Attributes:
        is_released: whether all is given up.

    Args:
        index: its number in the partition.
    """

    def __init__(self, index: int) -> None:
        self.index = index
        self.is_released = False

    @abstractmethod
    def add(self, element: Element[T]) -> None:
        """Append. Not after `finish`. What is added while another thread releases is lost with the rest."""

    @abstractmethod
    def finish(self) -> None:
        """Append the end. Once; nothing is added afterwards."""

    @abstractmethod
    def create_view(self, on_available: Listener) -> ResultSubpartitionView[T]:
        """Return a view. Not after `release`; of a pipelined subpartition once.

        Args:
            on_available: called, on any thread, when there is something to read after there was nothing, and
                when the subpartition is released.

        Raises:
            ContractError: a subpartition of this kind cannot be read before it is finished.
        """

    @abstractmethod
    def release(self) -> None:
        """Give up everything: buffers are recycled, files deleted, views end. Idempotent; any thread."""
