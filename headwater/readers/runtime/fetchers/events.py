"""The elements that fetchers put into their channels, and the rest of a fetch."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from headwater.core.barrier_reader import EpochRecord, EpochRecords
from headwater.core.clock import wall_ms
from headwater.core.errors import TransientSourceError
from headwater.core.jsons import JsonValue
from headwater.core.split import SplitPath
from headwater.readers.runtime.partitions.subpartition import PartitionEvent


@dataclass(frozen=True, slots=True)
class Fetched:
    """A record on its way to the emitter.

    Attributes:
        path: of its split.
        record: the record.
        size_bytes: of its rows.
        fetched_ms: when it was fetched: the wall-clock time in ms since 1970.
    """

    path: SplitPath
    record: EpochRecord
    size_bytes: int
    fetched_ms: int = 0


@dataclass(frozen=True, slots=True)
class SplitsDone(PartitionEvent):
    """Nothing more of these splits comes in this epoch.

    Attributes:
        finished: read to their end, or to the stop that they were given.
        caught_up: see `EpochRecords.caught_up`.
        removed: taken from the reader, though there may be more.
        events: of the split reader, for the enumerator.
    """

    finished: frozenset[SplitPath] = frozenset()
    caught_up: Mapping[SplitPath, int | None] = field(default_factory=dict)
    removed: frozenset[SplitPath] = frozenset()
    events: tuple[JsonValue, ...] = ()


@dataclass(frozen=True, slots=True)
class SplitsFailed(PartitionEvent):
    """The outside was asked in vain.

    Attributes:
        failures: see `EpochRecords.failed`.
    """

    failures: Mapping[SplitPath, TransientSourceError]


@dataclass(frozen=True, slots=True)
class SplitsPaused(PartitionEvent):
    """The outside asks to be left alone.

    Attributes:
        paused: see `EpochRecords.paused`.
        events: of the split reader, for the enumerator.
    """

    paused: Mapping[SplitPath, int]
    events: tuple[JsonValue, ...] = ()


@dataclass(frozen=True, slots=True)
class NothingFetched(PartitionEvent):
    """A split has had its turn, and there was nothing.

    Attributes:
        path: of the split.
    """

    path: SplitPath


@dataclass(frozen=True, slots=True)
class SourceEvents(PartitionEvent):
    """Events of the split reader, for the enumerator, that came with nothing that changes a split.

    Attributes:
        events: in their order.
    """

    events: tuple[JsonValue, ...]


@dataclass(slots=True)
class PendingFetch:
    """The elements of one fetch that are not in the channel yet.

    Attributes:
        elements: the elements, in order.
        served: the split that had its turn with this fetch; None if it says nothing.
        rows: how many rows it brought.
        row_bytes: of these rows.
    """

    elements: deque[Fetched | PartitionEvent] = field(default_factory=deque)
    served: SplitPath | None = None
    rows: int = 0
    row_bytes: int = 0

    @classmethod
    def of(cls, fetched: EpochRecords, served: SplitPath | None) -> PendingFetch:
        """Put the answer of a reader in order: what is said of splits follows their records.

        Source events are part of the element that changes the state of a split. An epoch may be cut between
        any two elements: events of their own would be lost, or come again with the next fetch.
        """
        pending = cls(served=served)
        fetched_ms = wall_ms() if fetched.records else 0
        for path, records in fetched.records.items():
            for record in records:
                size_bytes = record.rows.nbytes
                pending.rows += record.rows.num_rows
                pending.row_bytes += size_bytes
                pending.elements.append(Fetched(path, record, size_bytes, fetched_ms))
        events = fetched.events
        last = pending.elements[-1] if pending.elements else None
        if events and isinstance(last, Fetched):
            pending.elements[-1] = replace(
                last, record=replace(last.record, events=(*last.record.events, *events))
            )
            events = ()
        if fetched.finished or fetched.caught_up:
            pending.elements.append(SplitsDone(fetched.finished, fetched.caught_up, events=events))
            events = ()
        elif served is not None and not pending.elements:
            pending.elements.append(NothingFetched(served))
        if fetched.failed:
            pending.elements.append(SplitsFailed(fetched.failed))
        if fetched.paused:
            pending.elements.append(SplitsPaused(fetched.paused, events))
            events = ()
        if events:
            pending.elements.append(SourceEvents(events))
        return pending
