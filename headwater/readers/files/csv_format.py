"""CSV.

Pyarrow's parser for blocks of lines, Python's for what that refuses and for values that hold line ends.
"""

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
from headwater.readers.files.block import FileBlock
from headwater.readers.files.compression import decompressed, is_compressed
from headwater.readers.files.corrupt import BadLines, without_bad_lines
from headwater.readers.files.file_format import FileFormat
from headwater.readers.files.line_blocks import first_line, line_blocks
from headwater.readers.files.settings import ReadSettings
from headwater.readers.files.values import infer_type, parse_column, parse_leniently

__all__ = ["CsvFormat"]

_BATCH_ROWS = 8_192
_SAMPLE_ROWS = 1_000
_LONGEST_VALUE = 1 << 30
_INFERRED = re.compile(r"_c\d+")


class CsvFormat(FileFormat):
    """A line is a record, unless ``multiLine``.

    Columns go by their names if there is a header, else by their order.
    """

    def __init__(self, settings: ReadSettings) -> None:
        super().__init__(settings)
        self._csv = settings.csv
        self._spellings: list[pa.DataType] = [pa.timestamp("us", "UTC"), pa.timestamp("us"), pa.string()]
        csv.field_size_limit(_LONGEST_VALUE)

    def is_splittable(self, url: str) -> bool:
        return not is_compressed(url) and not self._csv.multi_line

    def blocks(
        self, file: Any, status: FileStatus, start: int, stop: int, columns: pa.Schema
    ) -> Iterator[FileBlock]:
        if self._csv.multi_line:
            yield from self._record_blocks(file, status, columns)
            return
        compressed, header = is_compressed(status.url), None
        if start and self._header((), columns) is not None:
            header = self._header(self._names(first_line(file)), columns)
            file.seek(0)
        source = decompressed(status.url, file)
        for block in line_blocks(
            source, 0 if compressed else start, None if compressed else stop, status.url
        ):
            data = cast("bytes", block.data)
            if block.start == 0:
                line, _, rest = data.partition(b"\n")
                header = self._header(self._names(line.removesuffix(b"\r")), columns)
                data = rest if self._csv.header else data
            yield FileBlock(data, block.start, block.stop, header)

    def decode(self, block: FileBlock, url: str, columns: pa.Schema) -> Iterator[pa.RecordBatch]:
        if isinstance(block.data, pa.RecordBatch):
            yield from self._typed(block, block.data, url, columns)
            return
        if not block.data or (block.data.isspace() and not block.data.strip(b"\r\n")):
            return
        names = self._columns(block, url, columns)
        types = pa.schema(
            [columns.field(name) for name in columns.names if name in names]
            or [pa.field(names[0], pa.string())]
        )
        try:
            yield self._parse(block.data, names, types)
        except ValueError:
            yield from self._around_bad_lines(block, url, names, types, columns)

    def infer(self, file: Any, status: FileStatus) -> pa.Schema:
        with _text(file, status.url) as text:
            records = self._reader(text)
            header = next(records, []) if self._csv.header else None
            sample = list(islice((record for record in records if record), _SAMPLE_ROWS))
        names = (
            header if header is not None else [f"_c{at}" for at in range(max(map(len, sample), default=0))]
        )
        strings = self._strings(sample, len(names))
        return pa.schema(
            [
                pa.field(name, infer_type(column) if self._csv.infer_types else pa.string())
                for name, column in zip(names, strings, strict=True)
            ]
        )

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
        if missing and self.settings.mode == "failfast":
            raise CorruptRecordError(
                f"the header lacks the column {missing[0]!r}: it names {', '.join(block.header)}",
                source="files",
                split=url,
            )
        if twice := next((name for name in names if names.count(name) > 1 and name in columns.names), None):
            raise CorruptRecordError(
                f"the header names the column {twice!r} twice", source="files", split=url
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
        return (
            tuple(f"_c{at}" for at in range(max(1, len(first))))
            if all(map(_INFERRED.fullmatch, columns.names))
            else None
        )

    def _parse(self, data: bytes, names: Sequence[str], types: pa.Schema) -> pa.RecordBatch:
        """Return the rows of whole lines. How times are spelled is found out once: mostly all are alike.

        Raises:
            ArrowInvalid: a line is no record of these types, or a record goes over several lines.
        """
        quote = self._csv.quote
        doubled = quote is not None and quote.encode() in data
        if doubled:  # the last line once more: an open quote would swallow it
            body = data.rstrip(b"\r\n")
            data = body + b"\n" + body[body.rfind(b"\n") + 1 :] + b"\n"
        table = self._table(data, names, types)
        _check_lines(data, table.num_rows)
        batch = table.slice(0, table.num_rows - doubled).combine_chunks().to_batches()[0]
        parsed = [_as(column, field.type) for column, field in zip(batch.columns, types, strict=True)]
        return pa.RecordBatch.from_arrays(parsed, schema=types)

    def _table(self, data: bytes, names: Sequence[str], types: pa.Schema) -> pa.Table:
        spellings = (
            self._spellings
            if any(pa.types.is_timestamp(field.type) for field in types)
            else self._spellings[:1]
        )
        for spelling in spellings[:-1]:
            try:
                table = pacsv.read_csv(
                    cast("IO[bytes]", pa.BufferReader(data)),
                    *self._options(len(data), names, types, spelling),
                )
            except pa.ArrowInvalid:
                continue
            self._spellings = [spelling, *(other for other in self._spellings if other is not spelling)]
            return table
        return pacsv.read_csv(
            cast("IO[bytes]", pa.BufferReader(data)), *self._options(len(data), names, types, spellings[-1])
        )

    def _options(
        self, size: int, names: Sequence[str], types: pa.Schema, times: pa.DataType
    ) -> tuple[pacsv.ReadOptions, pacsv.ParseOptions, pacsv.ConvertOptions]:
        return (
            pacsv.ReadOptions(use_threads=False, column_names=list(names), block_size=size + 1),
            pacsv.ParseOptions(
                delimiter=self._csv.separator,
                quote_char=self._csv.quote or False,
                double_quote=self._csv.quote is not None and self._csv.escape is None,
                escape_char=self._csv.escape or False,
            ),
            pacsv.ConvertOptions(
                column_types={
                    field.name: times if pa.types.is_timestamp(field.type) else field.type for field in types
                },
                include_columns=types.names,
                null_values=sorted({"", self._csv.null_value}),
                true_values=["true", "True", "TRUE"],
                false_values=["false", "False", "FALSE"],
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
            ),
        )

    def _around_bad_lines(
        self, block: FileBlock, url: str, names: Sequence[str], types: pa.Schema, columns: pa.Schema
    ) -> Iterator[pa.RecordBatch]:
        lines = [line for line in cast("bytes", block.data).split(b"\n") if line.strip(b"\r")]
        bad = BadLines(self.settings.mode, url, block.start, lambda line: self._kept(line, names, columns))
        yield from without_bad_lines(
            lines, lambda some: self._parse(b"\n".join(some) + b"\n", names, types), bad
        )
        bad.report()

    def _kept(self, line: bytes, names: Sequence[str], columns: pa.Schema) -> pa.RecordBatch:
        """Return the row of a bad line.

        Null where a value cannot be read, and the line itself in the column for it.
        """
        text = line.removesuffix(b"\r").decode("utf-8", "replace")
        record = next(self._reader([text]), [])
        strings = dict(zip(names, self._strings([record], len(names)), strict=True))
        present = [columns.field(name) for name in columns.names if name in strings]
        arrays = [parse_leniently(strings[field.name], field.type) for field in present]
        return pa.RecordBatch.from_arrays(
            [*arrays, pa.array([text], pa.string())],
            names=[*(f.name for f in present), self.settings.corrupt_column],
        )

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
                width = len(header) if header is not None else max(map(len, rows))
                arrays = self._strings(rows, width)
                lengths = pa.array([len(row) for row in rows], pa.int32())
                batch = pa.RecordBatch.from_arrays(
                    [*arrays, lengths], names=[*map(str, range(width)), "length"]
                )
                yield FileBlock(batch, done, done + len(rows), header)
                done += len(rows)

    def _typed(
        self, block: FileBlock, raw: pa.RecordBatch, url: str, columns: pa.Schema
    ) -> Iterator[pa.RecordBatch]:
        """Yield records that were read as text, with their values, and as `BadLines` says where they have none."""
        names = self._columns(block, url, columns)
        present = [columns.field(name) for name in columns.names if name in names]
        good: Any = pc.equal(raw.column("length"), pa.scalar(len(names), pa.int32()))
        arrays = []
        for field in present:
            strings = raw.column(names.index(field.name))
            values = parse_leniently(strings, field.type)
            good = pc.and_(good, pc.equal(pc.is_valid(strings), pc.is_valid(values)))
            arrays.append(values)
        texts = [
            None if fine else self._joined(list(row.values()))
            for fine, row in zip(good.to_pylist(), raw.to_pylist(), strict=True)
        ]
        batch = pa.RecordBatch.from_arrays(
            [*arrays, pa.array(texts, pa.string())],
            names=[*(f.name for f in present), self.settings.corrupt_column],
        )
        bad = len(good) - (pc.sum(good).as_py() or 0)
        if bad and self.settings.mode == "failfast":
            shown = next(text for text in texts if text is not None)
            raise CorruptRecordError(
                f"a record cannot be read: {shown[:200]!r} (mode=FAILFAST)", source="files", split=url
            )
        yield batch.filter(good) if bad and self.settings.mode == "dropmalformed" else batch

    def _joined(self, row: Sequence[Any]) -> str:
        """Return about what a record looked like: its values, as many as its last column says there were."""
        return self._csv.separator.join(value or "" for value in row[: row[-1]])

    def _strings(self, records: Sequence[Sequence[str]], width: int) -> list[pa.Array[Any]]:
        """Return records as columns of text: what is missing is null, what is too much is left out."""
        nulls = {"", self._csv.null_value}
        rows = [
            [None if value in nulls else value for value in record[:width]] + [None] * (width - len(record))
            for record in records
        ]
        return [pa.array([row[at] for row in rows], pa.string()) for at in range(width)]

    def _reader(self, lines: Iterable[str]) -> Iterator[list[str]]:
        c = self._csv
        doubled, quoting = c.escape is None, csv.QUOTE_NONE if c.quote is None else csv.QUOTE_MINIMAL
        return csv.reader(
            lines,
            delimiter=c.separator,
            quotechar=c.quote,
            escapechar=c.escape,
            doublequote=doubled,
            quoting=quoting,  # type: ignore[arg-type]
        )

    def _names(self, line: bytes) -> tuple[str, ...]:
        return tuple(next(self._reader([line.decode("utf-8", "replace")]), []))


@contextmanager
def _text(file: Any, url: str) -> Iterator[io.TextIOWrapper]:
    """Read a file as text; whoever opened it closes it."""
    text = io.TextIOWrapper(decompressed(url, file), encoding="utf-8-sig", errors="replace", newline="")
    try:
        yield text
    finally:
        text.detach()


def _as(column: pa.Array[Any], kind: pa.DataType) -> pa.Array[Any]:
    if column.type == kind:
        return column
    return parse_column(column, kind) if pa.types.is_string(column.type) else column.cast(kind)


def _check_lines(data: bytes, rows: int) -> None:
    """See that a line is a record.

    Raises:
        ArrowInvalid: some value holds a line end.
    """
    if b"\r" in data and data.count(b"\r") != data.count(b"\r\n"):
        raise pa.ArrowInvalid("a carriage return without a line feed")
    lines = data.count(b"\n") + (not data.endswith(b"\n"))
    if rows != lines and rows != sum(1 for line in data.split(b"\n") if line.strip(b"\r")):
        raise pa.ArrowInvalid(
            "a quoted value holds a line end, or a quote is not closed; set multiLine=true if values may hold line ends"
        )
