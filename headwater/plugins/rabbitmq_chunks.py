"""Chunks of RabbitMQ's streams as messages in memory that lie where they were received.

A chunk has entries, each a message, or several that were compressed together.
"""

from __future__ import annotations

import struct
import zlib
from contextlib import suppress
from typing import Final, NamedTuple

import pyarrow as pa

_HEADER: Final = struct.Struct(">BBHIqQQIIII")
_VERSION: Final = 0x50
_IS_PACK: Final = 0x80
_PACK: Final = struct.Struct(">BHII")
_MOST_INFLATED_BYTES: Final = 1 << 28
_LENGTH: Final = struct.Struct(">I").unpack_from


class ChunkBounds(NamedTuple):
    """The place of a chunk.

    Attributes:
        first: the offset of its first message.
        end: the offset behind its last one.
        timestamp_ms: when it was written.
    """

    first: int
    end: int
    timestamp_ms: int


def bound_of(chunk: memoryview) -> ChunkBounds:
    """Return the place of a chunk."""
    _, _, _, records, timestamp_ms, _, first, *_ = _HEADER.unpack_from(chunk)
    return ChunkBounds(first, first + records, timestamp_ms)


def message_bytes(chunk: memoryview) -> int:
    """Return the mean size of a chunk's messages, decompressed."""
    _, _, entries, records, _, _, _, _, size, _, _ = _HEADER.unpack_from(chunk)
    total: int = size
    at = _HEADER.size
    with suppress(IndexError, struct.error):  # it is damaged, as the task says that reads it
        for _ in range(entries):
            if chunk[at] & _IS_PACK:
                _, _, raw_size, packed_size = _PACK.unpack_from(chunk, at)
                at += _PACK.size + packed_size
                total += raw_size - packed_size
            else:
                at += 4 + _LENGTH(chunk, at)[0]
    mean: int = total // max(1, records)
    return mean


class Chunks:
    """Consecutive chunks, which become messages together: small ones cost little that way.

    Attributes:
        byte_count: of all their messages.
        blocks: the bytes that messages lie in, one block behind the other.
        starts: where each message begins in them.
        ends: where each ends.
        spans: of each chunk the first offset, the one behind the last, and when it was written, in ms.
    """

    def __init__(self) -> None:
        self.byte_count = 0
        self.blocks: list[bytes] = []
        self.starts: list[int] = []
        self.ends: list[int] = []
        self.spans: list[tuple[int, int, int]] = []

    def __len__(self) -> int:
        return len(self.starts)

    def add(self, chunk: memoryview, first: int, end: int) -> None:
        """Add the messages of a chunk from offset `first` to before `end`.

        Raises:
            ValueError: the chunk is damaged, or compressed in an unknown way.
        """
        version, _, entries, records, time_ms, _, offset, checksum, size, _, _ = _HEADER.unpack_from(chunk)
        data = bytes(chunk[_HEADER.size : _HEADER.size + size])
        if version != _VERSION or len(data) != size or zlib.crc32(data) != checksum:
            raise ValueError("a chunk is damaged")
        starts: list[int] = []
        ends: list[int] = []
        try:
            at = self._entries(data, entries, starts, ends)
        except (IndexError, struct.error):
            at = -1
        if at != size or len(starts) != records:
            raise ValueError("a chunk does not hold what it says")
        self.starts += starts[first - offset : end - offset]
        self.ends += ends[first - offset : end - offset]
        self.spans.append((first, end, time_ms))

    def _entries(self, data: bytes, entries: int, starts: list[int], ends: list[int]) -> int:
        """Note where messages lie; return where the entries end."""
        base = self._take(data)
        at = 0
        for _ in range(entries):
            if data[at] & _IS_PACK:
                codec, count, raw_size, packed_size = _PACK.unpack_from(data, at)
                at += _PACK.size
                block = _inflated(codec >> 4 & 7, data[at : at + packed_size], raw_size)
                at += packed_size
                _walk(block, count, self._take(block), starts, ends)
            else:
                (length,) = _LENGTH(data, at)
                starts.append(base + at + 4)
                at += 4 + length
                ends.append(base + at)
        return at

    def _take(self, block: bytes) -> int:
        self.blocks.append(block)
        self.byte_count += len(block)
        return self.byte_count - len(block)


def _walk(block: bytes, count: int, base: int, starts: list[int], ends: list[int]) -> None:
    at = 0
    for _ in range(count):
        (length,) = _LENGTH(block, at)
        starts.append(base + at + 4)
        at += 4 + length
        ends.append(base + at)
    if at != len(block):
        raise ValueError("a batch in a chunk does not hold what it says")


def _inflated(codec: int, packed: bytes, size: int) -> bytes:
    if size > _MOST_INFLATED_BYTES:
        raise ValueError(f"a batch of {size} bytes when it is decompressed, where 256 MiB are the most")
    try:
        if codec == 0:
            block = packed
        elif codec == 1:
            inflater = zlib.decompressobj(31)
            block = inflater.decompress(packed, size + 1)
        elif codec == 2:
            block = _unsnapped(packed, size)
        elif codec in (3, 4):
            block = pa.Codec("lz4" if codec == 3 else "zstd").decompress(packed, size, asbytes=True)
        else:
            raise ValueError(f"a batch is compressed with the unknown codec {codec}")
    except (zlib.error, OSError) as error:
        raise ValueError(f"a batch cannot be decompressed: {error}") from error
    if len(block) != size:
        raise ValueError(f"a batch has {len(block)} bytes where it says {size}")
    return block


def _unsnapped(packed: bytes, size: int) -> bytes:
    """Decompress Snappy's framing format: blocks that are compressed or not, and others to be skipped."""
    blocks = []
    at = 0
    while at < len(packed):
        kind, end = packed[at], at + 4 + int.from_bytes(packed[at + 1 : at + 4], "little")
        body = packed[at + 8 : end]
        if kind == 0:
            blocks.append(pa.Codec("snappy").decompress(body, _varint(body, size), asbytes=True))
        elif kind == 1:
            blocks.append(body)
        elif kind < 0x80:
            raise ValueError(f"a block of the unknown kind {kind} of Snappy's framing format")
        at = end
    return b"".join(blocks)


def _varint(body: bytes, most: int) -> int:
    """Return the size that a block of Snappy says it has."""
    value = 0
    for number, byte in enumerate(body[:5]):
        value |= (byte & 0x7F) << 7 * number
        if byte < 0x80:
            break
    if value > most:
        raise ValueError("a block is larger than its batch")
    return value
