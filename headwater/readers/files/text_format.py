"""Text: a line is a row, in the column ``value``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import pyarrow as pa
import pyarrow.compute as pc

from headwater.core.errors import CorruptRecordError
from headwater.enumerators.files.split import FileStatus
from headwater.readers.files.file_format import FileBlock
from headwater.readers.files.line_format import LineFormat


class TextFormat(LineFormat):
    r"""Lines end with ``\n``, ``\r\n`` or ``\r``, as for Spark.

    Bytes that are no UTF-8 stay as they are, as for Spark.
    """

    needs_schema = False

    def decode(self, block: FileBlock, file: FileStatus, columns: pa.Schema) -> Iterator[pa.RecordBatch]:
        assert isinstance(block.data, bytes), "blocks of lines are bytes"
        if len(columns) > 1:
            raise CorruptRecordError(
                f"a line of text is one column, the schema has {', '.join(columns.names)}",
                source="files",
                split=file.url,
            )
        yield pa.RecordBatch.from_arrays([_lines(block.data)], names=columns.names or [""])

    def infer(self, file: Any, status: FileStatus) -> pa.Schema:
        return pa.schema([pa.field("value", pa.string())])


def _lines(data: bytes) -> pa.Array[Any]:
    """Split bytes at line ends, without looking at what is in between."""
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    # One value that is all of the data, without a copy of it, to be split by pyarrow.
    offsets = pa.array([0, len(data)], pa.int32()).buffers()[1]
    whole = pa.Array.from_buffers(pa.binary(), 1, [None, offsets, pa.py_buffer(data)])
    lines = pc.split_pattern(whole, cast("str", b"\n")).values.view(pa.string())
    # The text after the last line end is no line if it is empty.
    count = len(lines) - 1 if data.endswith(b"\n") else len(lines)
    return lines.slice(0, count)
