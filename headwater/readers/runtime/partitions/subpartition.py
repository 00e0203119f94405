"""One channel of a result partition, and how it is read."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Generic, TypeAlias, TypeVar

from headwater.readers.runtime.partitions.buffer_pool import PartitionBuffer
from headwater.readers.runtime.partitions.events import PartitionEvent

T = TypeVar("T")
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

    Args:
        index: its number in the partition.
    """

    def __init__(self, index: int) -> None:
        self.index = index

    @abstractmethod
    def add(self, element: Element[T]) -> bool:
        """Append. False, with the buffer recycled, if the subpartition is finished or released."""

    @abstractmethod
    def finish(self) -> None:
        """Append the end. Nothing can be added afterwards. Idempotent."""

    @abstractmethod
    def create_view(self, on_available: Listener) -> ResultSubpartitionView[T]:
        """Return a view.

        Args:
            on_available: called, on any thread, when there is something to read after there was nothing, and
                when the subpartition is released.

        Raises:
            ContractError: a subpartition of this kind cannot be read now, or not by one reader more.
        """

    @abstractmethod
    def release(self) -> None:
        """Give up everything: buffers are recycled, files deleted, views end. Idempotent; any thread."""
