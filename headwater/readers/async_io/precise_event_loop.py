"""An event loop whose timers are right to the microsecond.

Epoll counts in whole milliseconds, and Python rounds up: a timer of the usual loop is late by up to 1 ms,
which is a tenth of a call of 10 ms.
"""

from __future__ import annotations

import asyncio
import select
import selectors
import sys

_SHORT_S = 0.1
_SELECT_LIMIT = 1024  # file descriptors that select(2) can watch


def precise_event_loop() -> asyncio.AbstractEventLoop:
    """Return a new loop whose short waits end when they should.

    On systems without epoll it is the usual loop, which is precise there.
    """
    if sys.platform == "linux":
        return asyncio.SelectorEventLoop(_PreciseEpollSelector())
    return asyncio.new_event_loop()


if sys.platform == "linux":

    class _PreciseEpollSelector(selectors.EpollSelector):
        """Waits for its own epoll descriptor with ``select``, then asks epoll what happened.

        Unlike epoll, ``select`` takes microseconds.
        """

        def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
            if timeout is not None and 0 < timeout < _SHORT_S and self.fileno() < _SELECT_LIMIT:
                select.select([self.fileno()], [], [], timeout)
                timeout = 0
            return super().select(timeout)
