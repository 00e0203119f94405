"""A partition in memory: first in, first out, read while it is written."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

from headwater.readers.runtime.partitions.subpartition import (
    BufferPool,
    CheckpointBarrier,
    Element,
    EndOfPartition,
    Listener,
    PartitionBuffer,
    PartitionEvent,
)

T = TypeVar("T")


class PipelinedResultPartition(Generic[T]):
    """The channels of a task, over one pool (Flink's ``ResultPartition``).

    Bounded by the pool: producers wait for room. Each channel has one producing thread, and is read by one
    view.

    Args:
        subpartitions: how many channels; their number never changes.
        pool: the budget of all of them. Closed with the partition.
    """

    def __init__(self, subpartitions: int, pool: BufferPool) -> None:
        self.pool = pool
        self._pipelined: tuple[PipelinedSubpartition[T], ...] = tuple(
            PipelinedSubpartition() for _ in range(subpartitions)
        )

    def __len__(self) -> int:
        return len(self._pipelined)

    def add(
        self, index: int, payload: T, size_bytes: int, cancelled: Callable[[], bool] = lambda: False
    ) -> bool:
        """Put a buffer into a subpartition, waiting for room. Not after `finish_subpartition`.

        Args:
            index: of the subpartition.
            payload: the element.
            size_bytes: of the payload.
            cancelled: ends the waiting; see `BufferPool.request`.

        Returns:
            False if it was not put there: cancelled, or released, which closes the pool.
        """
        if not self.pool.request(size_bytes, cancelled):
            return False
        self._pipelined[index].add(PartitionBuffer(payload, size_bytes, self.pool))
        return True

    def add_event(self, index: int, event: PartitionEvent) -> None:
        """Put an event into a subpartition. Never waits."""
        self._pipelined[index].add(event)

    def finish_subpartition(self, index: int) -> None:
        """All is produced in one subpartition. Once."""
        self._pipelined[index].finish()

    def overtake(self, index: int, barrier: CheckpointBarrier) -> tuple[Element[T], ...]:
        """Put a barrier before everything in a subpartition; see `PipelinedSubpartition.overtake`."""
        return self._pipelined[index].overtake(barrier)

    def create_view(self, index: int, on_available: Listener) -> PipelinedSubpartitionView[T]:
        """Return the one view of a subpartition; see `PipelinedSubpartition.create_view`."""
        return self._pipelined[index].create_view(on_available)

    def release(self) -> None:
        """Give up everything, also while others still produce or read. Idempotent; any thread."""
        # The pool first: a producer that waits for room goes on, without any.
        self.pool.close()
        for subpartition in self._pipelined:
            subpartition.release()


class PipelinedSubpartition(Generic[T]):
    """One channel (Flink's ``PipelinedSubpartition``): read by one view, which hears of new elements.

    A barrier that is read blocks the queue for good. Elements behind it belong to the next epoch, and a
    task lives for one epoch. Behind a barrier that overtook lie the elements that are stored with the state.

    Attributes:
        backlog: how many buffers, events not counted, are waiting to be read.
    """

    def __init__(self) -> None:
        self._elements: deque[Element[T]] = deque()
        # Guards all that follows. Listeners are called outside of it: they take locks of their own.
        self._lock = threading.Lock()
        self._on_available: Listener | None = None
        self.backlog = 0
        self._is_blocked = False

    def add(self, element: Element[T]) -> None:
        """Append. Not after `finish`. An element that is added during a release is lost with the rest."""
        with self._lock:
            self._elements.append(element)
            self.backlog += isinstance(element, PartitionBuffer)
            # Only the first element of an empty queue is news: the reader empties the queue before it waits.
            # Of a blocked queue nothing can be read.
            is_news = len(self._elements) == 1 and not self._is_blocked
            listener = self._on_available if is_news else None
        if listener is not None:
            listener()

    def overtake(self, barrier: CheckpointBarrier) -> tuple[Element[T], ...]:
        """Put a barrier before everything else, and return the elements that it overtook, in order."""
        # One step under the lock: an element that a producer adds now is either overtaken, or comes later
        # and belongs to the next epoch.
        with self._lock:
            overtaken = tuple(self._elements)
            self._elements.appendleft(barrier)
            listener = self._on_available
        if listener is not None:
            listener()
        return overtaken

    def finish(self) -> None:
        """Append the end. Once; nothing is added afterwards."""
        self.add(EndOfPartition())

    def create_view(self, on_available: Listener) -> PipelinedSubpartitionView[T]:
        """Return the one view. Not after `release`.

        Args:
            on_available: called, on any thread, when there is something to read after there was nothing, and
                when the subpartition is released.
        """
        with self._lock:
            self._on_available = on_available
            has_data = bool(self._elements)
        # What was added before there was a view has not been announced to it.
        if has_data:
            on_available()
        return PipelinedSubpartitionView(self)

    def release(self) -> None:
        """Give up everything: buffers are recycled, the view ends. Idempotent; any thread."""
        with self._lock:
            dropped = self._elements
            self._elements = deque()
            self.backlog = 0
            listener = self._on_available
        for element in dropped:
            if isinstance(element, PartitionBuffer):
                element.recycle()
        if listener is not None and dropped:
            listener()

    def poll(self) -> Element[T] | None:
        """Take the next element. For the view."""
        with self._lock:
            if self._is_blocked or not self._elements:
                return None
            element = self._elements.popleft()
            self.backlog -= isinstance(element, PartitionBuffer)
            self._is_blocked = isinstance(element, CheckpointBarrier)
            return element


class PipelinedSubpartitionView(Generic[T]):
    """The one reader of a pipelined subpartition. Used by one thread."""

    def __init__(self, subpartition: PipelinedSubpartition[T]) -> None:
        self._subpartition = subpartition
        self._is_released = False

    def next(self) -> Element[T] | None:
        """Return the next buffer or event, None if there is none now.

        Never waits for a producer. After a release it always returns None. The caller recycles each buffer
        when it is done with it. The last element of a finished subpartition is an `EndOfPartition`.
        """
        return None if self._is_released else self._subpartition.poll()

    def release(self) -> None:
        """Stop reading. Does not release the subpartition. Idempotent."""
        self._is_released = True
