"""Flink's ``StreamElementQueue``: elements that have not come out, and their order."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from headwater.readers.async_io.function import InputRow, Result


@dataclass(frozen=True, slots=True)
class Watermark:
    """A border in the stream: nothing passes it, and it passes nothing.

    Attributes:
        timestamp: the event time that is complete here, or any other number that tells segments apart.
    """

    timestamp: int


Output: TypeAlias = tuple[InputRow, Result] | Watermark
"""A row that went in, with its result; or a watermark that went in."""


@dataclass(slots=True, eq=False)
class StreamElement:
    """One place in a queue: a value, and later its result. Made by `StreamElementQueue.try_put`.

    Attributes:
        value: a row (or a list of rows that are asked together), or a `Watermark`.
        result: once `done`.
        done: whether it may leave as soon as its order allows. Watermarks are done from the start.
        segment: where it waits among others; None in an ordered queue.
    """

    value: Any
    segment: _Segment | None = None
    result: Any = None
    done: bool = False


class StreamElementQueue(ABC):
    """Bounded: it refuses elements without room, and never blocks. Owned by the task's thread.

    Args:
        capacity: elements at most, watermarks included.
    """

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def try_put(self, value: Any) -> StreamElement | None:
        """Append a row or a `Watermark`; return its place, or None if the queue is full."""
        if self._size >= self.capacity:
            return None
        self._size += 1
        return self._put(value)

    def put_rows(self, rows: Sequence[Any]) -> list[StreamElement]:
        """Append rows, for which there is room; return their places. As `try_put` of each, and quicker."""
        self._size += len(rows)
        return self._put_rows(rows)

    def complete(self, results: Iterable[tuple[StreamElement, Any]]) -> int:
        """Store results, each with its element, and return how many elements are complete by them.

        A result changes nothing if its element was complete already: the first completion wins.
        """
        completed = 0
        for element, result in results:
            if not element.done:
                element.result = result
                element.done = True
                completed += 1
                if element.segment is not None:
                    element.segment.completed.append(element)
        return completed

    @abstractmethod
    def pop_completed(self) -> list[StreamElement]:
        """Remove and return all elements that are done and whose turn it is, in their order."""

    @abstractmethod
    def elements(self) -> list[StreamElement]:
        """Return every element that has not come out, done or not, in the order in which they went in."""

    @abstractmethod
    def _put(self, value: Any) -> StreamElement: ...

    @abstractmethod
    def _put_rows(self, rows: Sequence[Any]) -> list[StreamElement]: ...


class OrderedStreamElementQueue(StreamElementQueue):
    """First in, first out."""

    def __init__(self, capacity: int) -> None:
        super().__init__(capacity)
        self._elements: deque[StreamElement] = deque()

    def pop_completed(self) -> list[StreamElement]:
        elements = self._elements
        due: list[StreamElement] = []
        while elements and elements[0].done:
            due.append(elements.popleft())
        self._size -= len(due)
        return due

    def elements(self) -> list[StreamElement]:
        return list(self._elements)

    def _put(self, value: Any) -> StreamElement:
        element = StreamElement(value, done=isinstance(value, Watermark))
        self._elements.append(element)
        return element

    def _put_rows(self, rows: Sequence[Any]) -> list[StreamElement]:
        elements = [StreamElement(row) for row in rows]
        self._elements.extend(elements)
        return elements


@dataclass(slots=True, eq=False)
class _Segment:
    """The rows between two watermarks, or one watermark."""

    elements: dict[StreamElement, None] = field(default_factory=dict)
    completed: list[StreamElement] = field(default_factory=list)


class UnorderedStreamElementQueue(StreamElementQueue):
    """As completed, segment by segment: rows leave the first segment only, and in any order.

    A watermark has a segment of its own, so nothing passes it. Without watermarks there is one segment.
    """

    def __init__(self, capacity: int) -> None:
        super().__init__(capacity)
        self._segments: deque[_Segment] = deque([_Segment()])

    def pop_completed(self) -> list[StreamElement]:
        due: list[StreamElement] = []
        while self._pop_segment(due):
            self._segments.popleft()
        self._size -= len(due)
        return due

    def elements(self) -> list[StreamElement]:
        return [element for segment in self._segments for element in segment.elements]

    def _pop_segment(self, due: list[StreamElement]) -> bool:
        """Move completed elements of the first segment to ``due``; return whether the next one follows."""
        head = self._segments[0]
        due += head.completed
        if len(head.completed) == len(head.elements):
            head.elements.clear()
        else:
            for element in head.completed:
                del head.elements[element]
        head.completed = []
        return not head.elements and len(self._segments) > 1

    def _put(self, value: Any) -> StreamElement:
        is_watermark = isinstance(value, Watermark)
        if is_watermark and self._segments[-1].elements:
            self._segments.append(_Segment())
        tail = self._segments[-1]
        element = StreamElement(value, tail)
        tail.elements[element] = None
        if is_watermark:
            self.complete([(element, None)])
            self._segments.append(_Segment())
        return element

    def _put_rows(self, rows: Sequence[Any]) -> list[StreamElement]:
        tail = self._segments[-1]
        elements = [StreamElement(row, tail) for row in rows]
        tail.elements.update(dict.fromkeys(elements))
        return elements


def outputs(elements: Iterable[StreamElement]) -> list[Output]:
    """Return the outputs of elements that are a row each."""
    return [
        element.value if type(element.value) is Watermark else (element.value, element.result)
        for element in elements
    ]


def answered(outputs: Sequence[Output]) -> list[tuple[InputRow, Result]]:
    """Return rows with their results, without the watermarks among them."""
    return [output for output in outputs if not isinstance(output, Watermark)]


def bulk_outputs(elements: Iterable[StreamElement]) -> list[Output]:
    """Return the outputs of elements that are a list of rows each, with a list of results."""
    rows: list[Output] = []
    for element in elements:
        if isinstance(element.value, Watermark):
            rows.append(element.value)
        else:
            rows.extend(zip(element.value, element.result, strict=True))
    return rows


def bulk_values(elements: Iterable[StreamElement]) -> list[Any]:
    """Return the rows and watermarks of elements that are a list of rows each."""
    rows: list[Any] = []
    for element in elements:
        rows += [element.value] if isinstance(element.value, Watermark) else element.value
    return rows
