"""Time as an argument: code that waits takes a clock, so that its tests need not wait."""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from typing import Final


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


def wall_ms() -> int:
    """Return the wall-clock time in ms since 1970."""
    return time.time_ns() // 1_000_000


class ManualClock(Clock):
    """A clock for tests: it moves by `advance`, and by the time of each wait."""

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


_INTERVAL_MS: Final = 60_000


class RareWarning:
    """Decides when to warn of a state that lasts: at its beginning, and then once a minute. One thread.

    Args:
        clock: time.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._warned_ms: int | None = None

    def is_due(self) -> bool:
        """Return whether to warn now of the state, which lasts. If so, it was warned of."""
        now_ms = self._clock.monotonic_ms()
        if self._warned_ms is not None and now_ms - self._warned_ms < _INTERVAL_MS:
            return False
        self._warned_ms = now_ms
        return True

    def is_over(self) -> None:
        """Take note that the state has ended: its next beginning is warned of at once."""
        self._warned_ms = None
