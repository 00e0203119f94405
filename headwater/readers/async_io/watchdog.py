"""Names the function that keeps the event loop from turning."""

from __future__ import annotations

import logging
import time
import traceback
from collections.abc import Callable
from pathlib import Path

from headwater.readers.async_io.event_loop import LoopHost
from headwater.readers.async_io.metrics import Metrics

__all__ = ["Watchdog"]

log = logging.getLogger(__name__)
_HERE = str(Path(__file__).parent)


class Watchdog:
    """Needs no thread: whoever waits for results looks now and then whether the loop still answers.

    All methods belong to that thread.

    Args:
        name: the function's.
        host: the loop.
        patience_s: how long the loop may take to answer.
        metrics: counts how often it took longer.
        clock: real time in seconds, since a blocked loop turns no other.
    """

    def __init__(
        self,
        name: str,
        host: LoopHost,
        patience_s: float,
        metrics: Metrics,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._name, self._host, self._patience_s, self._metrics, self._clock = (
            name,
            host,
            patience_s,
            metrics,
            clock,
        )
        self._asked_at: float | None = None
        self._reported = False

    def look(self) -> None:
        """Ask the loop for a sign of life.

        Report, once for each time that it is blocked, if there has been none for too long.
        """
        if self._asked_at is None:
            self._asked_at, self._reported = self._clock(), False
            self._host.post(self._answer)
        elif not self._reported and self._clock() - self._asked_at >= self._patience_s:
            self._reported = True
            self._metrics.blocked += 1
            log.warning(
                "%s blocks the event loop: it has not turned for %.1f s, %s. No other call goes on meanwhile. Use a client with async/await, or pass "
                "a plain def function, which runs on a thread",
                self._name,
                self._clock() - self._asked_at,
                _where(self._host.stack()),
            )

    def _answer(self) -> None:
        self._asked_at = None


def _where(stack: list[traceback.FrameSummary]) -> str:
    """Return the place where the user's function is: the first frame that is called from here."""
    for caller, frame in zip(reversed(stack[:-1]), reversed(stack[1:]), strict=True):
        if caller.filename.startswith(_HERE) and not frame.filename.startswith(_HERE):
            inner = stack[-1]
            return f"in {frame.name} ({frame.filename}:{frame.lineno}), now at {inner.name} ({inner.filename}:{inner.lineno})"
    return "busy with many calls"
