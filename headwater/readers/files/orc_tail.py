"""The end of an ORC file: its number of rows by stripe, its calendar, and the zone of each stripe's writer.

pyarrow reads this too, and has no function that returns it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, TypeAlias

from headwater.core.varints import read_varint
from headwater.readers.compression import (
    DAMAGED,
    LargeBlockError,
    deflated_pieces,
    lz4_block,
    lz4_size,
    snappy_block,
    snappy_size,
    within,
    zstandard_pieces,
)

_LONGEST_POSTSCRIPT: Final = 256
_NO_COMPRESSION, _ZLIB, _SNAPPY, _LZO, _LZ4, _ZSTD = range(6)
_DEFAULT_CHUNK: Final = 1 << 18
_MOST_CHUNK: Final = 1 << 23
"""A chunk's length, and its mark, have three bytes: no writer makes larger ones."""
_CHUNK_HEAD: Final = 3
_ORIGINAL: Final = 1
"""The bit of a chunk that is not compressed."""
# Field numbers of ORC's own schema of Protocol Buffers: postscript, footer, stripe, footer of a stripe.
_FOOTER_SIZE, _COMPRESSION, _CHUNK_SIZE = 1, 2, 3
_STRIPES, _ALL_ROWS, _CALENDAR = 3, 6, 11
_OFFSET, _INDEX_SIZE, _DATA_SIZE, _STRIPE_FOOTER_SIZE, _ROWS = 1, 2, 3, 4, 5
_WRITER_ZONE: Final = 3
_PROLEPTIC: Final = 2
"""The Gregorian calendar, before 1582 too. Otherwise dates until then are by the Julian one."""
_VARINT, _EIGHT_BYTES, _BYTES, _FOUR_BYTES = 0, 1, 2, 5
_NOT_ORC: Final = "its end is not what ORC writes there"

_Fields: TypeAlias = dict[int, list[int | bytes]]
"""The values of a message, by the numbers of their fields."""


class OrcTail:
    """The end of a file, which locates everything else in it.

    Args:
        file: an open binary file.
        size: of it.

    Raises:
        ValueError: it is damaged, or no ORC file.
    """

    def __init__(self, file: Any, size: int) -> None:
        self._file = file
        # The last byte is the size of the postscript, which lies before it.
        end = self._bytes(max(0, size - 1 - _LONGEST_POSTSCRIPT), size)
        postscript = _fields(end[-1 - end[-1] : -1]) if end else {}
        self._compression = _number(postscript, _COMPRESSION)
        self._chunk_size = _number(postscript, _CHUNK_SIZE, _DEFAULT_CHUNK)
        if not 0 < self._chunk_size <= _MOST_CHUNK:
            raise ValueError(_NOT_ORC)
        stop = size - 1 - end[-1] if end else 0
        footer = _fields(self._content(stop - _number(postscript, _FOOTER_SIZE), stop))
        stripes = [_fields(raw) for raw in _messages(footer, _STRIPES)]
        if sum(_number(stripe, _ROWS) for stripe in stripes) != _number(footer, _ALL_ROWS):
            # The list of stripes is damaged: pyarrow would skip the rows of one.
            raise ValueError(_NOT_ORC)
        self.footers = [_footer_place(stripe) for stripe in stripes]
        """Where the footers of the stripes begin and end, in the file's order."""
        self.data_sizes = [_number(stripe, _DATA_SIZE) for stripe in stripes]
        """How many bytes of data the stripes have in the file."""
        self.is_proleptic = _number(footer, _CALENDAR) == _PROLEPTIC
        """Whether dates are by the Gregorian calendar, also before 1582."""

    def writer_zone(self, stripe: int) -> str:
        """Return the zone of the clock by which times without a zone were written: Java's name of it.

        Raises:
            ValueError: the footer of the stripe is damaged.
        """
        footer = _fields(self._content(*self.footers[stripe]))
        return b"".join(_messages(footer, _WRITER_ZONE)[-1:]).decode("ascii")

    def _content(self, start: int, stop: int) -> bytes:
        """Return a part of the file, decompressed."""
        raw = self._bytes(start, stop)
        return raw if self._compression == _NO_COMPRESSION else b"".join(self._chunks(raw))

    def _chunks(self, raw: bytes) -> Iterator[bytes]:
        while raw:
            head = int.from_bytes(raw[:_CHUNK_HEAD], "little")
            chunk = raw[_CHUNK_HEAD : _CHUNK_HEAD + (head >> 1)]
            raw = raw[_CHUNK_HEAD + (head >> 1) :]
            yield chunk if head & _ORIGINAL else self._decompressed(chunk)

    def _decompressed(self, chunk: bytes) -> bytes:
        if self._compression not in {_ZLIB, _SNAPPY, _LZ4, _ZSTD}:
            name = "lzo" if self._compression == _LZO else "?"
            raise ValueError(f"its end is compressed by {name}, which is not read here")
        try:
            if self._compression == _ZLIB:
                return within(deflated_pieces(chunk), self._chunk_size)
            if self._compression == _ZSTD:
                return within(zstandard_pieces(chunk), self._chunk_size)
            if self._compression == _SNAPPY:
                return snappy_block(chunk, min(snappy_size(chunk), self._chunk_size))
            return lz4_block(chunk, lz4_size(chunk, self._chunk_size))
        except (*DAMAGED, OSError, LargeBlockError) as error:
            raise ValueError(_NOT_ORC) from error

    def _bytes(self, start: int, stop: int) -> bytes:
        if not 0 <= start <= stop:
            raise ValueError(_NOT_ORC)
        self._file.seek(start)
        return bytes(self._file.read(stop - start))


def _footer_place(stripe: _Fields) -> tuple[int, int]:
    """Return where a stripe's footer begins and ends: behind its index and its data."""
    start = sum(_number(stripe, which) for which in (_OFFSET, _INDEX_SIZE, _DATA_SIZE))
    return start, start + _number(stripe, _STRIPE_FOOTER_SIZE)


def _fields(raw: bytes) -> _Fields:
    """Return the fields of a message of Protocol Buffers.

    Raises:
        ValueError: it is damaged.
    """
    fields: _Fields = {}
    at = 0
    while at < len(raw):
        tag, at = _varint(raw, at)
        kind = tag & 7
        value: int | bytes
        if kind == _VARINT:
            value, at = _varint(raw, at)
        elif kind in {_BYTES, _EIGHT_BYTES, _FOUR_BYTES}:
            size, at = _varint(raw, at) if kind == _BYTES else (8 if kind == _EIGHT_BYTES else 4, at)
            value = raw[at : at + size]
            at += size
        else:
            raise ValueError(_NOT_ORC)
        fields.setdefault(tag >> 3, []).append(value)
    return fields


def _number(fields: _Fields, which: int, default: int = 0) -> int:
    """Return an integer of a message: the last one that stands there."""
    numbers = [value for value in fields.get(which, [default]) if isinstance(value, int)]
    if not numbers:
        raise ValueError(_NOT_ORC)
    return numbers[-1]


def _messages(fields: _Fields, which: int) -> list[bytes]:
    """Return all messages or texts of a field."""
    values = fields.get(which, [])
    messages = [value for value in values if isinstance(value, bytes)]
    if len(messages) < len(values):
        raise ValueError(_NOT_ORC)
    return messages


def _varint(raw: bytes, at: int) -> tuple[int, int]:
    """Return an integer of variable length, and where it ends."""
    try:
        return read_varint(raw, at)
    except (IndexError, ValueError):
        raise ValueError(_NOT_ORC) from None
