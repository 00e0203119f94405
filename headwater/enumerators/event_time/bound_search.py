"""The search for the time at which all splits end a batch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from operator import itemgetter
from typing import Final

import numpy as np

from headwater.core.clock import SystemClock
from headwater.core.redaction import logger_of
from headwater.core.split import SplitPath
from headwater.enumerators.event_time.time_index import TimeIndex, TimeSpan
from headwater.enumerators.event_time.timeline import Backlog, Offsets, TimePoint, time_for

log = logger_of(__name__)

_WANTED: Final = 0.95
"""How full a batch the search aims at: a guess that is a little off still fits."""

_ENOUGH: Final = 0.7
"""How full a batch is full enough not to ask once more."""

_MOST_ROUNDS: Final = 12

_UNKNOWN_MS: Final = 0
"""Where a search begins if nothing tells how old the backlog is."""

_FIRST_STEP_MS: Final = 3_600_000
"""How far the first guess goes where nothing tells when records were made."""

_STEPS_GROW: Final = 8
"""By how much each further step is longer."""

_SPANS_COUNT_MS: Final = 60_000
"""For how long the times of first and last records are cached."""


@dataclass(frozen=True)
class Bound:
    """Where a batch ends.

    Attributes:
        time_ms: all splits end at this time, and none later than ``time_ms + skew``.
        ends: of each split of the backlog.
        fronts_ms: of each of these splits a time before which all its records are before its end; as late a
            one as the search knows.
    """

    time_ms: int
    ends: Mapping[SplitPath, int]
    fronts_ms: Mapping[SplitPath, int]


class BoundSearch:
    """Searches bounds for one query. Belongs to the worker thread.

    It caches its results: where the last search ended, the backlog behind that, and the times of first
    and last records. After a restart it learns them again; only the time of the last bound is given.

    Args:
        index: of times.
        max_skew_ms: how far apart in time splits may end.
        now_ms: the wall-clock time in ms since 1970.
    """

    def __init__(self, index: TimeIndex, max_skew_ms: int, now_ms: Callable[[], int]) -> None:
        self._index = index
        self._max_skew_ms = max(1, max_skew_ms)
        self._now_ms = now_ms
        self._clock = SystemClock()
        self._spans: Mapping[SplitPath, TimeSpan] = {}
        self._spans_of: frozenset[SplitPath] = frozenset()
        self._spans_at_ms: int | None = None
        self._ahead: list[tuple[int, Mapping[SplitPath, int]]] = []

    def search(self, backlog: Backlog, last_ms: int | None) -> Bound:
        """Return where a batch ends that does not take the whole backlog.

        Within the limits, unless a single record of each split is more than that. Something moves.

        Args:
            backlog: more than a batch may have.
            last_ms: the last bound; None for none.
        """
        rounds = self._learn_spans(backlog)
        low, high = self._borders(backlog, last_ms)
        latest_ms = high.time_ms
        for time_ms, positions in self._ahead:
            # A split that was not asked for then would stay behind the others.
            if positions.keys() >= set(backlog.paths):
                low, high = _narrowed(low, high, _time_point(backlog, time_ms, positions))
        missed = 0
        while high.time_ms - low.time_ms > self._max_skew_ms and low.load < _ENOUGH:
            # What has been found so far is good enough then, if it is anything.
            if rounds >= _MOST_ROUNDS and low.load > 0:
                break
            guess_ms = self._step(backlog, low, high, latest_ms, missed)
            if guess_ms is None:
                guess_ms = self._guess(backlog, low, high, missed)
            point = self._asked(backlog, guess_ms)
            rounds += 1
            missed += 1
            low, high = _narrowed(low, high, point)
        self._ahead = [(time_ms, ends) for time_ms, ends in self._ahead if time_ms > low.time_ms]
        filled = low.ends if low.load >= _ENOUGH else _filled(backlog, low, high, self._max_skew_ms)
        log.debug("bound %s after %d rounds: %.2f of a batch", low.time_ms, rounds, backlog.load(filled))
        ends = dict(zip(backlog.paths, filled.tolist(), strict=True))
        return Bound(low.time_ms, ends, self._fronts_ms(ends, low.time_ms))

    def _fronts_ms(self, ends: Mapping[SplitPath, int], bound_ms: int) -> Mapping[SplitPath, int]:
        """Return the fronts of splits that end there: some were read beyond the bound before."""
        fronts_ms = dict.fromkeys(ends, bound_ms)
        for time_ms, positions in sorted(self._ahead, key=itemgetter(0)):
            fronts_ms.update(
                (path, time_ms) for path, end in ends.items() if path in positions and end >= positions[path]
            )
        return fronts_ms

    def _learn_spans(self, backlog: Backlog) -> int:
        """Learn the times of first and last records, if that is due; return the rounds that it took."""
        now_ms = self._clock.monotonic_ms()
        has_spans = self._spans_of.issuperset(backlog.paths)
        if has_spans and self._spans_at_ms is not None and now_ms - self._spans_at_ms < _SPANS_COUNT_MS:
            return 0
        self._spans = self._index.spans(backlog.paths)
        self._spans_of = frozenset(backlog.paths)
        self._spans_at_ms = now_ms
        return 1 if self._spans else 0

    def _borders(self, backlog: Backlog, last_ms: int | None) -> tuple[TimePoint, TimePoint]:
        """Return the knots between which the bound lies: nothing is read, and everything is."""
        firsts = [self._spans[path].first_ms for path in backlog.paths if path in self._spans]
        lasts = [self._spans[path].last_ms for path in backlog.paths if path in self._spans]
        all_known = len(lasts) == len(backlog.paths)
        # Records in the future end no batch: what lies behind one waits until the rest is read.
        latest_ms = min(max(lasts), self._now_ms()) + 1 if all_known else self._now_ms() + 1
        earliest_ms = last_ms if last_ms is not None else min(firsts, default=_UNKNOWN_MS)
        earliest_ms = min(earliest_ms, latest_ms - 1)
        return (
            TimePoint(earliest_ms, backlog.starts, 0.0),
            TimePoint(latest_ms, backlog.ends, backlog.load(backlog.ends)),
        )

    def _step(
        self, backlog: Backlog, low: TimePoint, high: TimePoint, latest_ms: int, missed: int
    ) -> int | None:
        """Return the next guess where nothing tells when records were made; None where something does.

        Between a border and now there may be years without a record: steps that grow find the records sooner
        than halves do.
        """
        if all(path in self._spans for path in backlog.paths):
            return None
        step_ms: int = _FIRST_STEP_MS * _STEPS_GROW**missed
        if low.time_ms == _UNKNOWN_MS:
            return max(high.time_ms - step_ms, low.time_ms + 1)
        if high.time_ms == latest_ms:
            return min(low.time_ms + step_ms, high.time_ms - 1)
        return None

    def _guess(self, backlog: Backlog, low: TimePoint, high: TimePoint, missed: int) -> int:
        # Where records lie unevenly, a guess from their mean creeps towards the border: every third is the
        # middle.
        if missed % 3 == 2 or missed >= _MOST_ROUNDS:
            return (low.time_ms + high.time_ms) // 2
        return time_for(backlog, low, high, _WANTED, self._spans)

    def _asked(self, backlog: Backlog, time_ms: int) -> TimePoint:
        firsts = self._index.first_at(backlog.paths, time_ms)
        # A split without such a record ends where it ends now. What comes there later may be of that time.
        positions = {
            path: firsts.get(path, end)
            for path, end in zip(backlog.paths, backlog.ends.tolist(), strict=True)
        }
        self._ahead.append((time_ms, positions))
        return _time_point(backlog, time_ms, positions)


def _time_point(backlog: Backlog, time_ms: int, positions: Mapping[SplitPath, int]) -> TimePoint:
    """Return the positions of a time in this backlog."""
    ends = np.array([positions[path] for path in backlog.paths], dtype=np.int64)
    ends = np.clip(ends, backlog.starts, backlog.ends)
    return TimePoint(time_ms, ends, backlog.load(ends))


def _narrowed(low: TimePoint, high: TimePoint, point: TimePoint) -> tuple[TimePoint, TimePoint]:
    if not low.time_ms < point.time_ms < high.time_ms:
        return low, high
    return (point, high) if point.load <= 1 else (low, point)


def _filled(backlog: Backlog, low: TimePoint, high: TimePoint, max_skew_ms: int) -> Offsets:
    """Return ends between two knots that fill a batch: of each split the same share.

    No farther apart than the skew: not if the search has ended early.
    """
    if high.time_ms - low.time_ms > max_skew_ms:
        return low.ends
    share = min(1.0, max(0.0, (1 - low.load) / max(high.load - low.load, 1e-9)))
    ends: Offsets = low.ends + np.floor((high.ends - low.ends) * share).astype(np.int64)
    if (ends > backlog.starts).any():
        return ends
    # Each share is less than a record: one of each split that has one.
    one_each: Offsets = np.minimum(low.ends + 1, high.ends)
    return one_each
