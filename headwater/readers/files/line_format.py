"""Formats whose records are lines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from headwater.enumerators.files.split import FileStatus
from headwater.readers.files.block import FileBlock
from headwater.readers.files.compression import decompressed, is_compressed
from headwater.readers.files.file_format import FileFormat
from headwater.readers.files.line_blocks import line_blocks

if TYPE_CHECKING:
    import pyarrow as pa


class LineFormat(FileFormat):
    """Cuts files into blocks of whole lines.

    A compressed file is read by one task, since it can only be read from its beginning.
    """

    def is_splittable(self, url: str) -> bool:
        return not is_compressed(url)

    def blocks(
        self, file: Any, status: FileStatus, start: int, stop: int, columns: pa.Schema
    ) -> Iterator[FileBlock]:
        if is_compressed(status.url):
            return line_blocks(decompressed(status.url, file), 0, None, status.url)
        return line_blocks(file, start, stop, status.url)
