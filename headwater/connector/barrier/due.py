"""Which splits are due: an epoch is opened for those only, and for none if there are none."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from headwater.connector.barrier.settlement import Settlement
from headwater.core.clock import Clock
from headwater.core.split import SplitPath


class DueSplits:
    """Remembers when each split was at its end.

    * A split with more to read is due. So is one whose task was not run.
    * A split that must not be asked before some time is due then, under every trigger.
    * A split that had nothing more is due a poll interval after its epoch was opened: that the epoch then
      waited for other splits, and for the sink, delays it no further. Under AvailableNow it is not due any
      more in this run, which ends when that is true of all.

    Used by Spark's thread, and by the coordinator thread while Spark's thread waits for it: never by both at
    once.

    Args:
        poll_interval_ms: how long after the beginning of the epoch in which it was caught up a split is
            polled again.
        clock: monotonic time.
        wall_ms: wall-clock time, in which "not before" is given. It is read once for each such time: no split
            waits longer because the clock is set back meanwhile.
    """

    def __init__(self, poll_interval_ms: int, clock: Clock, wall_ms: Callable[[], int]) -> None:
        self._poll_interval_ms = poll_interval_ms
        self._clock = clock
        self._wall_ms = wall_ms
        self._poll_at_ms: dict[SplitPath, int] = {}
        # By split: "not before" by the wall clock, and the same moment by the monotonic one.
        self._not_before_ms: dict[SplitPath, tuple[int, int]] = {}
        self._run: set[SplitPath] | None = None
        self._run_over = False

    @property
    def is_over(self) -> bool:
        """Whether an AvailableNow run has come to its end because no task of its last epoch was run."""
        return self._run_over

    @property
    def is_run(self) -> bool:
        """Whether this is an AvailableNow run, in which a split at its end is not polled again."""
        return self._run is not None

    def begin_run(self) -> None:
        """An AvailableNow run begins: every split is polled once more."""
        self._run = set()
        self._run_over = False
        self._poll_at_ms.clear()

    def take_up(self, settlement: Settlement, *, opened_ms: int | None) -> None:
        """Note the results of an epoch.

        Args:
            settlement: the state after it.
            opened_ms: when this process opened the epoch, by the monotonic clock; None if an earlier process
                did, which says nothing about now.
        """
        self._not_before_ms = {
            path: time_ms for path, time_ms in self._not_before_ms.items() if path in settlement.due_ms
        }
        if opened_ms is None:
            return
        if self._run is not None:
            self._run |= settlement.caught_up
            # A sink that does not read the rows it is given would be offered the same splits for ever.
            self._run_over = not settlement.ran
        self._poll_at_ms.update(dict.fromkeys(settlement.caught_up, opened_ms + self._poll_interval_ms))

    def due(self, live: Iterable[SplitPath], settlement: Settlement | None) -> list[SplitPath]:
        """Return the splits that an epoch opened now would read, in the order of their turns.

        One that becomes due is queued behind those with more to read after the last epoch.
        """
        if self._run_over:
            return []
        waiting = settlement.due_ms if settlement else {}
        ready = {
            path
            for path in live
            if self._polled_again(path) and (path not in waiting or not self._left_ms(path, waiting[path]))
        }
        in_turn = [path for path in (settlement.turns if settlement else ()) if path in ready]
        return in_turn + sorted(ready.difference(in_turn))

    def wait_ms(self, live: Iterable[SplitPath], settlement: Settlement | None) -> int | None:
        """Return how long an AvailableNow run has to wait until a split is due.

        None if there is nothing to wait for.
        """
        if self._run is None or self._run_over or settlement is None:
            return None
        waits_ms = [
            self._left_ms(path, settlement.due_ms[path])
            for path in live
            if path in settlement.due_ms and path not in self._run
        ]
        return max(1, min(waits_ms)) if waits_ms else None

    def _left_ms(self, path: SplitPath, due_ms: int) -> int:
        """Return for how long a split must not be asked; 0 if it may be.

        Args:
            path: of the split.
            due_ms: when it may be, by the wall clock.
        """
        now_ms = self._clock.monotonic_ms()
        known_ms, until_ms = self._not_before_ms.get(path, (None, 0))
        if known_ms != due_ms:
            until_ms = now_ms + due_ms - self._wall_ms()
            self._not_before_ms[path] = (due_ms, until_ms)
        return max(0, until_ms - now_ms)

    def _polled_again(self, path: SplitPath) -> bool:
        if self._run is not None:
            return path not in self._run
        return self._poll_at_ms.get(path, 0) <= self._clock.monotonic_ms()
