"""Text: a line is a row, in the column ``value``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO, Any, cast

import pyarrow as pa
import pyarrow.csv as pacsv

from enumerators.files.split import FileStatus
from headwater_core.errors import CorruptRecordError
from readers.files.block import FileBlock
from readers.files.compression import decompressed, is_compressed
from readers.files.file_format import FileFormat
from readers.files.line_blocks import line_blocks

__all__ = ["TextFormat"]

_UNUSED = tuple(bytes([code]) for code in (1, 2, 3, 4, 5, 6, 7))
_STARTS_LIKE_A_MARK = b"\xef\xbb\xbf"


class TextFormat(FileFormat):
    r"""Lines end with ``\n``, ``\r\n`` or ``\r``, as for Spark; bytes that are no UTF-8 stay as they are, as for Spark."""

    needs_schema = False

    def is_splittable(self, url: str) -> bool:
        return not is_compressed(url)

    def blocks(self, file: Any, status: FileStatus, start: int, stop: int, columns: pa.Schema) -> Iterator[FileBlock]:
        if is_compressed(status.url):
            return line_blocks(decompressed(status.url, file), 0, None, status.url)
        return line_blocks(file, start, stop, status.url)

    def decode(self, block: FileBlock, url: str, columns: pa.Schema) -> Iterator[pa.RecordBatch]:
        assert isinstance(block.data, bytes)
        if len(columns) > 1:
            raise CorruptRecordError(f"a line of text is one column, the schema has {', '.join(columns.names)}", source="files", split=url)
        yield pa.RecordBatch.from_arrays([_lines(block.data)], names=columns.names or [""])

    def infer(self, file: Any, status: FileStatus) -> pa.Schema:
        return pa.schema([pa.field("value", pa.string())])


def _lines(data: bytes) -> pa.Array[Any]:
    """Split bytes at line ends: by the CSV parser, with a separator that does not occur, which is several times as fast as Python."""
    separator = next((code for code in _UNUSED if code not in data), None)
    if separator is None or data.startswith(_STARTS_LIKE_A_MARK):
        return _lines_slowly(data)
    table = pacsv.read_csv(
        cast("IO[bytes]", pa.BufferReader(data)),
        read_options=pacsv.ReadOptions(use_threads=False, column_names=["value"], block_size=len(data) + 1),
        parse_options=pacsv.ParseOptions(delimiter=separator.decode(), quote_char=False, double_quote=False, ignore_empty_lines=False),
        convert_options=pacsv.ConvertOptions(column_types={"value": pa.string()}, strings_can_be_null=False, check_utf8=False),
    )
    return table.combine_chunks().to_batches()[0].column(0)


def _lines_slowly(data: bytes) -> pa.Array[Any]:
    lines = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n").removesuffix(b"\n").split(b"\n")
    return pa.Array.from_buffers(pa.string(), len(lines), pa.array(lines, pa.binary()).buffers())
