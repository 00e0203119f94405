"""When the barrier is due: limits on fetched records, and turns that have begun."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable

from headwater.core.clock import Clock
from headwater.core.epoch import Barrier
from headwater.core.split import SplitPath


class BarrierTrigger:
    """Counts the records of all fetchers of a task. Any thread may call any method.

    A split has its *first turn* in the epoch until its first fetch has come to something. First a limit is
    *reached*: from then on no further turn begins. The barrier is *due* when the first turns that have begun
    are over, and there was one at least. So an epoch with many splits ends in time, every epoch gets on, and
    a split whose fetch takes longer than an epoch gets its turn nevertheless.

    Attributes:
        has_limit: whether anything but the end of all splits ends the epoch.
        is_reached: whether a limit is reached.
        is_end: whether all splits are done, which was known before the barrier was in every channel.

    Args:
        barrier: the limits.
        clock: time.
        on_change: called when a limit is reached, when the barrier is due, and when a turn was given up.
            Never under the trigger's lock.
    """

    def __init__(self, barrier: Barrier, clock: Clock, on_change: Callable[[], None]) -> None:
        self._barrier = barrier
        self._clock = clock
        self._on_change = on_change
        self.has_limit = barrier != Barrier()
        # Guards the counts and sets, and makes reaching a limit and becoming due one step each, which is told
        # once. The two flags that it leads to are only ever set, so they are read without it.
        self._lock = threading.Lock()
        self._first_turns: set[SplitPath] = set()
        self._served: set[SplitPath] = set()
        self._rows = 0
        self._row_bytes = 0
        self._began_ms: int | None = None
        self._is_fired = False
        self.is_reached = False
        # Set by the task's thread before the barrier is due for it, and read by fetchers after that.
        self.is_end = False
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

    @property
    def may_begin_turn(self) -> bool:
        """Whether a split that is not at its first turn may be fetched from."""
        with self._lock:
            return self._may_begin()

    def begin_turn(self, path: SplitPath) -> bool:
        """A split is to be fetched from: the first time starts the clock of the epoch.

        Returns:
            False if it must not be: a limit is reached, and this split's first turn has not begun or is over.
        """
        with self._lock:
            if path not in self._first_turns and not self._may_begin():
                return False
            if path not in self._served:
                self._first_turns.add(path)
            if self._began_ms is None:
                self._began_ms = self._clock.monotonic_ms()
            return True

    def is_first_turn(self, path: SplitPath) -> bool:
        """Whether a split is at its first turn, which is let finish."""
        with self._lock:
            return path in self._first_turns

    def had_turn(self, path: SplitPath) -> bool:
        """Whether a split has had a turn in this epoch."""
        with self._lock:
            return path in self._served

    def fetched(self, path: SplitPath, rows: int, row_bytes: int) -> None:
        """Count the records of a fetch: they are in the channel.

        Args:
            path: of the split that has had its turn with it.
            rows: how many rows it brought.
            row_bytes: of these rows.
        """
        with self._lock:
            self._first_turns.discard(path)
            self._served.add(path)
            self._rows += rows
            self._row_bytes += row_bytes
            changed = self._update(self._is_over())
        # Outside the lock: it wakes up fetchers, which ask the trigger.
        if changed:
            self._on_change()

    def give_up(self, paths: Iterable[SplitPath]) -> None:
        """These splits are not fetched from any more, or not now. A turn that had begun was none."""
        with self._lock:
            self._first_turns.difference_update(paths)
            self._update(is_over=False)
        # Always: a fetcher may wait for the outcome of these turns before it begins one.
        self._on_change()

    def end(self) -> None:
        """All splits are done: nothing is cut, the channels end."""
        if self.is_end:
            return
        self.is_end = True
        self.fire()

    def fire(self) -> None:
        """Reach the limits now, for a reason of the caller's."""
        with self._lock:
            self._is_fired = True
            changed = self._update(is_over=True)
        if changed:
            self._on_change()

    def check_time(self) -> None:
        """Look at the clock: has the duration passed since the last fetch was counted?"""
        # Called for every record. Rows and bytes are looked at when they are counted.
        if self._barrier.duration_ms is None or self.is_reached:
            return
        with self._lock:
            changed = self._update(self._is_over())
        if changed:
            self._on_change()

    def left_ms(self) -> int | None:
        """Return the time until the duration is over.

        None if there is no such limit, it is over, or nothing was fetched yet.
        """
        if self._barrier.duration_ms is None or self._began_ms is None or self.is_reached:
            return None
        return max(0, self._began_ms + self._barrier.duration_ms - self._clock.monotonic_ms())

    def _may_begin(self) -> bool:
        # An epoch without a turn would leave everything as it was, and so would every epoch after it.
        return not self.is_reached or not (self._served or self._first_turns or self._is_fired)

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
        flags = (self.is_reached, self.is_due)
        self.is_reached |= is_over
        had_turns = not self._first_turns and (bool(self._served) or self._is_fired)
        if self.is_reached and had_turns and self._triggered_ms is None:
            self._triggered_ms = self._clock.monotonic_ms()
        return flags != (self.is_reached, self.is_due)
