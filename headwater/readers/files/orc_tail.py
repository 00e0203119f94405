"""What pyarrow does not tell of an ORC file: where its stripes lie, and by which clocks they were written."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import pyarrow as pa

_LONGEST_POSTSCRIPT: Final = 256
_COMPRESSIONS: Final = ("none", "zlib", "snappy", "lzo", "lz4", "zstd")
_CHUNK_HEAD: Final = 3
_ORIGINAL: Final = 1
"""The bit of a chunk that is not compressed."""
_VARINT: Final = 0
_EIGHT_BYTES: Final = 1
_BYTES: Final = 2
_FOUR_BYTES: Final = 5
# Numbers of fields in ORC's own schema of Protocol Buffers.
_FOOTER_SIZE, _COMPRESSION, _CHUNK_SIZE = 1, 2, 3
_STRIPES: Final = 3
_OFFSET, _INDEX_SIZE, _DATA_SIZE, _STRIPE_FOOTER_SIZE = 1, 2, 3, 4
_WRITER_ZONE: Final = 3
_DAMAGED: Final = "its end is not what ORC writes there"

_Fields: TypeAlias = dict[int, list[int | bytes]]
"""The values of a message of Protocol Buffers, by the numbers of their fields."""


@dataclass(frozen=True)
class OrcStripe:
    """Where a stripe lies.

    Attributes:
        start: its first byte in the file.
        footer: where its footer begins.
        stop: the byte behind it.
    """

    start: int
    footer: int
    stop: int


class OrcTail:
    """The end of a file, which says where all else is.

    Args:
        file: an open binary file.
        size: of it.

    Raises:
        ValueError: it is damaged, or no ORC file.
    """

    def __init__(self, file: Any, size: int) -> None:
        self._file = file
        # The last byte is the size of what is before it.
        end = self._bytes(max(0, size - 1 - _LONGEST_POSTSCRIPT), size)
        postscript = _fields(end[-1 - end[-1] : -1]) if end else {}
        self._compression = _number(postscript, _COMPRESSION)
        self._chunk_size = _number(postscript, _CHUNK_SIZE, 1 << 18)
        stop = size - 1 - end[-1] if end else 0
        footer = _fields(self._content(stop - _number(postscript, _FOOTER_SIZE), stop))
        self.stripes = [_stripe(_fields(raw)) for raw in _all_bytes(footer, _STRIPES)]
        """All of them, in the file's order."""

    def writer_zone(self, number: int) -> str:
        """Return the zone of the clock by which times without a zone were written: Java's name of it.

        Raises:
            ValueError: the footer of the stripe is damaged.
        """
        stripe = self.stripes[number]
        footer = _fields(self._content(stripe.footer, stripe.stop))
        return b"".join(_all_bytes(footer, _WRITER_ZONE)[-1:]).decode("ascii")

    def _content(self, start: int, stop: int) -> bytes:
        """Return a part of the file as it was before compression."""
        raw = self._bytes(start, stop)
        return raw if self._compression == 0 else b"".join(self._chunks(raw))

    def _chunks(self, raw: bytes) -> Iterator[bytes]:
        while raw:
            head = int.from_bytes(raw[:_CHUNK_HEAD], "little")
            chunk = raw[_CHUNK_HEAD : _CHUNK_HEAD + (head >> 1)]
            raw = raw[_CHUNK_HEAD + (head >> 1) :]
            yield chunk if head & _ORIGINAL else self._decompressed(chunk)

    def _decompressed(self, chunk: bytes) -> bytes:
        name = _COMPRESSIONS[self._compression] if self._compression < len(_COMPRESSIONS) else "?"
        try:
            if name == "zlib":
                return zlib.decompressobj(-zlib.MAX_WBITS).decompress(chunk, self._chunk_size)
            if name == "zstd":
                with pa.CompressedInputStream(pa.BufferReader(chunk), "zstd") as stream:
                    return bytes(stream.read(self._chunk_size))
            if name == "snappy":
                size = min(_varint(chunk, 0)[0], self._chunk_size)
                return pa.Codec("snappy").decompress(chunk, decompressed_size=size, asbytes=True)
            if name == "lz4":
                return _lz4(chunk, self._chunk_size)
        except (pa.ArrowException, OSError, zlib.error) as error:
            raise ValueError(_DAMAGED) from error
        raise ValueError(f"its end is compressed by {name}, which is not read here")

    def _bytes(self, start: int, stop: int) -> bytes:
        if not 0 <= start <= stop:
            raise ValueError(_DAMAGED)
        self._file.seek(start)
        return bytes(self._file.read(stop - start))


def _stripe(fields: _Fields) -> OrcStripe:
    start = _number(fields, _OFFSET)
    footer = start + _number(fields, _INDEX_SIZE) + _number(fields, _DATA_SIZE)
    return OrcStripe(start, footer, footer + _number(fields, _STRIPE_FOOTER_SIZE))


def _number(fields: _Fields, which: int, default: int = 0) -> int:
    values = fields.get(which, [default])
    found = [value for value in values if isinstance(value, int)]
    if len(found) < len(values):
        raise ValueError(_DAMAGED)
    return found[-1]


def _all_bytes(fields: _Fields, which: int) -> list[bytes]:
    values = fields.get(which, [])
    found = [value for value in values if isinstance(value, bytes)]
    if len(found) < len(values):
        raise ValueError(_DAMAGED)
    return found


def _fields(raw: bytes) -> _Fields:
    """Return what a message holds."""
    found: _Fields = {}
    at = 0
    while at < len(raw):
        tag, at = _varint(raw, at)
        kind = tag & 7
        if kind == _VARINT:
            value: int | bytes
            value, at = _varint(raw, at)
        elif kind in {_BYTES, _EIGHT_BYTES, _FOUR_BYTES}:
            size, at = _varint(raw, at) if kind == _BYTES else (8 if kind == _EIGHT_BYTES else 4, at)
            value = raw[at : at + size]
            at += size
        else:
            raise ValueError(_DAMAGED)
        found.setdefault(tag >> 3, []).append(value)
    return found


def _varint(raw: bytes, at: int) -> tuple[int, int]:
    """Return a number of variable length, and where it ends."""
    value = 0
    for shift in range(0, 70, 7):
        if at >= len(raw):
            break
        byte = raw[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
    raise ValueError(_DAMAGED)


def _lz4(block: bytes, most: int) -> bytes:
    """Return what a block of LZ4 holds, which does not say how much that is."""
    out = bytearray()
    at = 0
    while at < len(block):
        token = block[at]
        size, at = _lz4_size(block, at + 1, token >> 4)
        out += block[at : at + size]
        at += size
        if at >= len(block):
            break  # the last sequence has literals only
        back = int.from_bytes(block[at : at + 2], "little")
        size, at = _lz4_size(block, at + 2, token & 15)
        if not 0 < back <= len(out) or len(out) + size > most:
            raise ValueError(_DAMAGED)
        for _ in range(size + 4):
            out.append(out[-back])
    return bytes(out)


def _lz4_size(block: bytes, at: int, size: int) -> tuple[int, int]:
    """Return a length whose first part is in a token, and where the rest of it ends."""
    more = size == 15
    while more and at < len(block):
        size += block[at]
        more = block[at] == 255
        at += 1
    return size, at
