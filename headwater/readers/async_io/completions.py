"""Results on their way from the loop's thread to the task's thread, which emits them."""

from __future__ import annotations

import threading
from collections import deque
from typing import Any

from headwater.readers.async_io.event_loop import LoopHost
from headwater.readers.async_io.stream_element_queue import StreamElement

_NEVER = 1 << 62


class Completions:
    """A queue between two threads that wakes its reader once for many results.

    `put` and `fail` are called on the loop's thread, `wait` and `take` on the task's. There is no lock: a
    deque's ``append`` and ``popleft`` are atomic, and the order of the steps in `put` and `wait` makes sure
    that no wake-up is lost. At worst the reader wakes once too often.
    """

    def __init__(self) -> None:
        self._done: deque[tuple[StreamElement, Any]] = deque()
        self._event = threading.Event()
        self._wanted = _NEVER
        self.failure: BaseException | None = None

    def put(self, element: StreamElement, result: Any) -> None:
        """Hand over a result."""
        # Append first, then read `_wanted`: see `wait`.
        self._done.append((element, result))
        if len(self._done) >= self._wanted:
            self._wanted = _NEVER  # the reader is woken once, not by each further result
            self._event.set()

    def fail(self, error: BaseException) -> None:
        """Hand over an error that fails the task; the first one counts. Wakes the reader at once."""
        if self.failure is None:
            self.failure = error
        self._event.set()

    def wait(self, at_least: int, timeout_s: float, host: LoopHost) -> None:
        """Block until there are ``at_least`` results, or a failure, or the time is over."""
        # The order counts. Clear, set `_wanted`, then look: a result or failure that came before the
        # event was cleared is seen here, and one that comes after sets the event.
        self._event.clear()
        self._wanted = at_least
        if len(self._done) < at_least and self.failure is None:
            host.wait(self._event, timeout_s)
        self._wanted = _NEVER

    def take(self) -> list[tuple[StreamElement, Any]]:
        """Return the results that are there, without waiting."""
        results = self._done
        # As many as there are now: later ones are for the next time.
        return [results.popleft() for _ in range(len(results))]
