"""How rows get into the queue: one by one or gathered for bulk calls, restored rows before new ones."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Sequence
from itertools import islice, takewhile
from typing import Any

from headwater.readers.async_io.function import InputRow
from headwater.readers.async_io.settings import Batching
from headwater.readers.async_io.stream_element_queue import StreamElement, StreamElementQueue, Watermark


class Intake:
    """The way into the queue. Owned by the task's thread.

    Three places follow each other: the queue; behind it the rows that are gathered for the next bulk call;
    behind them restored rows that found no room yet. Nothing new is fed while anything restored waits, so
    the order of the inputs is kept.

    Args:
        queue: where the elements go: rows, or lists of rows if there is batching.
        batching: None: rows go one by one.
        now: the time in seconds.
        submit: takes new elements, whose calls are then made.
    """

    def __init__(
        self,
        queue: StreamElementQueue,
        batching: Batching | None,
        now: Callable[[], float],
        submit: Callable[[list[StreamElement]], None],
    ) -> None:
        self._queue = queue
        self._batching = batching
        self._now = now
        self._submit = submit
        self._restored: deque[Any] = deque()
        self._gathered: list[InputRow] = []
        self._leave_at = math.inf

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
        """When the rows that were gathered are sent off though they are few; infinite if there are none."""
        return self._leave_at if self._gathered else math.inf

    def values(self) -> list[Any]:
        """Return the rows and watermarks that are not in the queue yet, in order."""
        return [*self._gathered, *self._restored]

    def feed(self, rows: Sequence[InputRow]) -> int:
        """Take rows, as many of the first as there is room for, and return how many."""
        batch = rows[: self.free]
        self._put(batch)
        return len(batch)

    def put_watermark(self, watermark: Watermark) -> bool:
        """Take a watermark, behind all that was gathered. Returns False if there is no room."""
        return not self._restored and self._put_watermark(watermark)

    def restore(self, values: Sequence[Any]) -> None:
        """Take rows and watermarks that go before all that is fed later, as there is room."""
        self._restored.extend(values)
        self.refill()

    def refill(self) -> None:
        """Put restored rows that had no room into the queue."""
        while self._restored and self._put_restored():
            pass

    def flush(self) -> None:
        """Send off the gathered rows, though they are few."""
        if not self._gathered:
            return
        element = self._queue.try_put(self._gathered)
        if element is not None:
            self._gathered = []
            self._submit([element])

    def flush_due(self) -> None:
        """Send off the gathered rows, if their linger is over."""
        if self._gathered and self._now() >= self._leave_at:
            self.flush()

    def _room(self) -> int:
        slots = self._queue.capacity - len(self._queue)
        if self._batching is None:
            return slots
        return slots * self._batching.size - len(self._gathered)

    def _put(self, rows: Sequence[InputRow]) -> None:
        """Take rows for which there is room."""
        if self._batching:
            self._gather(rows, self._batching)
        elif rows:
            self._enqueue(rows)

    def _gather(self, rows: Sequence[InputRow], batching: Batching) -> None:
        linger_s = batching.linger_ms / 1000
        if not self._gathered:
            self._leave_at = self._now() + linger_s
        self._gathered.extend(rows)
        full = len(self._gathered) - len(self._gathered) % batching.size
        if full > 0:
            starts = range(0, full, batching.size)
            self._enqueue([self._gathered[start : start + batching.size] for start in starts])
            del self._gathered[:full]
            self._leave_at = self._now() + linger_s
        if batching.linger_ms == 0:
            self.flush()

    def _enqueue(self, values: Sequence[Any]) -> None:
        """Put values into the queue, which has room for them, and have them asked about."""
        self._submit(self._queue.put_rows(values))

    def _put_watermark(self, watermark: Watermark) -> bool:
        needed = 2 if self._gathered else 1
        if self._queue.capacity - len(self._queue) < needed:
            return False
        # The rows before it go before it, though they are few.
        self.flush()
        return self._queue.try_put(watermark) is not None

    def _put_restored(self) -> bool:
        """Put the next watermark, or the rows up to it, as many as there is room for; return whether any."""
        restored = self._restored
        if isinstance(restored[0], Watermark):
            if not self._put_watermark(restored[0]):
                return False
            restored.popleft()
            return True
        rows = list(takewhile(lambda value: not isinstance(value, Watermark), islice(restored, self._room())))
        self._put(rows)
        for _ in rows:
            restored.popleft()
        return len(rows) > 0
