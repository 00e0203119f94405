"""The ready-made emitter of barrier mode."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from headwater.core.emitter import RecordEmitter, SplitState
from headwater.core.epoch_records import EpochRecord

if TYPE_CHECKING:
    import pyarrow as pa


class EpochRecordEmitter(RecordEmitter[EpochRecord, Any, Any]):
    """Hands rows on as they are: for sources whose split reader makes rows of the source's schema."""

    def emit(self, record: EpochRecord, state: SplitState[Any, Any]) -> Iterator[pa.RecordBatch]:
        state.position = record.position
        if record.rows.num_rows:
            yield record.rows
