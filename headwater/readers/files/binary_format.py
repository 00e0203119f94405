"""Whole files of any kind: each is a row with its path, time, length and content."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import pyarrow as pa

from headwater.core.errors import CorruptRecordError
from headwater.enumerators.files.split import FileStatus
from headwater.readers.files.file_format import FileBlock, FileFormat

_COLUMNS: Final[list[tuple[str, pa.DataType]]] = [
    ("path", pa.string()),
    ("modificationTime", pa.timestamp("us", "UTC")),
    ("length", pa.int64()),
    ("content", pa.binary()),
]
BINARY_SCHEMA: Final = pa.schema(_COLUMNS)


class BinaryFileFormat(FileFormat):
    """The content is read only if its column is wanted."""

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
