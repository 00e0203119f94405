"""Time as an argument: what waits is given a clock, so that its tests need not wait."""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod


class Clock(ABC):
    """Monotonic time, and waiting. Any thread may call any method."""

    @abstractmethod
    def monotonic_ms(self) -> int:
        """Return milliseconds since some fixed moment. Never goes back; says nothing of the calendar."""

    @abstractmethod
    def wait(self, event: threading.Event, timeout_ms: int) -> bool:
        """Block until ``event`` is set or ``timeout_ms`` passed; return whether it is set."""


class SystemClock(Clock):
    """The machine's own monotonic clock."""

    def monotonic_ms(self) -> int:
        return time.monotonic_ns() // 1_000_000

    def wait(self, event: threading.Event, timeout_ms: int) -> bool:
        return event.wait(timeout_ms / 1000)


class ManualClock(Clock):
    """A clock for tests: it moves when it is told to, and by the time for which it is asked to wait."""

    def __init__(self, now_ms: int = 0) -> None:
        self._now_ms = now_ms

    def monotonic_ms(self) -> int:
        return self._now_ms

    def advance(self, by_ms: int) -> None:
        """Let so much time pass."""
        self._now_ms += by_ms

    def wait(self, event: threading.Event, timeout_ms: int) -> bool:
        if not event.is_set():
            self._now_ms += timeout_ms
        return event.is_set()
