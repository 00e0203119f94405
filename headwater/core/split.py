"""Splits, positions and ranges."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeVar

from headwater.core.jsons import JsonValue

SplitPath: TypeAlias = tuple[str, ...]
"""Where a split stands in the offset's nested JSON.

``("orders", "0")`` for partition 0 of the topic orders.
"""


class Split(ABC):
    """The unit of assignment and of state (FLIP-27 ``SourceSplit``).

    A partition, a file, a key range, a queue.

    Implementations are frozen dataclasses: a split never changes. How far it has been read is its *position*,
    kept beside it by the coordinator (in Spark's offset log) and by the emitter (in memory, while a task
    runs), never inside it.

    A position always names the NEXT record to read. It is a JSON value of the source's own choice; for Kafka
    and files an int.
    """

    __slots__ = ()

    @property
    @abstractmethod
    def path(self) -> SplitPath:
        """One or more names that together are unique within the source, and the same after every restart."""

    @property
    def split_id(self) -> str:
        """The path in one string, for messages and logs. Never parsed."""
        return "-".join(self.path)


SplitT = TypeVar("SplitT", bound=Split)
PositionT = TypeVar("PositionT", bound=JsonValue)


@dataclass(frozen=True, slots=True)
class SplitRange(Generic[SplitT, PositionT]):
    """A split with the part of it to read.

    Planned on the driver, carried to an executor inside Spark's partition.

    Attributes:
        split: the split to read.
        start: the first record to read.
        stop: the first record NOT to read. A record at or after it is never emitted.
    """

    split: SplitT
    start: PositionT
    stop: PositionT

    @property
    def shown_ends(self) -> tuple[str, str]:
        """Where it starts and stops, in words for a person. A stop that is unknown is the end."""
        return str(self.start), "its end" if self.stop is None else str(self.stop)
