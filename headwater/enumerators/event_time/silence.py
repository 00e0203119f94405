"""Splits to which records are still being written: the others wait for them, if the user asks for it."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from headwater.core.clock import Clock, SystemClock
from headwater.core.split import SplitPath
from headwater.enumerators.event_time.time_index import TimeIndex


class Silence:
    """Tells which splits have been silent (Flink's ``withIdleness``). On the coordinator thread.

    Time in which the query does not run does not count: a restart waits anew.

    Args:
        timeout_ms: how long a split is waited for after its last record; None: nobody is waited for.
        clock: time.
    """

    def __init__(self, timeout_ms: int | None, clock: Clock | None = None) -> None:
        self._timeout_ms = timeout_ms
        self._clock = clock or SystemClock()
        self._moved: dict[SplitPath, tuple[int, int]] = {}

    def awaited(self, heads: Mapping[SplitPath, int]) -> Collection[SplitPath]:
        """Return the splits to which something was written within the time-out, as far as was seen."""
        if self._timeout_ms is None:
            return ()
        now_ms = self._clock.monotonic_ms()
        before = self._moved
        self._moved = {
            path: before[path] if path in before and before[path][0] == head else (head, now_ms)
            for path, head in heads.items()
        }
        return tuple(
            sorted(path for path, (_, since) in self._moved.items() if now_ms - since < self._timeout_ms)
        )

    def reached_ms(self, index: TimeIndex, awaited: Collection[SplitPath]) -> Mapping[SplitPath, int]:
        """Return the times that these splits have reached. On the worker thread.

        A split that has no record has no time, and is not waited for.
        """
        if not awaited:
            return {}
        return {path: span.last_ms for path, span in index.spans(tuple(awaited)).items()}
