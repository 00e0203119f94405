"""What a split reader returns in barrier mode, where the end of a split is found out by reading it.

And the ready-made emitter of that.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from headwater.core.emitter import RecordEmitter, SplitState
from headwater.core.epoch import FoundSplit
from headwater.core.jsons import JsonValue
from headwater.core.reader import RecordsWithSplitIds
from headwater.core.split import SplitPath

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class EpochRecord:
    """Some consecutive rows of one split (a page, a poll, a segment), with where they end.

    They are emitted in one epoch, or none of them is.

    Attributes:
        rows: as Arrow. May be empty: a position can move without rows.
        position: the next record to read after them. Must differ from the position before them if there are
            rows.
        found: splits that these rows name. They take effect with the rows, and must be the same when the rows
            are read again. Found twice in one epoch is found once; a split that was finished in an earlier
            epoch and is found again is read again.
    """

    rows: pa.RecordBatch
    position: JsonValue
    found: tuple[FoundSplit, ...] = ()


@dataclass(frozen=True, slots=True)
class EpochRecords(RecordsWithSplitIds[EpochRecord]):
    """What one fetch brought, in barrier mode.

    A split is named in at most one of ``finished`` and ``caught_up``. Both take effect after all of
    ``records`` were emitted. The reader gives nothing more of a split that it called finished or caught up,
    until the split is added again.

    Attributes:
        caught_up: splits that have nothing now and may have more later, each with the time in ms for which
            asking again is useless or impolite (rate limits, ``Retry-After``, a poll interval), or None if it
            may be asked at any time.
        events: for the enumerator (FLIP-27 ``SourceEvent``): small JSON values. They arrive once the epoch is
            complete, once each, in order.
    """

    caught_up: Mapping[SplitPath, int | None] = field(default_factory=dict)
    events: tuple[JsonValue, ...] = ()


class EpochRecordEmitter(RecordEmitter[EpochRecord, Any, Any]):
    """Hands rows on as they are: for sources whose split reader makes rows of the source's schema."""

    def emit(self, record: EpochRecord, state: SplitState[Any, Any]) -> Iterator[pa.RecordBatch]:
        state.position = record.position
        if record.rows.num_rows:
            yield record.rows
