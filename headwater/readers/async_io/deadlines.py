"""One timer for all timeouts. All calls have the same time, so the oldest call is the next to expire."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from headwater.readers.async_io.call import Call

__all__ = ["Deadlines"]


class Deadlines:
    """Calls by the time they have left. Owned by the loop's thread.

    Starting and stopping are a dict's insertion and deletion. The timer is not touched while calls come and
    go; when it fires it looks at the oldest.

    Args:
        loop: gives the time and the timer.
        timeout_s: what each call has. None: no call ever expires.
        expire: called with each call whose time is over, after it was taken out.
    """

    def __init__(
        self, loop: asyncio.AbstractEventLoop, timeout_s: float | None, expire: Callable[[Call], None]
    ) -> None:
        self._loop, self._timeout_s, self._expire = loop, timeout_s, expire
        self._deadlines: dict[Call, float] = {}
        self._timer: asyncio.TimerHandle | None = None

    def __len__(self) -> int:
        return len(self._deadlines)

    def start(self, call: Call, now: float) -> None:
        """Let a call's time run, unless it runs already."""
        if self._timeout_s is not None:
            deadline = self._deadlines.setdefault(call, now + self._timeout_s)
            if self._timer is None:
                self._timer = self._loop.call_at(deadline, self._tick)

    def stop(self, call: Call) -> None:
        """A call has its result."""
        self._deadlines.pop(call, None)

    def rest(self) -> None:
        """Drop the timer if nobody's time runs."""
        if not self._deadlines:
            self.close()

    def close(self) -> None:
        """Drop the timer."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _tick(self) -> None:
        self._timer = None
        now = self._loop.time()
        while self._deadlines:
            call, deadline = next(iter(self._deadlines.items()))
            if deadline > now:
                self._timer = self._timer or self._loop.call_at(deadline, self._tick)
                return
            del self._deadlines[call]
            self._expire(call)
