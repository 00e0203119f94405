"""Splits of the parts of a chain, with positions that name the part too, and the seam between parts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias, cast
from urllib.parse import quote, unquote

from headwater.core.jsons import JsonObject, JsonValue
from headwater.core.planned_source import EndPositions
from headwater.core.split import Split, SplitPath

HybridPosition: TypeAlias = list[JsonValue]
"""The index of the part, and the position there: ``[1, 120]``. Two positions of one split have one index."""


@dataclass(frozen=True, slots=True)
class HybridSplit(Split):
    """A split of one part.

    Attributes:
        part: the name of the part.
        index: which part of the chain that is, from 0.
        inner: the part's own split.
    """

    part: str
    index: int
    inner: Split

    @property
    def path(self) -> SplitPath:
        return outer_path(self.part, self.inner.path)

    @property
    def split_id(self) -> str:
        return f"{self.part}: {self.inner.split_id}"


def outer_path(part: str, inner: SplitPath) -> SplitPath:
    """Return the path of a part's split in the offset: ``("live", "orders/0")``.

    Parts have paths of different depths, and an offset has one: so a part's path is one name.
    """
    return (part, "/".join(quote(name, safe=" :=+,;@#") for name in inner))


def inner_path(outer: SplitPath) -> SplitPath:
    """Return the path that the part itself knows: the inverse of `outer_path`."""
    return tuple(unquote(name) for name in outer[1].split("/"))


def inner_position(position: HybridPosition) -> Any:
    """Return the position as the part itself has it."""
    return cast("Any", position[1])


@dataclass(frozen=True, slots=True)
class TimeSwitchPoint:
    """Rows before a time come from the parts before the last one, all others from the last one.

    It decides by the rows alone, never by where they stand: rows out of order are neither lost nor doubled.

    Attributes:
        column: the column with the time of a row, of the type timestamp, in all parts.
        time_us: rows at or after this time, in microseconds since 1970, are the last part's.
        disorder_ms: the last part begins so much earlier than that.
    """

    column: str
    time_us: int
    disorder_ms: int

    def to_json(self) -> JsonObject:
        """Return the rule that decides about rows, to be logged: where reading begins may change."""
        return {"column": self.column, "time_us": self.time_us}

    @property
    def begin_ms(self) -> int:
        """Where the last part begins, in ms since 1970."""
        return max(0, self.time_us // 1000 - self.disorder_ms)


@dataclass(frozen=True, slots=True)
class PositionSwitchPoint:
    """The last part begins at a position.

    Attributes:
        positions: by topic and partition; None if the parts before tell it
            (`headwater.core.planned_source.PlannedSource.end_positions`).
    """

    positions: EndPositions | None

    def to_json(self) -> JsonObject:
        """Return it, to be logged."""
        return {"offsets": "end" if self.positions is None else cast("JsonObject", self.positions)}


SwitchPoint: TypeAlias = TimeSwitchPoint | PositionSwitchPoint


def furthest(one: EndPositions, other: EndPositions) -> dict[str, dict[str, int]]:
    """Return the larger position of each partition."""
    result = {topic: dict(offsets) for topic, offsets in one.items()}
    for topic, offsets in other.items():
        _raise_to(result.setdefault(topic, {}), offsets)
    return result


def _raise_to(result: dict[str, int], offsets: Mapping[str, int]) -> None:
    for partition, offset in offsets.items():
        result[partition] = max(result.get(partition, 0), offset)
