"""Decompresses record batches into memory that is used again, which grows with the content up to a limit."""

from __future__ import annotations

import struct
import threading
import zlib

import cramjam
import zstandard

from headwater.readers.kafka.faults import corrupt, too_large
from headwater.readers.kernels.arenas import Scratch

NO_CODEC, _GZIP, _SNAPPY, _LZ4, _ZSTD = range(5)
_NAMES = {_GZIP: "gzip", _SNAPPY: "snappy", _LZ4: "lz4", _ZSTD: "zstd"}
_XERIAL_MAGIC = b"\x82SNAPPY\x00"
_XERIAL_HEADER_BYTES = 16
_MOST_SNAPPY_RATIO = 22
"""Snappy's best case is 64 bytes out of 3."""
_MOST_LZ4_RATIO = 256
"""LZ4's best case is 255 bytes out of 1."""
_NO_ROOM = "whole buffer"
"""Stands in the message of cramjam's error if the room is too small."""
_GZIP_WBITS = 31
"""zlib's number for gzip's header and trailer."""
_STEP_BYTES = 64 << 10
_MIB = 1 << 20
_thread = threading.local()
"""Holds a zstd context for each thread: a context must not be used by two at once."""


def decompress(  # noqa: PLR0917 - called for each batch
    codec: int, body: memoryview, out: Scratch, split_id: str, offset: int, most_bytes: int
) -> None:
    """Append the uncompressed records of one batch to ``out``, which is unchanged after an error.

    Memory is taken as the content needs it, and not as the bytes claim; room that is not written to costs
    nothing.

    Args:
        codec: the codec bits of the batch's attributes.
        body: everything after the batch's header.
        out: where the records go; it grows as needed.
        split_id: for the error.
        offset: the batch's base offset, for the error.
        most_bytes: the most that a compressed batch may become (``maxInflatedBatchBytes``).

    Raises:
        CorruptRecordError: the codec does not exist, or the bytes are not in its format.
        SourceError: the bytes are in its format, and become larger than ``most_bytes``.
    """
    start = out.size
    limit = start + most_bytes
    try:
        if codec == NO_CODEC:
            out.room(len(body))[: len(body)] = body
            out.size += len(body)
        elif codec == _GZIP:
            _gzip(body, out, limit)
        elif codec == _SNAPPY:
            _snappy(body, out, limit)
        elif codec == _LZ4:
            _lz4(body, out, limit)
        elif codec == _ZSTD:
            _zstd(body, out, limit)
        else:
            raise corrupt(f"is compressed with a codec that does not exist ({codec})", split_id, offset)
    except _TooLargeError as error:
        out.size = start
        raise too_large(_NAMES[codec], len(body), most_bytes, split_id, offset) from error
    except (cramjam.DecompressionError, zlib.error, zstandard.ZstdError, _BrokenError) as error:
        out.size = start
        raise corrupt(f"cannot be decompressed with {_NAMES[codec]} ({error})", split_id, offset) from error


class _BrokenError(Exception):
    """Compressed bytes, or the framing around them, are broken."""


class _TooLargeError(Exception):
    """Compressed bytes are right as far as they were looked at, and need more room than there may be."""


def _room(out: Scratch, wanted: int, limit: int) -> memoryview:
    """Return at least one byte of room, about as much as is wanted, that ends at the limit."""
    if out.size >= limit:
        raise _TooLargeError
    return out.room(min(wanted, limit - out.size))[: limit - out.size]


def _append(data: bytes, out: Scratch, limit: int) -> None:
    if len(data) > limit - out.size:
        raise _TooLargeError
    out.room(len(data))[: len(data)] = data
    out.size += len(data)


def _usual(body: memoryview) -> int:
    """Return how much room is enough for nearly all batches."""
    return max(_MIB, 8 * len(body))


def _zstd(body: memoryview, out: Scratch, limit: int) -> None:
    """Decompress with a context that is used again.

    For batches of 16 KiB this is three times as fast as cramjam, which makes a new context each time.
    """
    if not hasattr(_thread, "zstd"):
        _thread.zstd = zstandard.ZstdDecompressor()
    wanted = _usual(body)
    ahead = b""
    with _thread.zstd.stream_reader(body, read_across_frames=True) as frames:
        while True:
            room = _room(out, wanted, limit)
            room[: len(ahead)] = ahead
            size = len(ahead) + int(frames.readinto(room[len(ahead) :]))
            out.size += size
            # A full room alone says nothing: one byte more does.
            if size < len(room) or not (ahead := frames.read(1)):
                return
            wanted *= 2


def _gzip(body: memoryview, out: Scratch, limit: int) -> None:
    room = _room(out, _usual(body), limit)
    try:
        out.size += cramjam.gzip.decompress_into(body, room)
    except cramjam.DecompressionError:
        # Broken, or larger than that room. zlib is slower, and tells the one from the other.
        _gzip_in_steps(body, out, limit)


def _gzip_in_steps(body: memoryview, out: Scratch, limit: int) -> None:
    member = zlib.decompressobj(_GZIP_WBITS)
    for at in range(0, len(body), _STEP_BYTES):
        left: memoryview | bytes = body[at : at + _STEP_BYTES]
        while left:
            if member.eof:
                member = zlib.decompressobj(_GZIP_WBITS)
            _append(member.decompress(left, _MIB), out, limit)
            left = member.unused_data or member.unconsumed_tail
    _append(member.flush(), out, limit)
    if not member.eof:
        raise _BrokenError("it is cut short")


def _lz4(body: memoryview, out: Scratch, limit: int) -> None:
    most = _MOST_LZ4_RATIO * len(body)
    room = _room(out, _usual(body), limit)
    size = _lz4_into(body, room, most, limit - out.size)
    if size is None:
        room = _room(out, most, limit)
        size = _lz4_into(body, room, most, limit - out.size)
    out.size += size or 0


def _lz4_into(body: memoryview, room: memoryview, most: int, left: int) -> int | None:
    """Return the size that was written; None if it may be that there was too little room."""
    try:
        return int(cramjam.lz4.decompress_into(body, room))
    except cramjam.DecompressionError as error:
        # Room for any content of valid bytes was not enough: so they are broken.
        if len(room) >= most:
            raise
        if len(room) >= left:
            raise (_TooLargeError if _NO_ROOM in str(error) else error) from error
        return None


def _snappy(body: memoryview, out: Scratch, limit: int) -> None:
    """Decompress raw snappy (librdkafka, Go), or the framing of Java's client.

    The framing is a header, then blocks, each after its length.
    """
    if body[: len(_XERIAL_MAGIC)] != _XERIAL_MAGIC:
        return _snappy_block(body, out, limit)
    pos = _XERIAL_HEADER_BYTES
    while pos < len(body):
        if pos + 4 > len(body):
            raise _BrokenError("a block's length is cut short")
        (length,) = struct.unpack_from(">i", body, pos)
        pos += 4
        if not 0 < length <= len(body) - pos:
            raise _BrokenError("a block reaches beyond the end of the batch")
        _snappy_block(body[pos : pos + length], out, limit)
        pos += length
    return None


def _snappy_block(block: memoryview, out: Scratch, limit: int) -> None:
    size = cramjam.snappy.decompress_raw_len(block)
    if size > _MOST_SNAPPY_RATIO * len(block):
        raise _BrokenError(f"it claims {size} bytes of records, more than {len(block)} bytes can hold")
    if size > limit - out.size:
        raise _TooLargeError
    out.size += cramjam.snappy.decompress_raw_into(block, out.room(size))
