"""A split whose first reading counts, as a task reads it (`headwater.core.task_notes`)."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from typing import Any, Final

import pyarrow as pa
import pyarrow.ipc

from headwater.core.errors import ContractError, FencedError
from headwater.core.jsons import JsonValue
from headwater.core.planned_source import PlannedSource
from headwater.core.split import SplitRange
from headwater.core.task_notes import TaskNote, TaskNotes, new_name, note_name
from headwater.readers.runtime.batches import read_batches

_SEGMENT_BYTES: Final = 8 << 20
"""Rows of a split are held in memory up to this size, then kept aside."""
_LZ4: Final = pa.ipc.IpcWriteOptions(compression="lz4")


def read_noted_split(
    source: PlannedSource[Any, Any, Any],
    split_range: SplitRange[Any, Any],
    notes: TaskNotes,
    read: Callable[[Callable[[JsonValue], None]], Generator[pa.RecordBatch, None, None]],
) -> Generator[pa.RecordBatch, None, None]:
    """Yield the rows of the first reading of a split, which may be this one. On the task's thread.

    No row is yielded before the note is there: whoever leaves a scan early, or dies, has either seen nothing
    of the split, or rows of the reading that counts.

    Args:
        source: for its form of the split.
        split_range: the whole split.
        notes: of the query.
        read: reads the split, and calls its argument with the reader's note.

    Raises:
        ContractError: the reader has given no note.
        FencedError: the batch was committed before anybody had read the split.
        StateLocationError: the state location cannot be used, or lacks rows.
    """
    name = note_name(split_range, source.serialize_splits([split_range.split]))
    note = notes.find(name) or _first_reading(source, split_range, notes, name, read)
    if note.attempt is None:
        raise FencedError(
            f"split {split_range.split.split_id} of source {source.name!r} is read after its batch was "
            "committed without it: this attempt is late, or the checkpoint was taken back by a batch"
        )
    for data in notes.rows(name, note):
        yield from read_batches(data)


def _first_reading(
    source: PlannedSource[Any, Any, Any],
    split_range: SplitRange[Any, Any],
    notes: TaskNotes,
    name: str,
    read: Callable[[Callable[[JsonValue], None]], Generator[pa.RecordBatch, None, None]],
) -> TaskNote:
    """Read the split, keep its rows aside and publish the note; return the one that counts."""
    attempt = new_name()
    contents: list[JsonValue] = []
    segments = 0
    with closing(read(contents.append)) as batches:
        for data in _segments(batches):
            notes.put_rows(name, attempt, segments, data)
            segments += 1
    if not contents or contents[-1] is None:
        raise ContractError(
            f"RecordsWithSplitIds.notes: the reader of source {source.name!r} finished split "
            f"{split_range.split.split_id} without a note"
        )
    # Behind the rows: a split with a note has all of its rows.
    return notes.publish(name, TaskNote(contents[-1], attempt, segments))


def _segments(batches: Iterator[pa.RecordBatch]) -> Iterator[bytes]:
    """Yield the rows in objects of some MB. Each batch is encoded at once: its buffers are used again."""
    sink = pa.BufferOutputStream()
    writer: pa.ipc.RecordBatchStreamWriter | None = None
    for batch in batches:
        if writer is None:
            writer = pa.ipc.new_stream(sink, batch.schema, options=_LZ4)
        writer.write_batch(batch)
        if sink.tell() >= _SEGMENT_BYTES:
            writer.close()
            yield sink.getvalue().to_pybytes()
            sink, writer = pa.BufferOutputStream(), None
    if writer is not None:
        writer.close()
        yield sink.getvalue().to_pybytes()
