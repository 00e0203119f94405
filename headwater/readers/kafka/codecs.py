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
_GZIP_MAGIC = b"\x1f\x8b\x08"
_GZIP_HEADER_CRC, _GZIP_EXTRA, _GZIP_NAME, _GZIP_COMMENT = 0x02, 0x04, 0x08, 0x10
_LEAST_MEMBER_BYTES = 19
"""Java's GZIPInputStream looks for another member only where more bytes than an empty one has follow."""
_LZ4_MAGIC = b"\x04\x22\x4d\x18"
_LZ4_DICTIONARY, _LZ4_CONTENT_CHECKSUM, _LZ4_CONTENT_SIZE, _LZ4_BLOCK_CHECKSUM = 0x01, 0x04, 0x08, 0x10
_LZ4_CONTENT_ERRORS = ("contentChecksum", "frameSize")
"""Stand in the messages of cramjam's errors about the content as a whole."""
_LZ4_SIZE_BITS = 0x7FFF_FFFF
"""The highest bit of a block's length says that the block is not compressed."""
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


def _room(out: Scratch, size: int, limit: int) -> memoryview:
    """Return at least one byte of room, of about this size, that ends at the limit."""
    if out.size >= limit:
        raise _TooLargeError
    return out.room(min(size, limit - out.size))[: limit - out.size]


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
    room_bytes = _usual(body)
    ahead = b""
    with _thread.zstd.stream_reader(body, read_across_frames=True) as frames:
        while True:
            room = _room(out, room_bytes, limit)
            room[: len(ahead)] = ahead
            size = len(ahead) + int(frames.readinto(room[len(ahead) :]))
            out.size += size
            # A full room alone says nothing: one byte more does.
            if size < len(room) or not (ahead := frames.read(1)):
                return
            room_bytes *= 2


def _gzip(body: memoryview, out: Scratch, limit: int) -> None:
    room = _room(out, _usual(body), limit)
    try:
        out.size += cramjam.gzip.decompress_into(body, room)
    except cramjam.DecompressionError:
        # Broken, or larger than that room. zlib is slower, and tells the one from the other.
        _gzip_in_steps(body, out, limit)


def _gzip_in_steps(body: memoryview, out: Scratch, limit: int) -> None:
    """Decompress members one after the other; bytes behind them that are no member are left, as in Java."""
    at = 0
    while True:
        at = _gzip_member(body, at, out, limit)
        if len(body) - at < _LEAST_MEMBER_BYTES or not _is_member(bytes(body[at : at + _STEP_BYTES])):
            return


def _gzip_member(body: memoryview, at: int, out: Scratch, limit: int) -> int:
    """Append the content of the member at a place, and return where it ends."""
    member = zlib.decompressobj(_GZIP_WBITS)
    while not member.eof:
        step = body[at : at + _STEP_BYTES]
        if not step:
            raise _BrokenError("it is cut short")
        rest: memoryview | bytes = step
        while rest and not member.eof:
            _append(member.decompress(rest, _MIB), out, limit)
            rest = member.unconsumed_tail
        at += len(step) - len(member.unused_data)
    return at


def _is_member(rest: bytes) -> bool:
    """Return whether gzip's header stands here, whole and right: else Java's reader has come to its end."""
    if rest[:3] != _GZIP_MAGIC:
        return False
    flags = rest[3]
    end = 10
    if flags & _GZIP_EXTRA:
        end += 2 + int.from_bytes(rest[end : end + 2], "little")
    for flag in (_GZIP_NAME, _GZIP_COMMENT):
        if flags & flag:
            end = rest.find(b"\0", end) + 1 or len(rest)
    if flags & _GZIP_HEADER_CRC:
        if rest[end : end + 2] != (zlib.crc32(rest[:end]) & 0xFFFF).to_bytes(2, "little"):
            return False
        end += 2
    return end < len(rest)


def _lz4(body: memoryview, out: Scratch, limit: int) -> None:
    frame = _first_lz4_frame(body)
    try:
        _lz4_frame(frame, out, limit)
    except cramjam.DecompressionError as error:
        if not any(check in str(error) for check in _LZ4_CONTENT_ERRORS) or not _checks_content(frame):
            raise
        # Kafka's own reader looks neither at the size nor at the checksum of the whole content.
        _lz4_frame(_without_content_checks(frame), out, limit)


def _first_lz4_frame(body: memoryview) -> memoryview:
    """Return the frame without the bytes behind it: Kafka's own reader stops there."""
    try:
        flags = body[4]
        at = _lz4_header_bytes(flags)
        while size := struct.unpack_from("<I", body, at)[0] & _LZ4_SIZE_BITS:
            at += 4 + size + (4 if flags & _LZ4_BLOCK_CHECKSUM else 0)
    except (IndexError, struct.error):
        return body
    return body[: at + 4 + (4 if flags & _LZ4_CONTENT_CHECKSUM else 0)] if body[:4] == _LZ4_MAGIC else body


def _checks_content(frame: memoryview) -> bool:
    """Whether a frame has a right header that claims the size or the checksum of its content."""
    if frame[:4] != _LZ4_MAGIC or len(frame) < _lz4_header_bytes(frame[4]):
        return False
    end = _lz4_header_bytes(frame[4]) - 1
    is_right = frame[end] == xxh32(bytes(frame[4:end])) >> 8 & 0xFF
    return is_right and bool(frame[4] & (_LZ4_CONTENT_SIZE | _LZ4_CONTENT_CHECKSUM))


def _lz4_header_bytes(flags: int) -> int:
    return 7 + (8 if flags & _LZ4_CONTENT_SIZE else 0) + (4 if flags & _LZ4_DICTIONARY else 0)


def _without_content_checks(frame: memoryview) -> memoryview:
    """Return a whole frame that claims neither the size nor the checksum of its content."""
    flags = frame[4] & ~(_LZ4_CONTENT_SIZE | _LZ4_CONTENT_CHECKSUM | _LZ4_DICTIONARY)
    descriptor = bytes([flags, frame[5]])
    end = len(frame) - (4 if frame[4] & _LZ4_CONTENT_CHECKSUM else 0)
    blocks = frame[_lz4_header_bytes(frame[4]) : end]
    return memoryview(_LZ4_MAGIC + descriptor + bytes([xxh32(descriptor) >> 8 & 0xFF]) + bytes(blocks))


def _lz4_frame(body: memoryview, out: Scratch, limit: int) -> None:
    most = _MOST_LZ4_RATIO * len(body)
    room = _room(out, _usual(body), limit)
    size = _lz4_into(body, room, most, limit - out.size)
    if size is None:
        room = _room(out, most, limit)
        size = _lz4_into(body, room, most, limit - out.size)
    out.size += size or 0


def _lz4_into(body: memoryview, room: memoryview, most: int, limit: int) -> int | None:
    """Return the size that was written; None if it may be that there was too little room."""
    try:
        return int(cramjam.lz4.decompress_into(body, room))
    except cramjam.DecompressionError as error:
        # Room for any content of valid bytes was not enough: so they are broken.
        if len(room) >= most:
            raise
        if len(room) >= limit:
            raise (_TooLargeError if _NO_ROOM in str(error) else error) from error
        return None


def _snappy(body: memoryview, out: Scratch, limit: int) -> None:
    """Decompress raw snappy (librdkafka, Go), or the framing of Java's client, as Java's client reads it.

    The framing is a header, then blocks, each after its length. Another header may stand between two blocks.
    A length that is cut short is the end.
    """
    if body[: len(_XERIAL_MAGIC)] != _XERIAL_MAGIC:
        return _snappy_block(body, out, limit)
    pos = _XERIAL_HEADER_BYTES
    while pos + 4 <= len(body):
        if body[pos : pos + 4] == _XERIAL_MAGIC[:4]:
            if (
                pos + _XERIAL_HEADER_BYTES > len(body)
                or body[pos : pos + len(_XERIAL_MAGIC)] != _XERIAL_MAGIC
            ):
                raise _BrokenError("a header is cut short, or is none")
            pos += _XERIAL_HEADER_BYTES
            continue
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


def xxh32(data: bytes) -> int:
    """Return the 32-bit xxHash of fewer than 16 bytes."""
    prime1 = 0x9E3779B1
    prime2 = 0x85EBCA77
    prime3 = 0xC2B2AE3D
    prime4 = 0x27D4EB2F
    prime5 = 0x165667B1
    mask = 0xFFFFFFFF
    whole = len(data) & ~3
    mixed = (prime5 + len(data)) & mask
    for (lane,) in struct.iter_unpack("<I", data[:whole]):
        mixed = (mixed + lane * prime3) & mask
        mixed = (mixed << 17 | mixed >> 15) * prime4 & mask
    for byte in data[whole:]:
        mixed = (mixed + byte * prime5) & mask
        mixed = (mixed << 11 | mixed >> 21) * prime1 & mask
    mixed = (mixed ^ mixed >> 15) * prime2 & mask
    mixed = (mixed ^ mixed >> 13) * prime3 & mask
    return mixed ^ mixed >> 16
