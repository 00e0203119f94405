"""Ends partitions at a record (``stopAtRecord``, FLIP-208)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import pyarrow as pa

from headwater.core.emitter import RecordEmitter, SplitState
from headwater.core.end_condition import EndCondition, first_end
from headwater.core.split import SplitRange
from headwater.enumerators.kafka.split import KafkaPartitionSplit
from headwater.readers.formats.format import DecodedPart
from headwater.readers.kafka.emitter import KafkaRecordEmitter
from headwater.readers.kafka.record_set import RecordSet


def parts_to_look_at(
    condition: EndCondition, parts: Mapping[str, DecodedPart]
) -> tuple[tuple[str, ...], dict[str, DecodedPart]]:
    """Return the columns to decode for a condition, and the decoded parts among them.

    What cannot be decoded is no end, and no error here: it is one where its row is made, if it is before the
    end. Of a record that is decoded in part, what is decoded counts, unless nulls are looked for: those that
    stand for what could not be decoded look the same.
    """
    columns = (*(name for name in condition.columns if name != "offset"), "offset")
    nullable = {path.partition(".")[0] for path, value in condition.values if value is None}
    return columns, {
        name: replace(part, on_bad="drop" if name in nullable else "keep")
        for name, part in parts.items()
        if name in columns
    }


class EndingEmitter(RecordEmitter[RecordSet, KafkaPartitionSplit, int]):
    """Looks for the end in each record set, and lets another emitter make the rows before it.

    So nothing behind the end is decoded as a row, and the position is right behind it, whatever columns the
    query has. One owner, one thread: that of the task.

    Args:
        rows: makes the rows of the query.
        finder: makes the columns that the condition looks at, and ``offset``; with the parts of
            `parts_to_look_at`.
        condition: of the end.
    """

    def __init__(self, rows: KafkaRecordEmitter, finder: KafkaRecordEmitter, condition: EndCondition) -> None:
        self._rows = rows
        self._finder = finder
        self._condition = condition

    def emit(
        self, record: RecordSet, state: SplitState[KafkaPartitionSplit, int]
    ) -> Iterator[pa.RecordBatch]:
        """See `KafkaRecordEmitter.emit`. Nothing comes of a partition that has ended."""
        if state.has_ended:
            return
        end = self._end_in(record, SplitState(SplitRange(state.split, state.position, state.stop)))
        if end is None:
            yield from self._rows.emit(record, state)
            return
        if end > state.position:
            shortened = SplitState(SplitRange(state.split, state.position, end))
            yield from self._rows.emit(record, shortened)
        state.position = end + 1
        state.has_ended = True

    def flush(self) -> Iterator[pa.RecordBatch]:
        return self._rows.flush()

    def _end_in(self, record: RecordSet, state: SplitState[KafkaPartitionSplit, int]) -> int | None:
        """Return the offset of the first record of a set that is an end; None if none is."""
        end: int | None = None
        # To the last batch, also behind an end: rows that wait in there would come with the next record set.
        for batches in (self._finder.emit(record, state), self._finder.flush()):
            for batch in batches:
                row = first_end(self._condition.mask(batch)) if end is None else None
                if row is not None:
                    end = batch.column("offset")[row].as_py()
        return end
