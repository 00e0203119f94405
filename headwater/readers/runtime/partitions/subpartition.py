"""One channel of a result partition, and how it is read."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Generic, TypeAlias, TypeVar

from headwater.readers.runtime.partitions.buffer_pool import Buffer
from headwater.readers.runtime.partitions.events import Event

__all__ = ["Element", "Listener", "ResultSubpartition", "ResultSubpartitionView"]

T = TypeVar("T")
Element: TypeAlias = "Buffer[T] | Event"
Listener: TypeAlias = Callable[[], None]


class ResultSubpartitionView(ABC, Generic[T]):
    """Reads one subpartition (Flink's ``ResultSubpartitionView``). One thread."""

    @abstractmethod
    def next(self) -> Element[T] | None:
        """Return the next buffer or event, None if there is none now.

        Never blocks on a producer. None for ever after a release.

        Whoever gets a buffer recycles it when done. The last element is an `EndOfPartition`.
        """

    @abstractmethod
    def release(self) -> None:
        """Stop reading. Does not release the subpartition. Idempotent."""


class ResultSubpartition(ABC, Generic[T]):
    """Holds the elements for one consumer (Flink's ``ResultSubpartition``).

    Produced on one thread, consumed on another.

    Args:
        index: its place in the partition.
    """

    def __init__(self, index: int) -> None:
        self.index = index

    @property
    @abstractmethod
    def backlog(self) -> int:
        """How many buffers, events not counted, are waiting to be read for the first time."""

    @property
    @abstractmethod
    def is_released(self) -> bool:
        """Whether all is given up."""

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
            ContractError: this kind of subpartition cannot be read now, or not by one more.
        """

    @abstractmethod
    def release(self) -> None:
        """Give up everything: buffers are recycled, files deleted, views end. Idempotent."""
