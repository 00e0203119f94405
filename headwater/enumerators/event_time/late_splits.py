"""Splits found late, whose rows may be older than the watermark, and active splits that others wait for."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from headwater.core.clock import Clock, SystemClock
from headwater.core.split import SplitPath
from headwater.enumerators.event_time.time_index import TimeIndex

_SECOND_MS: Final = 1_000


@dataclass(frozen=True)
class LateRows:
    """Rows of a split that was found late, or is back, which are older than rows that the query has read.

    Attributes:
        path: of the split.
        start: where reading it begins.
        rows: at most so many rows.
    """

    path: SplitPath
    start: int
    rows: int


@dataclass(frozen=True)
class FoundSplits:
    """Splits that a running query has found, or found again, among those that it has read before.

    Attributes:
        starts: where reading them begins.
        heads: where all splits end.
        known: the splits that were read before.
    """

    starts: Mapping[SplitPath, int]
    heads: Mapping[SplitPath, int]
    known: Sequence[SplitPath]


def find_late(
    index: TimeIndex, discovered: FoundSplits, front_ms: int | None, *, delay_ms: int, now_ms: int
) -> list[LateRows]:
    """Return which splits have rows that a watermark drops. On the worker thread.

    Args:
        index: of times.
        discovered: the splits to look at.
        front_ms: the event time that the query has reached; None where it has read all that there was: then
            it is the latest time of that.
        delay_ms: of the watermark.
        now_ms: the wall-clock time in ms since 1970.
    """
    if not discovered.starts or not discovered.known:
        return []
    if front_ms is None:
        front_ms = _latest_ms(index, discovered.known, now_ms)
    if front_ms is None:
        return []
    firsts = index.first_at(tuple(discovered.starts), front_ms - delay_ms)
    # Where no record is young enough, all are late.
    rows = {
        path: firsts.get(path, discovered.heads[path]) - start for path, start in discovered.starts.items()
    }
    return [LateRows(path, discovered.starts[path], count) for path, count in rows.items() if count > 0]


def _latest_ms(index: TimeIndex, paths: Sequence[SplitPath], now_ms: int) -> int | None:
    """Return the latest time of all records, None if there are none.

    Where the index does not tell, it is searched for, to a second, and not beyond the present.
    """
    spans = index.spans(paths)
    if spans:
        return max(span.last_ms for span in spans.values())
    if not index.first_at(paths, 0):
        return None
    low, high = 0, now_ms + 1
    while high - low > _SECOND_MS:
        middle = (low + high) // 2
        if index.first_at(paths, middle):
            low = middle
        else:
            high = middle
    return low


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
        moved = self._moved
        self._moved = {
            path: moved[path] if path in moved and moved[path][0] == head else (head, now_ms)
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
