"""When the barrier is due: limits on what is fetched, and a turn for every split."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable

from headwater.core.clock import Clock
from headwater.core.epoch import Barrier
from headwater.core.split import Path

__all__ = ["BarrierTrigger"]


class BarrierTrigger:
    """Counts what all fetchers of a task fetch. Any thread may call any method.

    Once a limit is *reached*, no split is fetched from that has been already; the barrier is *due* when every
    split that was ready had its turn. So a split whose first fetch takes long cannot starve, however small
    the limits are.

    Args:
        barrier: the limits.
        ready: the splits that the task was given.
        clock: time.
        on_change: called when a limit is reached, and when the barrier is due, each once; not under a lock.
    """

    def __init__(
        self, barrier: Barrier, ready: Iterable[Path], clock: Clock, on_change: Callable[[], None]
    ) -> None:
        self._barrier, self._clock, self._on_change = barrier, clock, on_change
        self._lock = threading.Lock()
        self._unserved = set(ready)
        self._rows = self._row_bytes = 0
        self._began_ms: int | None = None
        self._is_reached = False
        self._triggered_ms: int | None = None

    @property
    def is_reached(self) -> bool:
        """Whether a limit is reached."""
        return self._is_reached

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
        if self._began_ms is None:
            self._began_ms = self._clock.monotonic_ms()

    def fetched(self, served: Iterable[Path], rows: int, row_bytes: int) -> None:
        """A fetch has returned.

        Args:
            served: the splits that had their turn: all that it could have brought something of, if it brought
                nothing.
            rows: how many it brought.
            row_bytes: how large they are.
        """
        with self._lock:
            self._unserved.difference_update(served)
            self._rows += rows
            self._row_bytes += row_bytes
            changed = self._update(self._is_over())
        if changed:
            self._on_change()

    def fire(self) -> None:
        """Reach the limits now, for a reason of the caller's."""
        with self._lock:
            changed = self._update(reached=True)
        if changed:
            self._on_change()

    def check_time(self) -> None:
        """Look at the clock."""
        self.fetched((), 0, 0)

    def left_ms(self) -> int | None:
        """Return the time until the duration is over.

        None if there is no such limit, it is over, or nothing was fetched yet.
        """
        if self._barrier.duration_ms is None or self._began_ms is None or self._is_reached:
            return None
        return max(0, self._began_ms + self._barrier.duration_ms - self._clock.monotonic_ms())

    def unserved(self, among: Iterable[Path]) -> set[Path]:
        """Return those that have not had their turn."""
        with self._lock:
            return self._unserved.intersection(among)

    def _is_over(self) -> bool:
        barrier, began_ms = self._barrier, self._began_ms
        return (
            (barrier.rows is not None and self._rows >= barrier.rows)
            or (barrier.row_bytes is not None and self._row_bytes >= barrier.row_bytes)
            or (
                barrier.duration_ms is not None
                and began_ms is not None
                and self._clock.monotonic_ms() >= began_ms + barrier.duration_ms
            )
        )

    def _update(self, reached: bool) -> bool:
        """Return whether something changed."""
        was = self._is_reached, self.is_due
        self._is_reached |= reached
        if self._is_reached and not self._unserved and self._triggered_ms is None:
            self._triggered_ms = self._clock.monotonic_ms()
        return was != (self._is_reached, self.is_due)
