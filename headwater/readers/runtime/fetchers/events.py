"""What fetchers put into their channels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from headwater.core.epoch_records import EpochRecord
from headwater.core.jsons import JsonValue
from headwater.core.split import SplitPath
from headwater.readers.runtime.partitions.subpartition import PartitionEvent


@dataclass(frozen=True, slots=True)
class Fetched:
    """A record on its way to the emitter.

    Attributes:
        path: of its split.
        record: what was fetched.
        size_bytes: what its rows weigh.
    """

    path: SplitPath
    record: EpochRecord
    size_bytes: int


@dataclass(frozen=True, slots=True)
class SplitsDone(PartitionEvent):
    """Nothing more of these splits comes in this epoch.

    Attributes:
        finished: read to their end, or to the stop that they were given.
        caught_up: see `EpochRecords.caught_up`.
        removed: taken from the reader, though there may be more.
    """

    finished: frozenset[SplitPath] = frozenset()
    caught_up: Mapping[SplitPath, int | None] = field(default_factory=dict)
    removed: frozenset[SplitPath] = frozenset()


@dataclass(frozen=True, slots=True)
class SourceEvents(PartitionEvent):
    """Events of the split reader, for the enumerator.

    Attributes:
        events: in their order.
    """

    events: tuple[JsonValue, ...]
