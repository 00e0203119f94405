"""Where and how a staged source keeps what it received."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from headwater.core.barrier_reader import EpochRecord
from headwater.core.split import SplitPath
from headwater.core.state_store import StateStore
from headwater.readers.runtime.partitions.segment_log import SegmentLog

KEY_COLUMN: Final = "__key"


@dataclass(frozen=True)
class Staging:
    """How a staged source is read.

    Attributes:
        store: the state location.
        folder: of the query, below which each split has its log.
        idle_ms: a queue that delivers nothing for so long is caught up.
        segment_rows: the most messages of one segment.
        remembered_keys: of so many messages before, a second delivery is told by its key; 0 where messages
            have no keys.
    """

    store: StateStore
    folder: str
    idle_ms: int
    segment_rows: int
    remembered_keys: int

    def log(self, path: SplitPath, attempt: str) -> SegmentLog:
        """Return the log of a split."""
        return SegmentLog(self.store, f"{self.folder}/log/{'-'.join(path)}", attempt)

    def keys_folder(self, path: SplitPath) -> str:
        """Return where the windows of a split's keys are."""
        return f"{self.folder}/keys/{'-'.join(path)}"


def segment(rows: pa.RecordBatch, keys: list[bytes | None]) -> pa.RecordBatch:
    """Return a segment's rows: those of the source, and the key of each."""
    return rows.append_column(KEY_COLUMN, pa.array(keys, pa.binary()))


def record(number: int, batches: list[pa.RecordBatch]) -> EpochRecord:
    """Return the segment of a number as a record of the source, without the keys."""
    (batch,) = batches
    kept = [name for name in batch.schema.names if name != KEY_COLUMN]
    return EpochRecord(batch.select(kept), number + 1)
