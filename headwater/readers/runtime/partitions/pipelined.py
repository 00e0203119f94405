"""In memory, first in first out, read while it is written."""

from __future__ import annotations

import threading
from collections import deque
from typing import TypeVar

from headwater.core.errors import ContractError
from headwater.readers.runtime.partitions.buffer_pool import Buffer
from headwater.readers.runtime.partitions.events import CheckpointBarrier, EndOfPartition, Event
from headwater.readers.runtime.partitions.subpartition import (
    Element,
    Listener,
    ResultSubpartition,
    ResultSubpartitionView,
)

__all__ = ["PipelinedSubpartition", "PipelinedSubpartitionView"]

T = TypeVar("T")


class PipelinedSubpartition(ResultSubpartition[T]):
    """Flink's ``PipelinedSubpartition``: one view, told when the first element comes into an empty queue.

    A barrier that is read in its place blocks the view until `PipelinedSubpartitionView.resume`: what lies
    behind belongs to the next epoch. One that overtook blocks nothing: what it overtook is still to be read,
    if anybody wants it.
    """

    def __init__(self, index: int) -> None:
        super().__init__(index)
        self._elements: deque[Element[T]] = deque()
        self._lock = threading.Lock()
        self._on_available: Listener | None = None
        self._backlog = 0
        self._is_finished = self._is_released = self._is_blocked = False
        self._overtaking: Event | None = None

    @property
    def backlog(self) -> int:
        return self._backlog

    @property
    def is_released(self) -> bool:
        return self._is_released

    def add(self, element: Element[T]) -> bool:
        with self._lock:
            accepted = not (self._is_finished or self._is_released)
            if accepted:
                self._elements.append(element)
                self._backlog += isinstance(element, Buffer)
            listener = (
                self._on_available if accepted and len(self._elements) == 1 and not self._is_blocked else None
            )
        if not accepted and isinstance(element, Buffer):
            element.recycle()
        if listener is not None:
            listener()
        return accepted

    def overtake(self, barrier: CheckpointBarrier) -> tuple[Element[T], ...]:
        """Put a barrier before everything else, and return what it overtook, in order: what is in flight.

        Everything stays where it is.
        """
        with self._lock:
            if self._is_released:
                return ()
            overtaken = tuple(self._elements)
            self._elements.appendleft(barrier)
            self._overtaking, self._is_blocked = barrier, False
            listener = self._on_available
        if listener is not None:
            listener()
        return overtaken

    def waiting(self) -> tuple[Element[T], ...]:
        """Return what has not been read, in order, and leave it there."""
        with self._lock:
            return tuple(self._elements)

    def finish(self) -> None:
        self.add(EndOfPartition())
        with self._lock:
            self._is_finished = True

    def create_view(
        self, on_available: Listener, on_released: Listener | None = None
    ) -> PipelinedSubpartitionView[T]:
        """Return the one view.

        Args:
            on_available: see `ResultSubpartition.create_view`.
            on_released: called once, when the view is released: the subpartition is consumed.

        Raises:
            ContractError: it is released, or somebody reads it already.
        """
        with self._lock:
            if self._is_released:
                raise ContractError(f"subpartition {self.index} is released and cannot be read")
            if self._on_available is not None:
                raise ContractError(
                    f"subpartition {self.index} is pipelined: it is read once, and somebody reads it already"
                )
            self._on_available = on_available
            has_data = bool(self._elements)
        if has_data:
            on_available()
        return PipelinedSubpartitionView(self, on_released)

    def release(self) -> None:
        with self._lock:
            dropped, self._elements = self._elements, deque()
            self._backlog, self._is_released, listener = 0, True, self._on_available
        for element in dropped:
            if isinstance(element, Buffer):
                element.recycle()
        if listener is not None and dropped:
            listener()

    def poll(self) -> Element[T] | None:
        """Take the next element; for the view."""
        with self._lock:
            if self._is_blocked or not self._elements:
                return None
            element = self._elements.popleft()
            self._backlog -= isinstance(element, Buffer)
            self._is_blocked = isinstance(element, CheckpointBarrier) and element is not self._overtaking
            return element

    def resume(self) -> None:
        """Read on behind a barrier; for the view."""
        with self._lock:
            was_blocked, self._is_blocked = self._is_blocked, False
            listener = self._on_available if was_blocked and self._elements else None
        if listener is not None:
            listener()


class PipelinedSubpartitionView(ResultSubpartitionView[T]):
    """The one reader of a pipelined subpartition."""

    def __init__(self, subpartition: PipelinedSubpartition[T], on_released: Listener | None) -> None:
        self._subpartition, self._on_released = subpartition, on_released
        self._is_released = False

    def next(self) -> Element[T] | None:
        return None if self._is_released else self._subpartition.poll()

    def resume(self) -> None:
        """Read on behind a barrier that blocked. Tells the listener if there is something to read."""
        self._subpartition.resume()

    def release(self) -> None:
        was_released, self._is_released = self._is_released, True
        if not was_released and self._on_released is not None:
            self._on_released()
