"""One timer for the timeouts of all calls."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from headwater.readers.async_io.call import Call


class Deadlines:
    """When each call's time is over. Owned by the loop's thread.

    All calls have the same time, so the call that started first is the next to expire: a dict in the order of
    insertion is the queue of deadlines, and starting and stopping are its insertion and deletion. The timer
    is not touched while calls come and go; when it fires, it looks at the first.

    Args:
        loop: gives the time and the timer.
        timeout_s: the time of each call. None: no call ever expires.
        expire: called with each call whose time is over, after the call was taken out.
    """

    def __init__(
        self, loop: asyncio.AbstractEventLoop, timeout_s: float | None, expire: Callable[[Call], None]
    ) -> None:
        self._loop = loop
        self._timeout_s = timeout_s
        self._expire = expire
        self._deadlines: dict[Call, float] = {}
        self._timer: asyncio.TimerHandle | None = None

    def start(self, call: Call, now: float) -> None:
        """Let a call's time run, unless it runs already."""
        if self._timeout_s is None:
            return
        deadline = self._deadlines.setdefault(call, now + self._timeout_s)
        if self._timer is None:
            self._timer = self._loop.call_at(deadline, self._tick)

    def stop(self, call: Call) -> None:
        """Forget a call: it has its result, or its time does not run any more."""
        self._deadlines.pop(call, None)

    def drop_idle_timer(self) -> None:
        """Cancel the timer if no call's time runs."""
        if not self._deadlines:
            self.close()

    def close(self) -> None:
        """Cancel the timer. No call expires any more until `start` is called."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _tick(self) -> None:
        self._timer = None
        now = self._loop.time()
        while self._deadlines:
            call, deadline = next(iter(self._deadlines.items()))
            if deadline > now:
                # `expire` may have started a call's time, and with it the timer.
                if self._timer is None:
                    self._timer = self._loop.call_at(deadline, self._tick)
                return
            # Taken out first: `expire` settles the call, which stops it again.
            del self._deadlines[call]
            self._expire(call)
