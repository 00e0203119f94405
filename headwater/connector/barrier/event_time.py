"""The driver's half of alignment by event time: which splits wait for others, from epoch to epoch."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from headwater.connector.barrier.event_time_options import EventTimeSettings
from headwater.connector.barrier.settlement import Settlement
from headwater.core.clock import Clock
from headwater.core.redaction import logger_of
from headwater.core.split import SplitPath
from headwater.readers.runtime.epoch.event_time import OTHERS, TaskAlignment, furthest_behind

log = logger_of(__name__)

Fronts = Mapping[SplitPath, "int | None"]
"""The splits that hold others back, with the time to which they have come; None where that is not known.

`OTHERS` stands for rows in flight, with their earliest time.
"""


class EpochAlignment:
    """Knows which splits hold others back when an epoch is planned. On the coordinator thread.

    How far splits have come is in offsets and manifests. For how long a split has been silent is known here
    only: a restart waits anew.

    Args:
        settings: of the user.
        clock: monotonic time.
    """

    def __init__(self, settings: EventTimeSettings, clock: Clock) -> None:
        self._settings = settings
        self._clock = clock
        self._silent_since: dict[SplitPath, tuple[object, int]] = {}
        self._left_out: frozenset[SplitPath] = frozenset()

    def fronts(
        self, live: Mapping[SplitPath, Any], settled: Settlement | None, *, ends_are_final: bool
    ) -> dict[SplitPath, int | None]:
        """Return the splits that hold others back in the next epoch.

        Args:
            live: every live split, with its position.
            settled: the state after the last epoch; None if there was none.
            ends_are_final: whether a split at its end is not polled again: under AvailableNow.
        """
        last = None if settled is None else settled.fronts
        earlier = settled.splits.keys() if settled is not None else ()
        fronts = {
            # A split that was never read may be behind all others. So may each, where no time is known yet.
            path: None if last is None else last.get(path)
            for path in live
            if last is None or path in last or path not in earlier
        }
        timeout_ms = self._settings.idle_timeout_ms
        if settled is not None and (timeout_ms is None or ends_are_final):
            for path in settled.at_end:
                fronts.pop(path, None)
        if timeout_ms is not None:
            for path in self._silent(fronts, live, settled, timeout_ms):
                del fronts[path]
        if last is not None and OTHERS in last:
            fronts[OTHERS] = last[OTHERS]
        return fronts

    def admitted(self, due: Sequence[SplitPath], fronts: Fronts) -> list[SplitPath]:
        """Return the splits whose next rows may come in the next epoch, in their order."""
        # One look at all splits, not one for each.
        behind = furthest_behind(fronts)
        self._left_out = frozenset(path for path in due if self._is_ahead(path, fronts, behind))
        if self._left_out:
            log.info(
                "%d splits wait for others in event time, which have come to %s ms (option maxEventTimeSkew)",
                len(self._left_out),
                _least(fronts, self._left_out),
            )
        return [path for path in due if path not in self._left_out]

    def _is_ahead(
        self, path: SplitPath, fronts: Fronts, behind: Sequence[tuple[SplitPath, int | None]]
    ) -> bool:
        own_ms = fronts.get(path)
        others = [front_ms for other, front_ms in behind if other != path]
        if own_ms is None or not others:
            return False
        return others[0] is None or own_ms > others[0] + self._settings.max_skew_ms

    def _silent(
        self,
        fronts: Fronts,
        live: Mapping[SplitPath, Any],
        settled: Settlement | None,
        timeout_ms: int,
    ) -> list[SplitPath]:
        """Return the splits of which nothing has come for so long."""
        now_ms = self._clock.monotonic_ms()
        # One that waits for others is not silent.
        waiting = self._left_out.union(settled.held if settled is not None else ())
        last = self._silent_since
        self._silent_since = {}
        for path, front_ms in fronts.items():
            current = (front_ms, live[path])
            is_silent = path in last and last[path][0] == current and path not in waiting
            self._silent_since[path] = (current, last[path][1] if is_silent else now_ms)
        return [path for path, (_, since) in self._silent_since.items() if now_ms - since >= timeout_ms]


def task_alignment(
    settings: EventTimeSettings, fronts: Fronts, paths: Collection[SplitPath]
) -> TaskAlignment:
    """Return the alignment of a task.

    Args:
        settings: of the user.
        fronts: of the epoch.
        paths: the splits of the task.
    """
    own = {path: fronts[path] for path in paths if path in fronts}
    if len(own) < len(fronts):
        own[OTHERS] = _least(fronts, own)
    return TaskAlignment(
        column=settings.column,
        max_skew_ms=settings.max_skew_ms,
        awaits_ends=settings.idle_timeout_ms is not None,
        fronts=own,
    )


def _least(fronts: Fronts, without: Collection[SplitPath]) -> int | None:
    """Return the least front of the others; None if one is not known, or there is none."""
    others = [front_ms for path, front_ms in fronts.items() if path not in without]
    times = [front_ms for front_ms in others if front_ms is not None]
    return min(times) if times and len(times) == len(others) else None
