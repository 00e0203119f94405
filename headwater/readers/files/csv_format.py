"""CSV: pyarrow's parser for blocks of lines, Python's for what that refuses and for values with line ends."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, islice
from typing import IO, Any, cast

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv

from headwater.core.errors import CorruptRecordError
from headwater.enumerators.files.split import FileStatus
from headwater.readers.files.codecs import decompressed, is_compressed
from headwater.readers.files.corrupt import BadLines
from headwater.readers.files.file_format import FileBlock, FileFormat
from headwater.readers.files.line_format import first_line, line_blocks
from headwater.readers.files.quarantine import Quarantine
from headwater.readers.files.settings import ReadSettings
from headwater.readers.files.values import infer_type, parse_column, parse_leniently

_BATCH_ROWS = 8_192
_SAMPLE_ROWS = 1_000
_LONGEST_VALUE = 1 << 30
_INFERRED = re.compile(r"_c\d+")
_LENGTH = "length"
"""The last column of records that were read as text: how many values each of them had."""


class CsvFormat(FileFormat):
    """A line is a record, unless ``multiLine``.

    Columns go by their names if there is a header, else by their order.
    """

    def __init__(self, settings: ReadSettings, quarantine: Quarantine | None = None) -> None:
        super().__init__(settings, quarantine)
        self._csv = settings.csv
        # As what pyarrow reads times, the most likely first: with a zone, without one, and as text for `_as`.
        self._spellings: list[pa.DataType] = [pa.timestamp("us", "UTC"), pa.timestamp("us"), pa.string()]
        csv.field_size_limit(_LONGEST_VALUE)

    def is_splittable(self, url: str) -> bool:
        return not is_compressed(url) and not self._csv.multi_line

    def blocks(
        self, file: Any, status: FileStatus, start: int, stop: int, columns: pa.Schema
    ) -> Iterator[FileBlock]:
        if self._csv.multi_line:
            yield from self._record_blocks(file, status, columns)
        elif is_compressed(status.url):
            yield from self._line_blocks(decompressed(status.url, file), status, 0, None, columns)
        else:
            yield from self._line_blocks(file, status, start, stop, columns)

    def decode(self, block: FileBlock, file: FileStatus, columns: pa.Schema) -> Iterator[pa.RecordBatch]:
        if isinstance(block.data, pa.RecordBatch):
            yield from self._typed(block, block.data, file.url, columns)
            return
        # Looked at as a whole only if it begins like an empty one: `strip` copies the block.
        if not block.data or (block.data.isspace() and not block.data.strip(b"\r\n")):
            return
        names = self._columns(block, file.url, columns)
        present = [columns.field(name) for name in columns.names if name in names]
        # With no column one is read all the same, so that the number of rows is known.
        types = pa.schema(present or [pa.field(names[0], pa.string())])
        try:
            yield self._parse(block.data, names, types)
        except ValueError:
            bad = BadLines(
                mode=self.settings.records.mode,
                url=file.url,
                start=block.start,
                parse=lambda lines: self._parse(b"\n".join(lines) + b"\n", names, types),
                keep=lambda line: self._kept(line, names, columns),
            )
            yield from bad.rows([line for line in block.data.split(b"\n") if line.strip(b"\r")])

    def infer(self, file: Any, status: FileStatus) -> pa.Schema:
        with _text(file, status.url) as text:
            records = self._reader(text)
            header = next(records, []) if self._csv.header else None
            sample = list(islice((record for record in records if record), _SAMPLE_ROWS))
        names = _numbered(max(map(len, sample), default=0)) if header is None else tuple(header)
        columns = self._strings(sample, len(names))
        types = [infer_type(column) if self._csv.infer_types else pa.string() for column in columns]
        return pa.schema(list(zip(names, types, strict=True)))

    # Which columns a file has

    def _columns(self, block: FileBlock, url: str, columns: pa.Schema) -> list[str]:
        """Return the names of the file's columns, in its order, spelled as in the schema.

        Raises:
            CorruptRecordError: the header lacks a column of the schema, and the mode is to fail; or it names
                one twice.
        """
        if block.header is None:
            return list(columns.names)
        spelled = {name.lower(): name for name in columns.names}
        names = [spelled.get(name.lower(), name) for name in block.header]
        missing = [name for name in columns.names if name not in names]
        if missing and self.settings.records.mode == "failfast":
            raise CorruptRecordError(
                f"the header lacks the column {missing[0]!r}: it names {', '.join(block.header)}",
                source="files",
                split=url,
            )
        twice = [name for name in columns.names if names.count(name) > 1]
        if twice:
            raise CorruptRecordError(
                f"the header names the column {twice[0]!r} twice", source="files", split=url
            )
        return names

    def _header(self, first: Sequence[str], columns: pa.Schema) -> tuple[str, ...] | None:
        """Return the names of a file's columns, None if they are those of the schema, in its order.

        Args:
            first: the values of the first record of the file, which has the names, or at least says how many
                columns there are.
            columns: if they are called ``_c0`` and so on, the schema was inferred, and may be a part of the
                file's.
        """
        if self._csv.header:
            return tuple(first)
        if all(_INFERRED.fullmatch(name) for name in columns.names):
            return _numbered(max(1, len(first)))
        return None

    # Records of one line

    def _line_blocks(
        self, source: Any, status: FileStatus, start: int, stop: int | None, columns: pa.Schema
    ) -> Iterator[FileBlock]:
        header: tuple[str, ...] | None = None
        if start and self._header((), columns) is not None:
            # The names are in the first line, which is in the range of another task.
            header = self._header(self._names(first_line(source)), columns)
            source.seek(0)
        for block in line_blocks(source, start, stop, status.url):
            data = cast("bytes", block.data)
            if block.start == 0:
                line, _, rest = data.partition(b"\n")
                header = self._header(self._names(line.removesuffix(b"\r")), columns)
                data = rest if self._csv.header else data
            yield FileBlock(data, block.start, block.stop, header)

    def _parse(self, data: bytes, names: Sequence[str], types: pa.Schema) -> pa.RecordBatch:
        """Return the rows of whole lines.

        Raises:
            ArrowInvalid: a line is no record of these types, or a record goes over several lines.
        """
        quote = self._csv.quote
        is_last_twice = quote is not None and quote.encode() in data
        if is_last_twice:
            # The last line once more: a quote that is open in it swallows the copy, and a row is missing.
            body = data.rstrip(b"\r\n")
            last_line = body[body.rfind(b"\n") + 1 :]
            data = body + b"\n" + last_line + b"\n"
        table = self._table(data, names, types)
        _check_lines(data, table.num_rows)
        rows = table.num_rows - 1 if is_last_twice else table.num_rows
        batch = table.slice(0, rows).combine_chunks().to_batches()[0]
        parsed = [_as(column, field.type) for column, field in zip(batch.columns, types, strict=True)]
        return pa.RecordBatch.from_arrays(parsed, schema=types)

    def _table(self, data: bytes, names: Sequence[str], types: pa.Schema) -> pa.Table:
        """Parse whole lines with pyarrow. How times are spelled is found out once: mostly all are alike."""
        *others, last = self._spellings
        if not any(pa.types.is_timestamp(field.type) for field in types):
            others = []
        for spelling in others:
            try:
                table = self._read(data, names, types, spelling)
            except pa.ArrowInvalid:
                continue
            self._spellings.remove(spelling)
            self._spellings.insert(0, spelling)
            return table
        return self._read(data, names, types, last)

    def _read(self, data: bytes, names: Sequence[str], types: pa.Schema, times: pa.DataType) -> pa.Table:
        kinds = {field.name: times if pa.types.is_timestamp(field.type) else field.type for field in types}
        return pacsv.read_csv(
            cast("IO[bytes]", pa.BufferReader(data)),
            pacsv.ReadOptions(use_threads=False, column_names=list(names), block_size=len(data) + 1),
            pacsv.ParseOptions(
                delimiter=self._csv.separator,
                quote_char=self._csv.quote or False,
                double_quote=self._csv.quote is not None and self._csv.escape is None,
                escape_char=self._csv.escape or False,
            ),
            pacsv.ConvertOptions(
                column_types=kinds,
                include_columns=types.names,
                null_values=sorted({"", self._csv.null_value}),
                true_values=["true", "True", "TRUE"],
                false_values=["false", "False", "FALSE"],
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
            ),
        )

    def _kept(self, line: bytes, names: Sequence[str], columns: pa.Schema) -> pa.RecordBatch:
        """Return the row of a bad line: null where a value cannot be read, and the line in its own column."""
        text = line.removesuffix(b"\r").decode("utf-8", "replace")
        record = next(self._reader([text]), [])
        strings = dict(zip(names, self._strings([record], len(names)), strict=True))
        present = [columns.field(name) for name in columns.names if name in strings]
        arrays = [parse_leniently(strings[field.name], field.type) for field in present]
        return self._with_corrupt_column(present, arrays, [text])

    def _with_corrupt_column(
        self, fields: Sequence[pa.Field[Any]], arrays: Sequence[pa.Array[Any]], texts: Sequence[str | None]
    ) -> pa.RecordBatch:
        """Return rows with the text of those that are bad."""
        names = [*(field.name for field in fields), self.settings.records.corrupt_column]
        return pa.RecordBatch.from_arrays([*arrays, pa.array(texts, pa.string())], names=names)

    # Records that may go over several lines

    def _record_blocks(self, file: Any, status: FileStatus, columns: pa.Schema) -> Iterator[FileBlock]:
        """Yield records that may go over several lines, as text.

        Python's parser, because pyarrow's cannot say where a bad one ends.
        """
        with _text(file, status.url) as text:
            records: Iterator[list[str]] = (record for record in self._reader(text) if record)
            first = next(records, [])
            header = self._header(first, columns)
            if first and not self._csv.header:
                records = chain([first], records)
            done = 0
            while rows := list(islice(records, _BATCH_ROWS)):
                width = max(map(len, rows)) if header is None else len(header)
                names = [*map(str, range(width)), _LENGTH]
                lengths = pa.array([len(row) for row in rows], pa.int32())
                batch = pa.RecordBatch.from_arrays([*self._strings(rows, width), lengths], names=names)
                yield FileBlock(batch, done, done + len(rows), header)
                done += len(rows)

    def _typed(
        self, block: FileBlock, raw: pa.RecordBatch, url: str, columns: pa.Schema
    ) -> Iterator[pa.RecordBatch]:
        """Yield records that were read as text with their values, the bad ones as the mode says."""
        names = self._columns(block, url, columns)
        present = [columns.field(name) for name in columns.names if name in names]
        # A record is good if it has all values, and each that is there can be read.
        good: Any = pc.equal(raw.column(_LENGTH), pa.scalar(len(names), pa.int32()))
        arrays = []
        for field in present:
            strings = raw.column(names.index(field.name))
            values = parse_leniently(strings, field.type)
            good = pc.and_(good, pc.equal(pc.is_valid(strings), pc.is_valid(values)))
            arrays.append(values)
        texts = [
            None if is_good else self._joined(list(row.values()))
            for is_good, row in zip(good.to_pylist(), raw.to_pylist(), strict=True)
        ]
        bad_texts = [text for text in texts if text is not None]
        if bad_texts and self.settings.records.mode == "failfast":
            raise CorruptRecordError(
                f"a record cannot be read: {bad_texts[0][:200]!r} (mode=FAILFAST)", source="files", split=url
            )
        batch = self._with_corrupt_column(present, arrays, texts)
        if bad_texts and self.settings.records.mode == "dropmalformed":
            batch = batch.filter(good)
        yield batch

    def _joined(self, row: Sequence[Any]) -> str:
        """Return about what a record looked like: its values, as many as its last column says there were."""
        *values, length = row
        return self._csv.separator.join(value or "" for value in values[:length])

    # What both share

    def _strings(self, records: Sequence[Sequence[str]], width: int) -> list[pa.Array[Any]]:
        """Return records as columns of text: what is missing is null, what is too much is left out."""
        nulls = {"", self._csv.null_value}
        columns = ([record[at] if at < len(record) else None for record in records] for at in range(width))
        return [
            pa.array([None if value in nulls else value for value in column], pa.string())
            for column in columns
        ]

    def _reader(self, lines: Iterable[str]) -> Iterator[list[str]]:
        quoting: Any = csv.QUOTE_NONE if self._csv.quote is None else csv.QUOTE_MINIMAL
        return csv.reader(
            lines,
            delimiter=self._csv.separator,
            quotechar=self._csv.quote,
            escapechar=self._csv.escape,
            doublequote=self._csv.escape is None,
            quoting=quoting,
        )

    def _names(self, line: bytes) -> tuple[str, ...]:
        """Return the values of the first line of a file."""
        return tuple(next(self._reader([line.decode("utf-8", "replace")]), []))


def _numbered(width: int) -> tuple[str, ...]:
    """Return the names of columns that have none, as Spark calls them."""
    return tuple(f"_c{at}" for at in range(width))


@contextmanager
def _text(file: Any, url: str) -> Iterator[io.TextIOWrapper]:
    """Read a file as text. It is not closed with the text: `opened` does that."""
    text = io.TextIOWrapper(decompressed(url, file), encoding="utf-8-sig", errors="replace", newline="")
    try:
        yield text
    finally:
        text.detach()


def _as(column: pa.Array[Any], kind: pa.DataType) -> pa.Array[Any]:
    if column.type == kind:
        return column
    if pa.types.is_string(column.type):
        return parse_column(column, kind)
    return column.cast(kind)


def _check_lines(data: bytes, rows: int) -> None:
    """See that a line is a record.

    Raises:
        ArrowInvalid: some value holds a line end.
    """
    if b"\r" in data and data.count(b"\r") != data.count(b"\r\n"):
        raise pa.ArrowInvalid("a carriage return without a line feed")
    lines = data.count(b"\n") + (not data.endswith(b"\n"))
    if rows == lines:
        return
    # Empty lines are no records: counted only where there are some, since that is slow.
    if rows != sum(1 for line in data.split(b"\n") if line.strip(b"\r")):
        raise pa.ArrowInvalid(
            "a quoted value holds a line end, or a quote is not closed; set multiLine=true if values may "
            "hold line ends"
        )
