"""How rows get into the queue.

One by one or gathered into bulk calls, what was restored before what is new.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from itertools import islice, takewhile
from typing import Any

from headwater.readers.async_io.function import Row
from headwater.readers.async_io.settings import Batching
from headwater.readers.async_io.stream_element_queue import StreamElement, StreamElementQueue, Watermark

__all__ = ["Intake"]


class Intake:
    """Owned by the thread that feeds.

    Args:
        queue: where the elements go: rows, or lists of rows if there is batching.
        batching: None: rows go one by one.
        now: the time in seconds.
        ask: told of new elements, whose calls are then made.
    """

    def __init__(
        self,
        queue: StreamElementQueue,
        batching: Batching | None,
        now: Callable[[], float],
        ask: Callable[[list[StreamElement]], None],
    ) -> None:
        self._queue, self._batching, self._now, self._ask = queue, batching, now, ask
        self._restored: deque[Any] = deque()
        self._gathered: list[Row] = []
        self._leave_at = float("inf")

    @property
    def free(self) -> int:
        """How many rows `feed` would take now."""
        return 0 if self._restored else self._room()

    @property
    def holds(self) -> bool:
        """Whether there is anything that is not in the queue yet."""
        return bool(self._gathered or self._restored)

    @property
    def leave_at(self) -> float:
        """When the rows that were gathered go off though they are few; infinite if there are none."""
        return self._leave_at if self._gathered else float("inf")

    def values(self) -> list[Any]:
        """Return what is not in the queue yet, in its order."""
        return [*self._gathered, *self._restored]

    def feed(self, rows: Sequence[Row]) -> int:
        """Take rows, as many of the first as there is room for, and return how many."""
        taken = rows[: self.free]
        self._put(taken)
        return len(taken)

    def put_watermark(self, watermark: Watermark) -> bool:
        """Take a watermark, behind all that was gathered. Returns False if there is no room."""
        return not self._restored and self._put_watermark(watermark)

    def restore(self, values: Iterable[Any]) -> None:
        """Take values that go before all that is fed later, as there is room."""
        self._restored.extend(values)
        self.refill()

    def refill(self) -> None:
        """Take what was restored and had no room."""
        while self._restored and self._take_restored():
            pass

    def flush(self) -> None:
        """Send off what was gathered, though it is little."""
        if self._gathered and (element := self._queue.try_put(self._gathered)) is not None:
            self._gathered = []
            self._ask([element])

    def flush_due(self) -> None:
        """Send off what was gathered, if its linger is over."""
        if self._gathered and self._now() >= self._leave_at:
            self.flush()

    def _room(self) -> int:
        slots = self._queue.capacity - len(self._queue)
        return slots * self._batching.size - len(self._gathered) if self._batching else slots

    def _put(self, rows: Sequence[Row]) -> None:
        if self._batching:
            self._gather(rows, self._batching)
        elif rows:
            put = self._queue.try_put
            self._ask([element for row in rows if (element := put(row)) is not None])

    def _gather(self, rows: Sequence[Row], batching: Batching) -> None:
        if not self._gathered:
            self._leave_at = self._now() + batching.linger_ms / 1000
        self._gathered.extend(rows)
        full = len(self._gathered) - len(self._gathered) % batching.size
        if full:
            starts, put = range(0, full, batching.size), self._queue.try_put
            self._ask(
                [
                    element
                    for start in starts
                    if (element := put(self._gathered[start : start + batching.size])) is not None
                ]
            )
            del self._gathered[:full]
            self._leave_at = self._now() + batching.linger_ms / 1000
        if not batching.linger_ms:
            self.flush()

    def _put_watermark(self, watermark: Watermark) -> bool:
        if self._queue.capacity - len(self._queue) <= bool(self._gathered):
            return False
        self.flush()
        return self._queue.try_put(watermark) is not None

    def _take_restored(self) -> bool:
        """Take the next watermark, or the rows up to it; return whether there was room for any."""
        restored = self._restored
        if isinstance(restored[0], Watermark):
            taken = int(self._put_watermark(restored[0]))
        else:
            rows = list(
                takewhile(lambda value: not isinstance(value, Watermark), islice(restored, self._room()))
            )
            self._put(rows)
            taken = len(rows)
        for _ in range(taken):
            restored.popleft()
        return taken > 0
