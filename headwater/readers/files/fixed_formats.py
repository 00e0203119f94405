"""Formats with the same columns in every file: text, a row a line, and whole files with their content."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any, Final, cast

import pyarrow as pa
import pyarrow.compute as pc

from headwater.core.errors import CorruptRecordError, MissingDependencyError, OptionError
from headwater.enumerators.files.split import FileStatus
from headwater.readers.files.file_format import FileBlock, FileFormat
from headwater.readers.files.line_format import LineFormat, whole_block
from headwater.readers.files.lines import Bytes

_COLUMNS: Final[list[tuple[str, pa.DataType]]] = [
    ("path", pa.string()),
    ("modificationTime", pa.timestamp("us", "UTC")),
    ("length", pa.int64()),
    ("content", pa.binary()),
]
BINARY_SCHEMA: Final = pa.schema(_COLUMNS)


class TextFormat(LineFormat):
    """Lines, or whole files with ``wholetext``.

    Bytes that are no UTF-8 stay as they are, as for Spark.
    """

    needs_schema = False

    def is_splittable(self, url: str) -> bool:
        return not self.settings.lines.whole and super().is_splittable(url)

    def blocks(
        self, file: Any, status: FileStatus, start: int, stop: int, columns: pa.Schema
    ) -> Iterator[FileBlock]:
        if not self.settings.lines.whole:
            return super().blocks(file, status, start, stop, columns)
        return whole_block(file, status)

    def decode(self, block: FileBlock, file: FileStatus, columns: pa.Schema) -> Iterator[pa.RecordBatch]:
        if len(columns) > 1 or any(kind != pa.string() for kind in columns.types):
            text = ", ".join(f"{field.name} {field.type}" for field in columns)
            raise OptionError(
                f"a line of text is one column of strings, and besides the folders of {file.url} the schema "
                f"has {text}",
                option="schema",
            )
        whole = self.settings.lines.whole
        lines = _one(block.text).view(pa.string()) if whole else _lines(block.text, self.ends.separator)
        yield pa.RecordBatch.from_arrays([lines], names=columns.names or [""])

    def infer(self, file: Any, status: FileStatus) -> pa.Schema:
        return pa.schema([pa.field("value", pa.string())])


def _lines(data: Bytes, separator: bytes | None) -> pa.Array[Any]:
    """Split bytes at line ends, without a look at the lines."""
    lines = kernel_lines()(data, separator)
    return _split(data, separator) if lines is None else lines


@functools.cache
def kernel_lines() -> Callable[[Bytes, bytes | None], pa.Array[Any] | None]:
    """Return the function that splits at single bytes. Text is read without numba too, slower."""
    try:
        from headwater.readers.formats.lines.lines import KERNEL, line_texts

        KERNEL.load()
    except MissingDependencyError:
        return lambda _data, _separator: None
    return line_texts


def _split(data: Bytes, separator: bytes | None) -> pa.Array[Any]:
    if separator is None:
        separator = b"\n"
        if b"\r" in data:
            data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    lines = pc.split_pattern(_one(data), cast("str", separator)).values.view(pa.string())
    # The text after the last line end is no line if it is empty.
    rest: Any = lines.slice(len(lines) - 1).view(pa.binary())[0]
    return lines.slice(0, len(lines) - 1) if rest == pa.scalar(b"", pa.binary()) else lines


def _one(data: Bytes) -> pa.Array[Any]:
    """Return one value that is all of the data, without a copy of it."""
    offsets = pa.array([0, len(data)], pa.int32()).buffers()[1]
    return pa.Array.from_buffers(pa.binary(), 1, [None, offsets, pa.py_buffer(data)])


class BinaryFileFormat(FileFormat):
    """Whole files of any kind: each is a row with its path, time, length and content.

    The content is read only if its column is wanted.
    """

    needs_schema = False

    def blocks(
        self, file: Any, status: FileStatus, start: int, stop: int, columns: pa.Schema
    ) -> Iterator[FileBlock]:
        _check(columns, status)
        wants_content = "content" in columns.names
        most = self.settings.most_content_bytes
        if wants_content and status.size_bytes > most:
            raise CorruptRecordError(
                f"the file has {status.size_bytes} bytes, and a content at most {most} "
                "(spark.sql.sources.binaryFile.maxLength); leave out the column content, or the file "
                "(pathGlobFilter)",
                source="files",
                split=status.url,
            )
        values = {
            "path": status.url.replace("file://", "file:", 1),
            "modificationTime": status.modified_ms * 1000,
            "length": status.size_bytes,
            "content": file.read() if wants_content else None,
        }
        row = [pa.array([values[field.name]], field.type) for field in columns]
        batch = pa.RecordBatch.from_arrays(row or [pa.nulls(1)], names=columns.names or [""])
        yield FileBlock(batch, 0, status.size_bytes)

    def decode(self, block: FileBlock, file: FileStatus, columns: pa.Schema) -> Iterator[pa.RecordBatch]:
        yield block.batch

    def infer(self, file: Any, status: FileStatus) -> pa.Schema:
        return BINARY_SCHEMA


def _check(columns: pa.Schema, status: FileStatus) -> None:
    for field in columns:
        if field.name not in BINARY_SCHEMA.names or field.type != BINARY_SCHEMA.field(field.name).type:
            raise CorruptRecordError(
                f"binaryFile has no column {field.name!r} of {field.type}; it has "
                f"{', '.join(f'{each.name} {each.type}' for each in BINARY_SCHEMA)}",
                source="files",
                split=status.url,
            )
