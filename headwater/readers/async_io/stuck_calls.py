"""Calls that outlive their timeout.

They ignore their cancellation, or run on a thread, and fill their slots until they end.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from headwater.readers.async_io.backlog import Backlog
from headwater.readers.async_io.call import Call
from headwater.readers.async_io.deadlines import Deadlines

__all__ = ["StuckCalls"]


class StuckCalls:
    """Counts them, so that no row waits for ever.

    A row's time runs from its first attempt. If stuck calls fill all slots for as long as a timeout they may
    never end: then the time of the rows that wait for a slot begins to run.

    Owned by the loop's thread.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        capacity: int,
        timeout_s: float | None,
        backlog: Backlog,
        deadlines: Deadlines,
    ) -> None:
        self._loop, self._capacity, self._timeout_s, self._backlog, self._deadlines = (
            loop,
            capacity,
            timeout_s or 0.0,
            backlog,
            deadlines,
        )
        self._count = 0
        self._timer: asyncio.TimerHandle | None = None
        self._time_runs = False

    def add(self) -> None:
        """A call's timeout came, and the call has not ended yet."""
        self._count += 1
        if self._count == self._capacity:
            self._timer = self._loop.call_later(self._timeout_s, self._let_time_run)

    def remove(self) -> None:
        """Such a call has ended after all."""
        self._count -= 1
        self.close()
        if self._time_runs:
            self._time_runs = False
            for call in self._backlog:
                if not call.attempts:
                    self._deadlines.stop(call)

    def accepted(self, calls: Iterable[Call]) -> None:
        """More rows wait for a slot."""
        if self._time_runs:
            for call in calls:
                self._deadlines.start(call, self._loop.time())

    def close(self) -> None:
        """Drop the timer."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _let_time_run(self) -> None:
        self._timer = None
        self._time_runs = True
        self.accepted([call for call in self._backlog if not call.settled])
