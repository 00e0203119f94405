"""The watchdog: names the function that blocks the event loop."""

from __future__ import annotations

import asyncio
import time
import traceback
from pathlib import Path

from headwater.core.redaction import logger_of
from headwater.readers.async_io.event_loop import LoopHost
from headwater.readers.async_io.metrics import Metrics
from headwater.readers.async_io.settings import AsyncSettings

log = logger_of(__name__)
_HERE = str(Path(__file__).parent)
_OURS = (_HERE, str(Path(asyncio.__file__).parent))


class Watchdog:
    """Looks now and then whether the loop still answers. Has no thread: the task's thread looks as it waits.

    Args:
        name: the function's.
        host: the loop.
        settings: ``block_warning_ms`` is how long the loop may take to answer.
        metrics: counts how often it took longer.
    """

    def __init__(self, name: str, host: LoopHost, settings: AsyncSettings, metrics: Metrics) -> None:
        self._name = name
        self._host = host
        self._patience_s = settings.block_warning_ms / 1000
        self._metrics = metrics
        self._asked_at: float | None = None
        self._reported = False

    def look(self) -> None:
        """Ask the loop to answer, or report that it has not answered for too long.

        Reports once for each time that the loop is blocked. On the task's thread.
        """
        # Read once: the loop's thread may answer at any moment.
        asked_at = self._asked_at
        # Real time: the loop's own may be a test's.
        now = time.monotonic()
        if asked_at is None:
            # Set before the loop is asked: else its answer could come first and be overwritten.
            self._asked_at = now
            self._reported = False
            self._host.post(self._answer)
        elif not self._reported and now - asked_at >= self._patience_s:
            self._reported = True
            where = where_blocked(self._host.stack())
            if where is None:
                # The function is not to blame: the machine, or the number of calls.
                log.info("%s: the event loop has not turned for %.1f s", self._name, now - asked_at)
                return
            self._metrics.blocked += 1
            log.warning(
                "%s blocks the event loop: it has not turned for %.1f s, %s. No other call goes on "
                "meanwhile. Use a client with async/await, or pass a plain def function, which runs on a "
                "thread",
                self._name,
                now - asked_at,
                where,
            )

    def _answer(self) -> None:
        # On the loop's thread.
        self._asked_at = None


def where_blocked(stack: list[traceback.FrameSummary]) -> str | None:
    """Return the place where the user's function is: the first frame that is called from here, or None."""
    for caller, frame in zip(reversed(stack[:-1]), reversed(stack[1:]), strict=True):
        if caller.filename.startswith(_HERE) and not frame.filename.startswith(_OURS):
            inner = stack[-1]
            return (
                f"in {frame.name} ({frame.filename}:{frame.lineno}), "
                f"now at {inner.name} ({inner.filename}:{inner.lineno})"
            )
    return None
