"""The losses of a query: records, or whole splits, that were not there when they were to be read.

It stands in the offset, so it outlives restarts, and a batch that is planned again counts nothing twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, TypeAlias, cast

from headwater.core.jsons import JsonObject, JsonValue

MOST_RANGES: Final = 100
"""How many ranges an offset names: the last ones. The totals count all."""

LOSSES: Final = "losses"
"""Where losses stand: in an offset of planned mode, or in the state of an enumerator of barrier mode."""

FoundBy: TypeAlias = Literal["planning", "task"]
"""Who found a loss.

``planning``: the enumerator, before the batch was logged. Exact: the position has moved past the range.
``task``: a task that read the batch. At least so much: the word of a task may not arrive.
"""


@dataclass(frozen=True, slots=True)
class LostRange:
    """Consecutive records of one split that are gone.

    Attributes:
        split: the split's id (`Split.split_id`), for people.
        first: the position of the first record that is gone; None for a whole split that is not read.
        until: the position of the first record after them. The same as ``first`` where it is not known how
            many are gone.
        found: who found it.
        time_ms: when it was found: the driver's wall-clock time in ms since 1970.
    """

    split: str
    first: JsonValue
    until: JsonValue
    found: FoundBy
    time_ms: int

    def to_json(self) -> JsonObject:
        return {
            "split": self.split,
            "first": self.first,
            "until": self.until,
            "found": self.found,
            "time_ms": self.time_ms,
        }

    @staticmethod
    def from_json(raw: Any) -> LostRange:
        """Return the inverse of `to_json`.

        Raises:
            TypeError, KeyError, ValueError: a field is missing or is something else.
        """
        if raw["found"] not in ("planning", "task"):
            raise ValueError(f"a loss is found by planning or by a task, not by {raw['found']!r}")
        return LostRange(
            str(raw["split"]),
            raw["first"],
            raw["until"],
            cast("FoundBy", raw["found"]),
            int(raw["time_ms"]),
        )


RowsBetween: TypeAlias = Callable[[Any, Any], int]
"""How many records lie between two positions at the most (`PlannedSource.rows_between`)."""


@dataclass(frozen=True, slots=True)
class Losses:
    """All that a query has lost since its checkpoint was new. Immutable.

    Attributes:
        rows: how many records planning has found to be gone. Exact in positions: where the log had holes
            (compaction, markers of transactions), fewer records were there.
        at_least_rows: how many more only tasks have found.
        ranges: the last of all, at most `MOST_RANGES`, in the order in which they were found.
        splits: how many whole splits were found, and are not read: the number of their records is unknown.
    """

    rows: int = 0
    at_least_rows: int = 0
    ranges: Sequence[LostRange] = ()
    splits: int = 0

    def plus(self, more: Iterable[LostRange], rows_between: RowsBetween) -> Losses:
        """Return these losses and more.

        A range of planning counts as it is: it is reported once, because the position moves past it in the
        same offset. A range of a task counts as far as no known range of its split covers it: attempts of one
        task, and replays of its batch, find the same range again, or a longer one.

        Args:
            more: ranges in the order in which they were found.
            rows_between: of the source.
        """
        rows = self.rows
        at_least_rows = self.at_least_rows
        ranges = list(self.ranges)
        for lost in more:
            pieces = [lost] if lost.found == "planning" else _uncovered(lost, ranges)
            count = sum(rows_between(piece.first, piece.until) for piece in pieces)
            if lost.found == "planning":
                rows += count
            else:
                at_least_rows += count
            ranges += pieces
        return Losses(rows, at_least_rows, tuple(ranges[-MOST_RANGES:]), self.splits)

    def plus_splits(self, splits: Sequence[str], time_ms: int) -> Losses:
        """Return these losses and whole splits, by their ids. Each call counts more."""
        ranges = [*self.ranges, *(LostRange(split, None, None, "planning", time_ms) for split in splits)]
        return replace(self, splits=self.splits + len(splits), ranges=tuple(ranges[-MOST_RANGES:]))

    def to_json(self) -> JsonObject:
        fields: JsonObject = {
            "rows": self.rows,
            "at_least_rows": self.at_least_rows,
            "ranges": [lost.to_json() for lost in self.ranges],
        }
        if self.splits:
            fields["splits"] = self.splits
        return fields

    @staticmethod
    def from_json(raw: Any) -> Losses:
        """Return the inverse of `to_json`.

        Raises:
            TypeError, KeyError, ValueError: a field is missing or is something else.
        """
        ranges = tuple(LostRange.from_json(lost) for lost in raw["ranges"])
        return Losses(int(raw["rows"]), int(raw["at_least_rows"]), ranges, int(raw.get("splits", 0)))


NO_LOSSES: Final = Losses()


@dataclass(frozen=True, slots=True)
class QueueLoss:
    """The event of a staged source whose outside has lost a queue: how many messages it held is unknown.

    Attributes:
        split: the split's id.
        time_ms: when that was found: the receiver's wall-clock time in ms since 1970.
    """

    split: str
    time_ms: int

    def to_json(self) -> JsonObject:
        return {"lost": self.split, "time_ms": self.time_ms}

    @staticmethod
    def from_json(raw: JsonValue) -> QueueLoss:
        """Return the inverse of `to_json`."""
        fields = cast("dict[str, Any]", raw)
        return QueueLoss(fields["lost"], fields["time_ms"])


def _uncovered(lost: LostRange, others: Iterable[LostRange]) -> list[LostRange]:
    """Return the parts of a range that no known range of its split covers.

    Positions that are not integers have no order here: such a range is known as a whole, or not at all.
    """
    pieces = [lost]
    for other in others:
        if other.split == lost.split:
            pieces = [rest for part in pieces for rest in _without(part, other)]
    return pieces


def _without(part: LostRange, other: LostRange) -> list[LostRange]:
    if (part.first, part.until) == (other.first, other.until):
        return []
    borders = [part.first, part.until, other.first, other.until]
    if not all(type(border) is int for border in borders):
        return [part]
    first, until, from_, to = cast("list[int]", borders)
    rests = [(first, min(until, from_)), (max(first, to), until)]
    return [
        LostRange(part.split, start, stop, part.found, part.time_ms) for start, stop in rests if start < stop
    ]
