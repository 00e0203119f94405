"""What one fetch brought, on its way into the channel."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from headwater.core.epoch_records import EpochRecords
from headwater.core.split import SplitPath
from headwater.readers.runtime.fetchers.events import Fetched, SourceEvents, SplitsDone
from headwater.readers.runtime.partitions.subpartition import PartitionEvent


@dataclass(slots=True)
class PendingFetch:
    """What one fetch brought and is not all in the channel yet.

    Attributes:
        elements: what is still to be put there, in order.
        served: the splits that had their turn with this fetch.
        rows: how many rows it brought.
        row_bytes: what they weigh.
    """

    elements: deque[Fetched | PartitionEvent] = field(default_factory=deque)
    served: set[SplitPath] = field(default_factory=set)
    rows: int = 0
    row_bytes: int = 0

    @classmethod
    def of(cls, fetched: EpochRecords, served: set[SplitPath]) -> PendingFetch:
        """Put the answer of a reader in order: what it says of splits follows their records."""
        pending = cls(served=served)
        for path, records in fetched.records.items():
            for record in records:
                size_bytes = record.rows.nbytes
                pending.rows += record.rows.num_rows
                pending.row_bytes += size_bytes
                pending.elements.append(Fetched(path, record, size_bytes))
        if fetched.finished or fetched.caught_up:
            pending.elements.append(SplitsDone(fetched.finished, fetched.caught_up))
        if fetched.events:
            pending.elements.append(SourceEvents(fetched.events))
        return pending
