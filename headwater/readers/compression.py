"""Blocks of compressed bytes, as formats of files hold them: each is decompressed as a whole.

Record sets of Kafka are decompressed in `headwater.readers.kafka.codecs`, into memory that is used again.
Errors are those of the libraries (`DAMAGED`).
"""

from __future__ import annotations

import io
import lzma
import zlib
from bisect import bisect_left
from typing import Any, Final

import pyarrow as pa

DAMAGED: Final = (zlib.error, lzma.LZMAError, pa.ArrowInvalid, EOFError, ValueError)
"""Raised for bytes that are not of their codec, beside an OSError without a number."""
MOST_BLOCK_BYTES: Final = 1 << 30
"""No block holds more: a larger size is damage."""
_SNAPPY_SIZE_BYTES: Final = 5


def inflated(data: bytes, most: int = 0) -> bytes:
    """Decompress raw deflate as Java does: a block that breaks off gives its beginning.

    Args:
        data: the block.
        most: the largest result; 0 for any size.
    """
    stream = zlib.decompressobj(-zlib.MAX_WBITS)
    return stream.decompress(data, most) + (b"" if most else stream.flush())


def snappy_size(block: bytes) -> int:
    """Return the size that a block of snappy names at its beginning, seven bits a byte."""
    size = 0
    for at, byte in enumerate(block[:_SNAPPY_SIZE_BYTES]):
        size |= (byte & 0x7F) << (7 * at)
        if byte < 0x80:
            return checked_size(size)
    raise ValueError("a chunk without its length")


def snappy_block(block: bytes, size: int) -> bytes:
    """Decompress a block of snappy.

    Args:
        block: without framing.
        size: of the result (`snappy_size`).
    """
    return pa.Codec("snappy").decompress(block, size, asbytes=True)


def lz4_size(block: bytes, most: int) -> int:
    """Return the size of a block of LZ4's content, which no byte of it says: the least room that it fits in.

    Args:
        block: without framing.
        most: the largest result.
    """
    codec = pa.Codec("lz4_raw")

    def fits(room: int) -> bool:
        try:
            codec.decompress(block, room, asbytes=True)
        except OSError:
            return False
        return True

    # Mostly a block is as large as it may be.
    if most == 1 or not fits(most - 1):
        return most
    return bisect_left(range(most), x=True, lo=1, key=fits)


def lz4_block(block: bytes, size: int) -> bytes:
    """Decompress a block of LZ4.

    Args:
        block: without framing.
        size: of the result (`lz4_size`).
    """
    return pa.Codec("lz4_raw").decompress(block, size, asbytes=True)


def zstandard(data: bytes, most: int | None = None) -> bytes:
    """Decompress frames of zstd.

    Args:
        data: the frames.
        most: the largest result; None for any size.
    """
    source: Any = io.BytesIO(data)
    with pa.CompressedInputStream(source, "zstd") as stream:
        return bytes(stream.read(most))


def checked_size(size: int) -> int:
    """Return a size that compressed bytes name.

    Raises:
        ValueError: no block is so large.
    """
    if size > MOST_BLOCK_BYTES:
        raise ValueError(f"a block of {size} bytes")
    return size
