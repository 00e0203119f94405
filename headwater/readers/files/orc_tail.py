"""What pyarrow does not tell of an ORC file: where its stripes lie, and by which clocks they were written."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa

from headwater.readers.files.protobuf_fields import DAMAGED, Fields, all_bytes, decoded, number, varint

_LONGEST_POSTSCRIPT: Final = 256
_COMPRESSIONS: Final = ("none", "zlib", "snappy", "lzo", "lz4", "zstd")
_CHUNK_HEAD: Final = 3
_LONGEST_CHUNK: Final = (1 << 23) - 1
_ORIGINAL: Final = 1
"""The bit of a chunk that is not compressed."""
# Numbers of fields in ORC's own schema of Protocol Buffers.
_FOOTER_SIZE, _COMPRESSION, _CHUNK_SIZE = 1, 2, 3
_STRIPES: Final = 3
_ALL_ROWS: Final = 6
_OFFSET, _INDEX_SIZE, _DATA_SIZE, _STRIPE_FOOTER_SIZE, _ROWS = 1, 2, 3, 4, 5
_WRITER_ZONE: Final = 3


@dataclass(frozen=True)
class OrcStripe:
    """Where a stripe lies.

    Attributes:
        rows: how many it has.
        start: its first byte in the file.
        footer: where its footer begins.
        stop: the byte behind it.
    """

    rows: int
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
        self.postscript = decoded(end[-1 - end[-1] : -1]) if end else {}
        """How the file is compressed, among other things."""
        self._compression = number(self.postscript, _COMPRESSION)
        self._chunk_size = number(self.postscript, _CHUNK_SIZE, 1 << 18)
        stop = size - 1 - end[-1] if end else 0
        self.footer = decoded(self._content(stop - number(self.postscript, _FOOTER_SIZE), stop))
        """What the file holds: its types, and where its stripes are."""
        self.stripes = [_stripe(decoded(raw)) for raw in all_bytes(self.footer, _STRIPES)]
        """All of them, in the file's order."""
        if sum(stripe.rows for stripe in self.stripes) != number(self.footer, _ALL_ROWS):
            # What names a stripe is damaged: its rows would be left out.
            raise ValueError(DAMAGED)

    def writer_zone(self, stripe: int) -> str:
        """Return the zone of the clock by which times without a zone were written: Java's name of it.

        Raises:
            ValueError: the footer of the stripe is damaged.
        """
        return b"".join(all_bytes(self.stripe_footer(stripe), _WRITER_ZONE)[-1:]).decode("ascii")

    def stripe_footer(self, stripe: int) -> Fields:
        """Return what a stripe, by its number, says of its columns.

        Raises:
            ValueError: it is damaged.
        """
        return decoded(self._content(self.stripes[stripe].footer, self.stripes[stripe].stop))

    def raw(self, start: int, stop: int) -> bytes:
        """Return bytes as they are in the file.

        Raises:
            ValueError: a damaged part of it has said that they are there.
        """
        found = self._bytes(start, stop)
        if len(found) < stop - start:
            raise ValueError(DAMAGED)
        return found

    def stored(self, content: bytes) -> bytes:
        """Return what stands for this in a file that is compressed as this one is."""
        if self._compression == 0:
            return content
        size = min(self._chunk_size, _LONGEST_CHUNK)
        parts = (content[at : at + size] for at in range(0, len(content), size))
        return b"".join((len(part) << 1 | _ORIGINAL).to_bytes(_CHUNK_HEAD, "little") + part for part in parts)

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
                size = min(varint(chunk, 0)[0], self._chunk_size)
                return pa.Codec("snappy").decompress(chunk, decompressed_size=size, asbytes=True)
            if name == "lz4":
                return _lz4(chunk, self._chunk_size)
        except (pa.ArrowException, OSError, zlib.error) as error:
            raise ValueError(DAMAGED) from error
        raise ValueError(f"its end is compressed by {name}, which is not read here")

    def _bytes(self, start: int, stop: int) -> bytes:
        if not 0 <= start <= stop:
            raise ValueError(DAMAGED)
        self._file.seek(start)
        return bytes(self._file.read(stop - start))


def _stripe(fields: Fields) -> OrcStripe:
    start = number(fields, _OFFSET)
    footer = start + number(fields, _INDEX_SIZE) + number(fields, _DATA_SIZE)
    stop = footer + number(fields, _STRIPE_FOOTER_SIZE)
    return OrcStripe(number(fields, _ROWS), start, footer, stop)


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
            raise ValueError(DAMAGED)
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
