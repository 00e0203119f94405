"""Decodes one column of the rows that a reader has made, as they are emitted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from headwater.core.barrier_reader import EpochRecord
from headwater.core.emitter import RecordEmitter, SplitState
from headwater.core.errors import CorruptRecordError, OptionError, SourceError, meant
from headwater.core.metrics import RECORDS_IN_ERRORS, count
from headwater.readers.formats.bad_records import BadRecordsLocation, BadRowFiles
from headwater.readers.formats.columns.row_arrays import struct_of, without_rows
from headwater.readers.formats.format import BadValues, DecodedPart, Spans, first_clash, is_spread, part_of


class DecodingEmitter(RecordEmitter[EpochRecord, Any, Any]):
    """Makes typed columns of one column. One owner, one thread: that of the task.

    A record is decoded as a whole, and makes one batch, or none if no row stays.

    Args:
        rows: the schema of records.
        column: which column of it is decoded.
        columns: those of a row, see `decoded_schema`.
        part: how it is decoded.
        source: the name of the source, for errors.
        bad_records: where rows go that cannot be decoded; None: as ``part`` says.
    """

    def __init__(
        self,
        rows: pa.Schema,
        column: str,
        columns: Sequence[str],
        part: DecodedPart,
        *,
        source: str,
        bad_records: BadRecordsLocation | None,
    ) -> None:
        self._column = column
        self._columns = tuple(columns)
        self._part = part
        self._source = source
        self._bad_files = None if bad_records is None else BadRowFiles(bad_records, column, source)
        self._format_schema = part.format.schema()
        self._schema = decoded_schema(rows, column, columns, part)
        self._decoder = part.format.decoder()

    def emit(self, record: EpochRecord, state: SplitState[Any, Any]) -> Iterator[pa.RecordBatch]:
        batch = self._decoded(record.rows, state) if record.rows.num_rows else None
        state.position = record.position
        state.has_ended = record.is_end
        if batch is not None:
            yield batch

    def _decoded(self, rows: pa.RecordBatch, state: SplitState[Any, Any]) -> pa.RecordBatch | None:
        spans = spans_of(rows.column(self._column))
        try:
            bad = self._decoder.append(spans)
        except SourceError as error:
            raise self._not_now(error, state) from error
        values = list(self._decoder.finish())
        columns: list[pa.Array[Any]] = []
        for name in self._columns:
            columns += (
                self._value_columns(values, spans)
                if name == self._column
                else self._others(name, rows, values)
            )
        batch = pa.RecordBatch.from_arrays(columns, schema=self._schema)
        if bad is None or not len(bad.rows):
            return batch
        count(RECORDS_IN_ERRORS, len(bad.rows))
        if self._bad_files is not None:
            self._write(bad, spans, state, self._bad_files)
            return without_rows(batch, [bad.rows])
        if self._part.on_bad == "keep":
            return batch
        if self._part.on_bad == "fail":
            raise self._refusal(bad, state)
        return without_rows(batch, [bad.rows])

    def _write(self, bad: BadValues, spans: Spans, state: SplitState[Any, Any], files: BadRowFiles) -> None:
        for row, code in zip(bad.rows.tolist(), bad.reasons.tolist(), strict=True):
            files.add(state, row, self._decoder.reason(code, row), spans.value(row))
        files.write(state)

    def _value_columns(self, columns: list[pa.Array[Any]], spans: Spans) -> list[pa.Array[Any]]:
        """Return the decoded value as one column."""
        if self._part.format.is_single_value:
            return columns
        return [struct_of(self._format_schema, columns, self._decoder.nulls(spans))]

    def _others(self, name: str, rows: pa.RecordBatch, columns: list[pa.Array[Any]]) -> list[pa.Array[Any]]:
        return columns if is_spread(name) else [rows.column(name)]

    def _refusal(self, bad: BadValues, state: SplitState[Any, Any]) -> CorruptRecordError:
        row = int(bad.rows[0])
        return meant(
            CorruptRecordError(
                f"{self._column!r} of row {row}, counted from the position, "
                f"{self._decoder.reason(int(bad.reasons[0]), row)}. Option 'mode' is FAILFAST: PERMISSIVE "
                "makes nulls of it, DROPMALFORMED leaves the row out, and option 'badRecordsPath' puts it "
                "into a file",
                source=self._source,
                split=state.split.split_id,
                position=state.position,
            )
        )

    def _not_now(self, error: SourceError, state: SplitState[Any, Any]) -> SourceError:
        """Return an error of a decoder, whose position is the number of a value, as one of this split."""
        if not isinstance(error.position, int):
            return error
        return type(error)(
            f"{self._column!r} of row {error.position}, counted from the position, cannot be decoded now: "
            f"{error.message}",
            source=self._source,
            split=state.split.split_id,
            position=state.position,
        )


def decoded_schema(rows: pa.Schema, column: str, columns: Sequence[str], part: DecodedPart) -> pa.Schema:
    """Return the schema of rows in which one column is decoded.

    Args:
        rows: as the reader makes them.
        column: which one.
        columns: those of a row, in order. The name of the decoded column is one column, a struct of the
            format's columns, or its single value; with ``.*`` behind it, it stands for all columns of the
            format, each as one of the row. The others are columns of ``rows``.
        part: how it is decoded.

    Raises:
        OptionError: the column holds no bytes and no strings, or two columns get one name.
    """
    kind = rows.field(column).type
    if not (pa.types.is_binary(kind) or pa.types.is_string(kind)):
        raise OptionError(f"the column {column!r} is {kind}, and only bytes or strings can be decoded")
    schema = part.format.schema()
    fields: list[pa.Field[Any]] = []
    owners: list[str] = []
    for name in columns:
        if part_of(name) != column:
            fields.append(rows.field(name))
        elif is_spread(name):
            fields += [field.with_name(part.prefix + field.name) for field in schema]
        elif part.format.is_single_value:
            fields.append(schema.field(0).with_name(column))
        else:
            fields.append(pa.field(column, pa.struct(list(schema))))
        owners += [name] * (len(fields) - len(owners))
    if clash := first_clash(zip((field.name for field in fields), owners, strict=True)):
        raise OptionError(
            f"two columns are called {clash[0]!r}: choose among them with option 'columns', or set "
            "'valuePrefix'",
            option="columns",
        )
    return pa.schema(fields)


def spans_of(column: pa.Array[Any]) -> Spans:
    """Return where the values of a column of bytes or strings lie. Copies no value."""
    present, offsets_buffer, data_buffer = column.buffers()
    rows = len(column)
    assert offsets_buffer is not None
    ends: npt.NDArray[np.int32] = np.frombuffer(memoryview(offsets_buffer), np.int32)
    offsets = ends[column.offset : column.offset + rows + 1].astype(np.int64)
    sizes = np.diff(offsets)
    if column.null_count and present is not None:
        bits = np.unpackbits(np.frombuffer(memoryview(present), np.uint8), bitorder="little")
        sizes[bits[column.offset : column.offset + rows] == 0] = -1
    data = memoryview(data_buffer) if data_buffer is not None else b""
    return Spans(np.frombuffer(data, np.uint8), offsets[:-1], sizes)
