"""The timeouts of all calls, with one timer; and the calls that outlive theirs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable

from headwater.readers.async_io.call import Call, CallQueue

_AT_ONCE = 1000
"""The most calls that expire in one turn of the loop: other calls go on meanwhile."""


class Deadlines:
    """When each call's time is over. Owned by the loop's thread.

    All calls have the same time, so the call that started first is the next to expire: a dict in the order of
    insertion is the queue of deadlines, and starting and stopping are its insertion and deletion. The timer
    is not touched while calls come and go; when it fires, it looks at the first.

    Args:
        loop: gives the time and the timer.
        timeout_ms: the time of each call. None: no call ever expires.
        expire: called with each call whose time is over, after the call was taken out.
    """

    def __init__(
        self, loop: asyncio.AbstractEventLoop, timeout_ms: int | None, expire: Callable[[Call], None]
    ) -> None:
        self.loop = loop
        self.timeout_s = None if timeout_ms is None else timeout_ms / 1000
        self._expire = expire
        self._deadlines: dict[Call, float] = {}
        self._timer: asyncio.TimerHandle | None = None

    def start(self, call: Call) -> None:
        """Let a call's time run from now on, unless it runs already."""
        if self.timeout_s is None:
            return
        deadline = self._deadlines.setdefault(call, self.loop.time() + self.timeout_s)
        if self._timer is None:
            self._timer = self.loop.call_at(deadline, self._tick)

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
        now = self.loop.time()
        for _ in range(_AT_ONCE):
            first = next(iter(self._deadlines.items()), None)
            if first is None or first[1] > now:
                break
            # Taken out first: `expire` settles the call, which stops it again.
            del self._deadlines[first[0]]
            self._expire(first[0])
        # `expire` may have started a call's time, and with it the timer.
        self.close()
        deadline = next(iter(self._deadlines.values()), None)
        if deadline is not None:
            # If that is over too, then in the next turn of the loop.
            self._timer = self.loop.call_at(deadline, self._tick)


class StuckCalls:
    """Counts the calls that outlive their timeout, so that no row waits for ever.

    They ignore their cancellation, or run on a thread.

    Such a call fills its slot until it ends, and a row's time runs from its first attempt only. If stuck
    calls fill all slots for as long as a timeout, they may never end. Then the time of the rows that wait for
    a slot begins to run.

    Owned by the loop's thread.

    Args:
        capacity: how many slots there are.
        queue: the calls that wait for a slot.
        deadlines: where their time runs. Without a timeout no call expires, so none is ever stuck.
    """

    def __init__(self, capacity: int, queue: CallQueue, deadlines: Deadlines) -> None:
        self._capacity = capacity
        self._queue = queue
        self._deadlines = deadlines
        self._count = 0
        self._timer: asyncio.TimerHandle | None = None
        self._time_runs = False

    def add(self) -> None:
        """A call's timeout came, and the call has not ended yet."""
        self._count += 1
        if self._count == self._capacity:
            timeout_s = self._deadlines.timeout_s or 0.0
            self._timer = self._deadlines.loop.call_later(timeout_s, self._let_time_run)

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
                self._deadlines.start(call)

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
