"""When a task may make its next request: its share of the rate of the query."""

from __future__ import annotations

import threading


class Pace:
    """Gives out moments. Any thread: all connections of a task share one.

    The tasks of an epoch begin one after the other, the last of them a whole interval after its start. So
    epochs that follow each other at once do not exceed the rate either. A batch read has one epoch: its first
    task begins at once.

    Args:
        requests_per_s: of the query; None for no limit.
        number: of the task.
        tasks: how many there are.
        has_epochs: whether another epoch may have ended just now.
    """

    def __init__(
        self, requests_per_s: float | None, *, number: int = 0, tasks: int = 1, has_epochs: bool = True
    ) -> None:
        self._interval_ms = 1000 * tasks / requests_per_s if requests_per_s else 0.0
        self._offset_ms = self._interval_ms * (number + has_epochs) / tasks
        self._lock = threading.Lock()
        self._next_ms: float | None = None

    def take(self, now_ms: float) -> float:
        """Return from when on the caller may make one request. Nobody else gets this moment."""
        with self._lock:
            if self._next_ms is None:
                self._next_ms = now_ms + self._offset_ms
            taken = max(now_ms, self._next_ms)
            self._next_ms = taken + self._interval_ms
            return taken
