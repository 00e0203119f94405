"""The schema of CSV files: names from one file's first record, types from the records of all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from headwater.enumerators.files.split import FileStatus
from headwater.readers.files.compressed_files import decompressed
from headwater.readers.files.csv_lines import BYTE_ORDER_MARK, Lines, lines_of, records_of, safe_names
from headwater.readers.files.csv_stream import CsvStream, record_values, stream_pieces
from headwater.readers.files.file_format import Opener
from headwater.readers.files.line_format import line_blocks
from headwater.readers.files.lines import line_ends
from headwater.readers.files.settings import ReadSettings
from headwater.readers.formats.csv.csv_decoder import CsvDecoder
from headwater.readers.formats.csv.type_inference import ColumnTypes
from headwater.readers.formats.format import FormatOptions


def csv_schema(files: Sequence[FileStatus], opener: Opener, settings: ReadSettings) -> pa.Schema:
    """Return the columns of files, as Spark infers them.

    The names are in the largest file, which is the one that Spark looks at first; with ``multiLine`` in the
    one whose path comes first.

    Args:
        files: which; one at least.
        opener: opens one.
        settings: how they are read.
    """
    multi_line = settings.csv.dialect.multi_line
    ordered = sorted(files, key=lambda file: file.url if multi_line else (-file.size_bytes, file.url))
    sample = _Stream(settings) if multi_line else _Lines(settings)
    for file in ordered:
        if sample.done:
            break
        with opener(file) as handle:
            sample.look(decompressed(file.url, handle), file)
    return sample.schema()


class _Sample:
    """The columns as far as they were inferred."""

    def __init__(self, settings: ReadSettings) -> None:
        self.settings = settings
        self.dialect = settings.csv.dialect
        self.names: list[str] | None = None
        self._types: ColumnTypes | None = None
        self._decoder: CsvDecoder | None = None
        self._seen = 0

    @property
    def done(self) -> bool:
        """Whether nothing more needs to be looked at."""
        return self.names is not None and not self.settings.csv.infer_types

    def begin(self, first: Sequence[str], line_separator: str) -> None:
        """Take the values of the first record."""
        self.names = safe_names(first, self.settings.csv)
        options = self.settings.records.format_options(pa.schema([]))
        self._types = ColumnTypes(
            len(self.names), self.dialect, options, prefer_date=self.settings.csv.prefer_date
        )
        self._decoder = self.decoder(line_separator)

    def decoder(self, line_separator: str) -> CsvDecoder:
        """Return a decoder of records whose values stay text."""
        schema = pa.schema([(str(at), pa.string()) for at in range(len(self.names or ()))])
        return CsvDecoder(schema, FormatOptions(), self.dialect, line_separator, any_width=True)

    def sampled(self, count: int) -> Any:
        """Return the rows of the next records that are sampled: evenly, by the sampling ratio."""
        ratio = min(self.settings.records.sampling_ratio, 1.0)
        numbers = np.arange(self._seen, self._seen + count + 1)
        self._seen += count
        return np.flatnonzero(np.diff(np.floor(numbers * ratio)))

    def take(self, columns: Sequence[pa.Array[Any]]) -> None:
        """Look at values."""
        assert self._types is not None
        for at, column in enumerate(columns):
            self._types.add(at, column)

    def schema(self) -> pa.Schema:
        """Return the columns."""
        names = self.names or []
        if self._types is None or not self.settings.csv.infer_types:
            return pa.schema([pa.field(name, pa.string()) for name in names])
        return pa.schema(list(zip(names, self._types.types(), strict=True)))


class _Lines(_Sample):
    """Records that are lines. A line like the header is one, wherever it stands."""

    _header = b""

    def look(self, source: Any, file: FileStatus) -> None:
        lines = self.settings.lines
        for block in line_blocks(source, 0, None, file.url, line_ends(lines.separator_bytes)):
            records = records_of(lines_of(block.text, lines), self.dialect.comment)
            if self.names is None and len(records.places):
                self._header = records.spans.value(0) or b""
                separator = lines.separator or "\n"
                first = self._header.removeprefix(BYTE_ORDER_MARK)
                self.begin(record_values(first, self.dialect, separator, file.url) or [], separator)
            if self.done:
                return
            if self.names is not None:
                self._add(records, begins=block.start == 0)

    def _add(self, records: Lines, *, begins: bool) -> None:
        rows = self.sampled(len(records.places))
        if self.settings.csv.header:
            same = records.spans.sizes[rows] == len(self._header)
            alike = [row for row in rows[same].tolist() if records.spans.value(row) == self._header]
            rows = np.setdiff1d(rows, alike)
        assert self._decoder is not None
        sample = records.only(rows)
        self._decoder.append((sample.unmarked() if begins else sample).spans)
        self.take(self._decoder.finish())


class _Stream(_Sample):
    """Records that may go over several lines. The first one of each file is its header."""

    def look(self, source: Any, file: FileStatus) -> None:
        stream = CsvStream(self.dialect, self.settings.lines, file.url)
        decoder: CsvDecoder | None = None
        for data in stream_pieces(source):
            stream.add(data, last=not data)
            if self.names is None or (self.settings.csv.header and stream.header is None):
                first = stream.first_values(take=self.settings.csv.header)
                if first is None:
                    continue
                if self.names is None:
                    self.begin(first, stream.line_separator)
            if self.done:
                return
            decoder = decoder or self.decoder(stream.line_separator)
            for _ in stream.rows(decoder):
                columns = decoder.finish()
                rows = self.sampled(len(columns[0]) if columns else 0)
                self.take([column.take(pa.array(rows)) for column in columns])
