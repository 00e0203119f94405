"""When the barrier is due: limits on what is fetched, and a turn for every split."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable

from headwater.core.clock import Clock
from headwater.core.epoch import Barrier
from headwater.core.split import SplitPath


class BarrierTrigger:
    """Counts what all fetchers of a task fetch. Any thread may call any method.

    First a limit is *reached*: from then on only splits that had no turn yet are fetched from. The barrier is
    *due* when every split that was ready has had its turn. So a split whose first fetch takes long is never
    left out, however small the limits are.

    Attributes:
        is_reached: whether a limit is reached.

    Args:
        barrier: the limits.
        ready: the splits that the task was given.
        clock: time.
        on_change: called when a limit is reached, and when the barrier is due, at most once each. Never under
            the trigger's lock.
    """

    def __init__(
        self, barrier: Barrier, ready: Iterable[SplitPath], clock: Clock, on_change: Callable[[], None]
    ) -> None:
        self._barrier = barrier
        self._clock = clock
        self._on_change = on_change
        # Guards the counts, and makes reaching a limit and becoming due one step each, which is told once.
        # The two flags that it leads to are only ever set, so they are read without it.
        self._lock = threading.Lock()
        self._unserved = set(ready)
        self._rows = 0
        self._row_bytes = 0
        self._began_ms: int | None = None
        self.is_reached = False
        self._triggered_ms: int | None = None

    @property
    def is_due(self) -> bool:
        """Whether the barrier goes into the channels now."""
        return self._triggered_ms is not None

    @property
    def triggered_ms(self) -> int:
        """The monotonic time at which the barrier became due."""
        assert self._triggered_ms is not None, "the barrier is not due yet"
        return self._triggered_ms

    def begin_fetch(self) -> None:
        """A fetch begins: the first one starts the clock of the epoch."""
        # Two first fetches at once differ by less than a millisecond: no lock.
        if self._began_ms is None:
            self._began_ms = self._clock.monotonic_ms()

    def fetched(self, served: Iterable[SplitPath], rows: int, row_bytes: int) -> None:
        """What a fetch brought is in the channel.

        Args:
            served: the splits that have had their turn.
            rows: how many rows it brought.
            row_bytes: what they weigh.
        """
        with self._lock:
            self._unserved.difference_update(served)
            self._rows += rows
            self._row_bytes += row_bytes
            changed = self._update(self._is_over())
        # Outside the lock: it wakes up fetchers, which ask the trigger.
        if changed:
            self._on_change()

    def fire(self) -> None:
        """Reach the limits now, for a reason of the caller's."""
        with self._lock:
            changed = self._update(is_over=True)
        if changed:
            self._on_change()

    def check_time(self) -> None:
        """Look at the clock: has the duration passed since the last fetch was counted?"""
        # Called for every record. Rows and bytes are looked at when they are counted.
        if self._barrier.duration_ms is not None and not self.is_reached:
            self.fetched((), 0, 0)

    def left_ms(self) -> int | None:
        """Return the time until the duration is over.

        None if there is no such limit, it is over, or nothing was fetched yet.
        """
        if self._barrier.duration_ms is None or self._began_ms is None or self.is_reached:
            return None
        return max(0, self._began_ms + self._barrier.duration_ms - self._clock.monotonic_ms())

    def unserved(self, among: Iterable[SplitPath]) -> set[SplitPath]:
        """Return those of some splits that have not had their turn."""
        with self._lock:
            return self._unserved.intersection(among)

    def _is_over(self) -> bool:
        barrier = self._barrier
        if barrier.rows is not None and self._rows >= barrier.rows:
            return True
        if barrier.row_bytes is not None and self._row_bytes >= barrier.row_bytes:
            return True
        if barrier.duration_ms is None or self._began_ms is None:
            return False
        return self._clock.monotonic_ms() >= self._began_ms + barrier.duration_ms

    def _update(self, is_over: bool) -> bool:
        """Return whether something changed."""
        before = (self.is_reached, self.is_due)
        self.is_reached |= is_over
        if self.is_reached and not self._unserved and self._triggered_ms is None:
            self._triggered_ms = self._clock.monotonic_ms()
        return before != (self.is_reached, self.is_due)
