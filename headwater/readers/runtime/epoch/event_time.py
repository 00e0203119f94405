"""Event time in a task: how far its splits have come, and which records wait for other splits (FLIP-217)."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, TypeGuard, cast

import pyarrow as pa
import pyarrow.compute as pc

from headwater.core.jsons import JsonObject, JsonValue
from headwater.core.split import SplitPath
from headwater.readers.runtime.batches import times_ms

OTHERS: Final[SplitPath] = ()
"""Stands for the splits of all other tasks; on the driver for rows in flight, which belong to no split."""

_FRONTS: Final = "eventTimeFronts"
_IN_FLIGHT: Final = "eventTimeInFlight"


@dataclass(frozen=True, slots=True)
class TaskAlignment:
    """The driver's settings of event time for a task. The same for all attempts at the task.

    Attributes:
        column: of the source's rows, which has the times.
        max_skew_ms: how far ahead of the split that is behind all others rows may be.
        awaits_ends: whether a split that has nothing more now holds the others back.
        fronts: the splits that hold others back: those of the task, each by its path, and `OTHERS` with the
            least of the others and of rows in flight; with the time to which they have come, None where that
            is not known.
    """

    column: str
    max_skew_ms: int
    awaits_ends: bool
    fronts: Mapping[SplitPath, int | None]


class EventTimeSpan(NamedTuple):
    """The smallest and the largest time of some rows, in ms since 1970."""

    first_ms: int
    last_ms: int


class Frontier(NamedTuple):
    """How far a split has come when its epoch is cut.

    Attributes:
        path: of the split.
        time_ms: no earlier row is expected of it.
        is_held: whether it has a row of that time, which waits for other splits.
    """

    path: SplitPath
    time_ms: int
    is_held: bool


def time_span(batches: Iterable[pa.RecordBatch], column: str) -> EventTimeSpan | None:
    """Return the span of the times of some rows, None if none has a time."""
    spans = [_span(times_ms(batch.column(column))) for batch in batches]
    times = [span for span in spans if span is not None]
    if not times:
        return None
    return EventTimeSpan(min(span.first_ms for span in times), max(span.last_ms for span in times))


def is_fronts_event(event: JsonValue) -> TypeGuard[JsonObject]:
    """Whether a source event tells fronts. It is for the driver's half of the alignment, not for sources."""
    return isinstance(event, dict) and _FRONTS in event


def fronts_event(fronts: Sequence[Frontier], in_flight_ms: int | None) -> JsonObject:
    """Return the source event by which a task tells its fronts.

    Args:
        fronts: of its splits.
        in_flight_ms: the earliest time of the rows that are stored with the snapshot, to come in the next
            epoch; None if there are none.
    """
    event: JsonObject = {_FRONTS: [[list(front.path), front.time_ms, front.is_held] for front in fronts]}
    if in_flight_ms is not None:
        event[_IN_FLIGHT] = in_flight_ms
    return event


def fronts_of(event: JsonObject) -> list[Frontier]:
    """Return the fronts that an event tells."""
    entries = cast("list[tuple[list[str], int, bool]]", event[_FRONTS])
    return [Frontier(tuple(path), time_ms, is_held) for path, time_ms, is_held in entries]


def in_flight_ms_of(event: JsonObject) -> int | None:
    """Return the earliest time of stored rows that an event tells."""
    return cast("int | None", event.get(_IN_FLIGHT))


class SplitAlignment:
    """Says which records of a task may be emitted now. Belongs to the task's thread.

    A split has come to the latest time that was emitted of it; one whose next record waits, to the earliest
    time of that. A record may be emitted if its latest time lies no more than the skew behind the time to
    which the split has come that is behind all others; or if no other split is behind it. So the split that
    is behind all others never waits, however long its records are.

    A split of which nothing is known holds back all others: it may be behind them.

    Attributes:
        has_moved: whether a record that waits may be admitted now; the caller sets it back.

    Args:
        alignment: the driver's settings and watermarks.
    """

    def __init__(self, alignment: TaskAlignment) -> None:
        self._alignment = alignment
        self._fronts: dict[SplitPath, int | None] = dict(alignment.fronts)
        self._held: set[SplitPath] = set()
        # Kept until a front moves: of many splits that wait each is looked at for each record.
        self._behind: list[tuple[SplitPath, int | None]] | None = None
        self.has_moved = False

    def admits(self, path: SplitPath, span: EventTimeSpan | None) -> bool:
        """Whether a record may be emitted. One without times always may."""
        if span is None:
            return True
        if self._behind is None:
            self._behind = furthest_behind(self._fronts)
        others = [front_ms for other, front_ms in self._behind if other != path]
        if not others:
            return True
        least_ms = others[0]
        if least_ms is None:
            return False
        return span.first_ms <= least_ms or span.last_ms <= least_ms + self._alignment.max_skew_ms

    def emitted(self, path: SplitPath, span: EventTimeSpan | None) -> None:
        """Note that a record was emitted."""
        self._held.discard(path)
        before_ms = self._fronts.get(path)
        if span is not None:
            self._fronts[path] = span.last_ms if before_ms is None else max(before_ms, span.last_ms)
            self._moved()

    def held(self, path: SplitPath, span: EventTimeSpan) -> None:
        """Note that the next record of a split waits."""
        self._held.add(path)
        self._fronts[path] = span.first_ms
        self._moved()

    def finished(self, path: SplitPath) -> None:
        """Note that nothing more comes of a split."""
        self._held.discard(path)
        self._fronts.pop(path, None)
        self._moved()

    def at_end(self, path: SplitPath) -> None:
        """Note that nothing more comes of a split in this epoch."""
        if not self._alignment.awaits_ends:
            self.finished(path)

    def fronts(self) -> list[Frontier]:
        """Return the frontiers of the task's splits."""
        return [
            Frontier(path, front_ms, path in self._held)
            for path, front_ms in self._fronts.items()
            if path != OTHERS and front_ms is not None
        ]

    def _moved(self) -> None:
        self._behind = None
        self.has_moved = True


def furthest_behind(fronts: Mapping[SplitPath, int | None]) -> list[tuple[SplitPath, int | None]]:
    """Return the two splits that are behind all others, with their fronts, in this order.

    They tell for every split which other one is behind it. An unknown one counts as behind all.
    """
    return heapq.nsmallest(2, fronts.items(), key=_time)


def _time(front: tuple[SplitPath, int | None]) -> float:
    return float("-inf") if front[1] is None else front[1]


def _span(in_ms: pa.Array[Any]) -> EventTimeSpan | None:
    span = cast("dict[str, int]", pc.min_max(in_ms).as_py())
    return None if span["min"] is None else EventTimeSpan(span["min"], span["max"])
