"""Results on their way from the loop's thread to the one that emits them.

A wake-up is for many results, not for each.
"""

from __future__ import annotations

import threading
from collections import deque
from typing import Any

from headwater.readers.async_io.event_loop import LoopHost
from headwater.readers.async_io.stream_element_queue import StreamElement

__all__ = ["Completions"]

_NEVER = 1 << 62


class Completions:
    """A deque that wakes its reader when enough is in it.

    `put` and `fail` belong to the loop's thread, the rest to the emitting one.
    """

    def __init__(self) -> None:
        self._done: deque[tuple[StreamElement, Any]] = deque()
        self._event = threading.Event()
        self._wanted = _NEVER
        self.failure: BaseException | None = None

    def put(self, element: StreamElement, result: Any) -> None:
        """Hand over a result."""
        self._done.append((element, result))
        if len(self._done) >= self._wanted:
            self._wanted = _NEVER
            self._event.set()

    def fail(self, error: BaseException) -> None:
        """Hand over what fails the task; the first failure counts.

        Wakes the reader at once, whatever it waits for.
        """
        self.failure = self.failure or error
        self._event.set()

    def wait(self, at_least: int, timeout_s: float, host: LoopHost) -> None:
        """Block until so many results are there, or a failure, or the time is over."""
        self._event.clear()
        self._wanted = at_least
        # Both were perhaps there before the event was cleared.
        if len(self._done) < at_least and self.failure is None:
            host.wait(self._event, timeout_s)
        self._wanted = _NEVER

    def take(self) -> list[tuple[StreamElement, Any]]:
        """Return what is there, without waiting."""
        done = self._done
        return [done.popleft() for _ in range(len(done))]
