"""Calls that outlive their timeout: they ignore their cancellation, or run on a thread."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from headwater.readers.async_io.call import Call
from headwater.readers.async_io.call_queue import CallQueue
from headwater.readers.async_io.deadlines import Deadlines


class StuckCalls:
    """Counts the calls that outlive their timeout, so that no row waits for ever.

    Such a call fills its slot until it ends, and a row's time runs from its first attempt only. If stuck
    calls fill all slots for as long as a timeout, they may never end. Then the time of the rows that wait for
    a slot begins to run.

    Owned by the loop's thread.

    Args:
        loop: gives the time and the timer.
        capacity: how many slots there are.
        timeout_s: of a call; None: no call expires, so none is ever stuck.
        queue: the calls that wait for a slot.
        deadlines: where their time runs.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        *,
        capacity: int,
        timeout_s: float | None,
        queue: CallQueue,
        deadlines: Deadlines,
    ) -> None:
        self._loop = loop
        self._capacity = capacity
        self._timeout_s = timeout_s or 0.0
        self._queue = queue
        self._deadlines = deadlines
        self._count = 0
        self._timer: asyncio.TimerHandle | None = None
        self._time_runs = False

    def add(self) -> None:
        """A call's timeout came, and the call has not ended yet."""
        self._count += 1
        if self._count == self._capacity:
            self._timer = self._loop.call_later(self._timeout_s, self._let_time_run)

    def remove(self) -> None:
        """Such a call has ended after all: there is a free slot."""
        self._count -= 1
        self.close()
        if self._time_runs:
            self._time_runs = False
            # Back to the rule: the time of a row that was never asked does not run.
            for call in self._queue:
                if not call.attempts:
                    self._deadlines.stop(call)

    def accepted(self, calls: Iterable[Call]) -> None:
        """More rows wait for a slot."""
        if self._time_runs:
            for call in calls:
                self._deadlines.start(call, self._loop.time())

    def close(self) -> None:
        """Cancel the timer."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _let_time_run(self) -> None:
        self._timer = None
        self._time_runs = True
        # Settled calls may still be in the queue: they have no time left to run.
        self.accepted([call for call in self._queue if not call.settled])
