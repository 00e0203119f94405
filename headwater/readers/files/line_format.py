"""Formats whose records are lines: where a byte range of a text file really begins and ends.

The rule that makes every line belong to exactly one range, for any borders: a range reads the lines that
BEGIN in it, the last one to its end. A line begins at the start of the file, and after every line's end.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import pyarrow as pa

from headwater.core.errors import CorruptRecordError
from headwater.enumerators.files.split import FileStatus
from headwater.readers.files.compressed_files import decompressed, is_compressed
from headwater.readers.files.file_format import FileBlock, FileFormat
from headwater.readers.files.lines import Bytes, LineEnds, UniversalEnds, line_ends

LONGEST_LINE_BYTES = 1 << 29
"""Text may become three times as long where it is not UTF-8, and a column of a batch holds 2 GiB."""
_UNIVERSAL = UniversalEnds()
_BOM = b"\xef\xbb\xbf"


class LineFormat(FileFormat):
    """Cuts files into blocks of whole lines.

    A compressed file is read by one task, since it can only be read from its beginning.
    """

    @cached_property
    def ends(self) -> LineEnds:
        """Finds lines, as the settings say."""
        return line_ends(self.settings.lines.separator_bytes)

    def is_splittable(self, url: str) -> bool:
        return not is_compressed(url) and self.ends.is_splittable

    def blocks(
        self, file: Any, status: FileStatus, start: int, stop: int, columns: pa.Schema
    ) -> Iterator[FileBlock]:
        if is_compressed(status.url):
            return line_blocks(decompressed(status.url, file), 0, None, status.url, self.ends)
        return line_blocks(file, start, stop, status.url, self.ends)


def line_blocks(  # noqa: PLR0917 - a range of a file, and what is in it
    file: Any,
    start: int,
    stop: int | None,
    url: str,
    ends: LineEnds = _UNIVERSAL,
    block_bytes: int = 1 << 20,
) -> Iterator[FileBlock]:
    """Yield the lines that begin in a range, in blocks of whole lines.

    A byte order mark of UTF-8 at the start of the file is left out.

    Args:
        file: to be read; must be able to seek unless ``start`` is 0.
        start: the first byte of the range.
        stop: the first byte after it; None for the end of the file.
        url: of the file, for errors.
        ends: finds lines.
        block_bytes: how much to read at once; a longer line makes a longer block.

    Raises:
        CorruptRecordError: a line is longer than 512 MiB: this is no text.
    """
    at = _next_line(file, start, ends, block_bytes) if start else 0
    # What was read and is not yielded yet; it begins at `at`.
    rest = bytearray()
    while stop is None or at < stop:
        # As much again as there is of a long line: it is not copied for every block that it has.
        more = min(len(rest), LONGEST_LINE_BYTES + 1 - len(rest))
        buffer = _read_behind(rest, file, max(block_bytes, more))
        if len(buffer) == len(rest):
            # The line ends of a range that ends here were all found.
            if buffer:
                yield _block(buffer, at)
            return
        length = _whole_lines(buffer, None if stop is None else stop - at, ends)
        rest = buffer[length:]
        if length:
            del buffer[length:]
            yield _block(buffer, at)
            at += length
        if len(rest) > LONGEST_LINE_BYTES:
            raise CorruptRecordError(
                f"a line is longer than {LONGEST_LINE_BYTES} bytes",
                source="files",
                split=url,
                position=at,
            )


def _read_behind(begin: bytearray, file: Any, size: int) -> bytearray:
    """Return ``begin`` and up to ``size`` bytes that follow in a file.

    A block is read to where it stays, and cut off without a copy: to copy it costs as much as to read it.
    """
    buffer = bytearray(len(begin) + size)
    buffer[: len(begin)] = begin
    with memoryview(buffer) as whole, whole[len(begin) :] as free:
        count = file.readinto(free)
    del buffer[len(begin) + count :]
    return buffer


def whole_block(file: Any, status: FileStatus) -> Iterator[FileBlock]:
    """Yield a whole file, after decompression, as one block.

    Raises:
        CorruptRecordError: it is larger than 512 MiB, or damaged: a part of it is no record.
    """
    whole = decompressed(status.url, file)
    data = whole.read(LONGEST_LINE_BYTES + 1)
    if len(data) > LONGEST_LINE_BYTES:
        raise CorruptRecordError(
            f"the file holds more than {LONGEST_LINE_BYTES} bytes, too much for one record",
            source="files",
            split=status.url,
        )
    whole.read(1)  # What was read before a damaged place is no error yet.
    yield FileBlock(data, 0, status.size_bytes)


def _whole_lines(buffer: Bytes, to_stop: int | None, ends: LineEnds) -> int:
    """Return the length of the whole lines in a buffer that belong to a range, 0 if no line is whole yet.

    Args:
        buffer: bytes of the file, from the beginning of a line.
        to_stop: how many of its bytes are in the range; None for all.
        ends: finds lines.
    """
    if to_stop is None or to_stop > len(buffer):
        return ends.last(buffer)
    # The range ends here: its last line is the one with the range's last byte.
    return ends.first(buffer, to_stop)


def _next_line(file: Any, start: int, ends: LineEnds, block_bytes: int) -> int:
    """Return where the first line at or after ``start`` begins, and leave the file there."""
    at = max(0, start - ends.lookback)
    file.seek(at)
    buffer = b""
    while data := file.read(block_bytes):
        # So much of what was read before that a separator across the border is found.
        overlap = buffer[-ends.lookback :]
        at += len(buffer) - len(overlap)
        buffer = overlap + data
        if line_start := ends.first(buffer, start - at):
            at += line_start
            break
    else:
        at += len(buffer)
    file.seek(at)
    return at


def _block(data: bytearray, at: int) -> FileBlock:
    stop = at + len(data)
    if at == 0 and data.startswith(_BOM):
        del data[: len(_BOM)]
    return FileBlock(data, at, stop)
