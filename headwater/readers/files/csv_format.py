"""CSV by the meaning of Spark's own reader: lines that are records, or records over several lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa

from headwater.enumerators.files.split import FileStatus
from headwater.readers.files.bad_records import BadRecords, Quarantine
from headwater.readers.files.compressed_files import decompressed
from headwater.readers.files.csv_inference import csv_schema
from headwater.readers.files.csv_lines import (
    BYTE_ORDER_MARK,
    Lines,
    check_names,
    header_row,
    lines_of,
    placed,
    records_of,
    safe_names,
)
from headwater.readers.files.csv_rescue import CsvRescue
from headwater.readers.files.csv_stream import CsvStream, record_values, stream_pieces
from headwater.readers.files.file_format import FileBlock, Opener, UnreadableRestError
from headwater.readers.files.line_format import LineFormat
from headwater.readers.files.lines import Bytes
from headwater.readers.files.settings import ReadSettings, is_metadata
from headwater.readers.formats.columns.row_arrays import without_rows
from headwater.readers.formats.csv.csv_decoder import CsvDecoder, is_fatal
from headwater.readers.formats.format import BadValues, FormatOptions

_Key: TypeAlias = tuple[pa.Schema, tuple[str, ...] | None, str]
"""Columns, the header as far as it counts, and the line separator of a stream."""


class _Decoding(NamedTuple):
    """A decoder of some columns.

    Attributes:
        key: of the columns.
        schema: of the decoder's batches.
        decoder: of the records.
        rescue: of values that do not fit.
    """

    key: _Key
    schema: pa.Schema
    decoder: CsvDecoder
    rescue: CsvRescue


class CsvFormat(LineFormat):
    """Columns go by their position, unless the schema is a part of an inferred one."""

    def __init__(self, settings: ReadSettings, quarantine: Quarantine | None = None) -> None:
        super().__init__(settings, quarantine)
        self._csv = settings.csv
        self._dialect = settings.csv.dialect
        self._bad = BadRecords(settings.records, quarantine)
        self._stream: CsvStream | None = None
        self._last: _Decoding | None = None

    def is_splittable(self, url: str) -> bool:
        return not self._dialect.multi_line and super().is_splittable(url)

    def blocks(
        self, file: Any, status: FileStatus, start: int, stop: int, columns: pa.Schema
    ) -> Iterator[FileBlock]:
        if self._dialect.multi_line:
            return _pieces(decompressed(status.url, file))
        return self._line_blocks(file, status, start, stop, columns)

    def decode(self, block: FileBlock, file: FileStatus, columns: pa.Schema) -> Iterator[pa.RecordBatch]:
        if self._dialect.multi_line:
            yield from self._stream_rows(block, block.text, file, columns)
            return
        records = records_of(lines_of(block.text, self.settings.lines), self._dialect.comment)
        if block.start == 0:
            records = records.unmarked()
        decoding = self._decoding(columns, block.header)
        bad = decoding.decoder.append(records.spans)
        yield from self._good_rows(decoding, bad, records, file, block.start)

    def finish(self) -> None:
        self._bad.finish()

    def infer(self, file: Any, status: FileStatus) -> pa.Schema:
        return csv_schema([status], lambda _: nullcontext(file), self.settings)

    def infer_all(self, files: Sequence[FileStatus], opener: Opener) -> pa.Schema:
        return csv_schema(files, opener, self.settings)

    # Lines

    def _line_blocks(
        self, file: Any, status: FileStatus, start: int, stop: int, columns: pa.Schema
    ) -> Iterator[FileBlock]:
        """Yield blocks of lines without the header, which is in the range that begins with the file."""
        has_header = self._csv.header and start == 0
        names: tuple[str, ...] | None = None
        if self._csv.header and start > 0 and (self._csv.by_name or self._ends_in_folders(columns)):
            names = self._names_of(file, status, columns)
        for whole in super().blocks(file, status, start, stop, columns):
            block = whole
            if has_header:
                header, block = self._past_header(whole, status.url)
                if header is None:
                    continue
                has_header = False
                names = self._checked(header, columns, status.url)
            yield FileBlock(block.text, block.start, block.stop, names)

    def _names_of(self, file: Any, status: FileStatus, columns: pa.Schema) -> tuple[str, ...] | None:
        """Return the names in the header, which is in the range of another task."""
        for block in super().blocks(file, status, 0, status.size_bytes, columns):
            header, _ = self._past_header(block, status.url)
            if header is not None:
                file.seek(0)
                return self._checked(header, columns, status.url)
        return None

    def _past_header(self, block: FileBlock, url: str) -> tuple[list[str] | None, FileBlock]:
        """Return the values of the header, and the rest of the block; None if it is not in this block."""
        lines = lines_of(block.text, self.settings.lines)
        row = header_row(lines, self._dialect.comment)
        if row is None:
            return None, block
        line = (lines.spans.value(row) or b"").removeprefix(BYTE_ORDER_MARK)
        end = int(lines.places[row + 1]) if row + 1 < len(lines.places) else len(block.text)
        values = record_values(line, self._dialect, self.settings.lines.separator or "\n", url)
        return values or [], FileBlock(block.text[end:], block.start + end, block.stop)

    def _checked(self, header: Sequence[str], columns: pa.Schema, url: str) -> tuple[str, ...]:
        if not self._csv.enforce_schema and not self._csv.by_name:
            hidden = self._with_hidden(columns, header)
            check_names(header, hidden, url, by_case=self.settings.is_case_sensitive)
        return tuple(safe_names(header, self._csv))

    # Records that may go over several lines

    def _stream_rows(
        self, block: FileBlock, data: Bytes, file: FileStatus, columns: pa.Schema
    ) -> Iterator[pa.RecordBatch]:
        if block.start == 0 or self._stream is None:
            self._stream = CsvStream(self._dialect, self.settings.lines, file.url)
        stream = self._stream
        stream.add(data, last=not data)
        if self._csv.header and stream.header is None:
            stream.first_values(take=True)
            if stream.header is None:
                return
            self._checked(stream.header, columns, file.url)
        names = None if stream.header is None else tuple(safe_names(stream.header, self._csv))
        decoding = self._decoding(columns, names, stream.line_separator)
        for bad, records in stream.rows(decoding.decoder):
            yield from self._good_rows(decoding, bad, records, file, 0)

    # What both share

    def _placed(self, header: tuple[str, ...] | None, columns: pa.Schema) -> pa.Schema:
        """Return the columns of the file in its order."""
        if not self._csv.by_name:
            return self._with_hidden(columns, header)
        if header is None:
            numbers = [int(name.removeprefix("_c")) for name in columns.names]
            header = tuple(f"_c{at}" for at in range(max(numbers, default=-1) + 1))
        return placed(header, columns, whole=self._rescues)

    def _with_hidden(self, columns: pa.Schema, header: Sequence[str] | None) -> pa.Schema:
        """Return the columns with those that folders hide: they take a place in each record.

        Behind the last one, only the header tells a column that is hidden from one that no file has.
        """
        if not self._csv.is_inferred:
            return columns
        names, stop = self._places(columns)
        while stop < len(names) and _is_called(names[stop], stop, header):
            stop += 1
        return pa.schema(
            [columns.field(n) if n in columns.names else pa.field(n, pa.string()) for n in names[:stop]]
        )

    def _ends_in_folders(self, columns: pa.Schema) -> bool:
        names, stop = self._places(columns)
        return self._csv.is_inferred and stop < len(names)

    def _places(self, columns: pa.Schema) -> tuple[list[str], int]:
        """Return the columns of files and folders in their order, and how many end with one of the file."""
        assert self.settings.schema is not None, "files are read with a schema"
        elsewhere = self.settings.special_columns
        of_files = (field for field in self.settings.schema if not is_metadata(field))
        names = [field.name for field in of_files if field.name not in elsewhere]
        return names, names.index(columns.names[-1]) + 1 if columns.names else 0

    def _decoding(
        self, columns: pa.Schema, header: tuple[str, ...] | None, line_separator: str = ""
    ) -> _Decoding:
        """Return the decoder of these columns: the last one, if they are the same."""
        key = (columns, header if self._csv.by_name or self._csv.is_inferred else None, line_separator)
        if self._last is None or self._last.key != key:
            self._last = self._new_decoding(key)
        return self._last

    def _new_decoding(self, key: _Key) -> _Decoding:
        columns, header, line_separator = key
        options = self._options()
        schema = self._placed(header, columns)
        # Of a part of the columns nobody knows how many a record must have, and where a folder hides one
        # Spark reads a part. To rescue, it must be known.
        any_width = (self._csv.by_name or len(schema) > len(columns)) and not self._rescues
        if options.corrupt_column is not None:
            schema = schema.append(pa.field(options.corrupt_column, pa.string()))
        separator = line_separator or self.settings.lines.separator or "\n"
        decoder = CsvDecoder(schema, options, self._dialect, separator, any_width=any_width)
        return _Decoding(key, schema, decoder, CsvRescue(self._dialect, separator))

    @property
    def _rescues(self) -> bool:
        return self.settings.records.rescued_column is not None

    def _options(self) -> FormatOptions:
        """Return the options of decoders. Where values are rescued no record is corrupt."""
        assert self.settings.schema is not None
        options = self.settings.records.format_options(self.settings.schema)
        return options if options.rescued_column is None else replace(options, corrupt_column=None)

    def _good_rows(
        self, decoding: _Decoding, bad: BadValues | None, records: Lines, file: FileStatus, start: int
    ) -> Iterator[pa.RecordBatch]:
        """Yield the decoded rows, up to a record of which nothing can be made.

        Raises:
            CorruptRecordError: the mode is to fail.
            UnreadableRestError: there is such a record, and it does not go into a file.
        """
        batch = decoding.decoder.finish_batch(decoding.schema)
        if bad is None:
            yield batch
            return
        fatal = np.flatnonzero(is_fatal(bad.reasons))
        if not len(fatal) or self.quarantine is not None:
            yield from self._without_bad(batch, bad, records, file, start)
            return
        first = int(fatal[0])
        row = int(bad.rows[first])
        others = BadValues(bad.rows[:first], bad.reasons[:first])
        yield from self._without_bad(batch.slice(0, row), others, records, file, start)
        raise UnreadableRestError(
            f"the record at this position {CsvDecoder.reason_of(int(bad.reasons[first]))}",
            source="files",
            split=file.url,
            position=start + int(records.places[row]),
        )

    def _without_bad(
        self, batch: pa.RecordBatch, bad: BadValues, records: Lines, file: FileStatus, start: int
    ) -> Iterator[pa.RecordBatch]:
        """Handle bad records as the options say, and yield the batch without dropped ones.

        Raises:
            CorruptRecordError: the mode is to fail.
        """
        if not len(bad.rows):
            yield batch
            return
        name = self._options().rescued_column
        assert self._last is not None, "its decoder has made the batch"
        if name is not None:
            # Without the column of corrupt records, which is not there then.
            part = records.only(bad.rows).spans
            yield batch.append_column(name, self._last.rescue.column(batch, bad.rows, part))
            return
        block_start = start + int(records.places[0] - records.spans.starts[0])
        self._bad.take(bad, records.spans, file, block_start, self._last.decoder.reason)
        good: pa.RecordBatch | None = without_rows(batch, [bad.rows]) if self._bad.are_dropped else batch
        if good is not None:
            yield good


def _is_called(name: str, at: int, header: Sequence[str] | None) -> bool:
    """Whether the file's column at this place has this name; without a header it goes by its number."""
    if header is None:
        return name.lower() == f"_c{at}"
    return at < len(header) and name.lower() == header[at].lower()


def _pieces(source: Any) -> Iterator[FileBlock]:
    """Yield a file in pieces, and an empty one at its end."""
    at = 0
    for data in stream_pieces(source):
        yield FileBlock(data, at, at + len(data))
        at += len(data)
