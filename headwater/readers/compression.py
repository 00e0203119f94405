"""Decompression of blocks inside of files, and the streams below it.

Record sets of Kafka are decompressed in `headwater.readers.kafka.codecs`, into memory that is used again.
"""

from __future__ import annotations

import io
import lzma
import zlib
from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Callable, Iterator
from typing import Any, Final, Literal

import pyarrow as pa

from headwater.core.varints import read_varint

DAMAGED: Final = (zlib.error, lzma.LZMAError, pa.ArrowInvalid, EOFError, ValueError)
"""Raised for bytes that are not of their codec, beside an OSError without a number."""
MOST_BLOCK_BYTES: Final = 1 << 30
"""No block holds more: a larger size is damage."""
_SNAPPY_SIZE_BYTES: Final = 5
_MOST_SNAPPY_RATIO: Final = 22
"""Snappy's best case is 64 bytes out of 3."""
_MOST_LZ4_RATIO: Final = 256
"""LZ4's best case is 255 bytes out of 1."""
INPUT_BYTES: Final = 64 << 10
_OUTPUT_BYTES: Final = 1 << 20


class LargeBlockError(Exception):
    """A block is larger than it may be when it is decompressed. It may be right: this is no damage.

    Attributes:
        position: the byte of the file where it begins.
    """

    def __init__(self, reason: str = "", position: int = 0) -> None:
        super().__init__(reason)
        self.position = position


def within(pieces: Iterator[bytes], most: int) -> bytes:
    """Return the content of a block, of which no more is decompressed than it may have.

    Args:
        pieces: of the content.
        most: the largest result.

    Raises:
        LargeBlockError: there is more.
    """
    parts: list[bytes] = []
    for piece in pieces:
        parts.append(piece)
        most -= len(piece)
        if most < 0:
            raise LargeBlockError
    return b"".join(parts)


def snappy_size(block: bytes) -> int:
    """Return the size that a block of snappy names at its beginning, seven bits a byte."""
    try:
        size, _ = read_varint(block, 0, _SNAPPY_SIZE_BYTES)
    except (IndexError, ValueError):
        raise ValueError("a chunk without its length") from None
    if size > _MOST_SNAPPY_RATIO * len(block):
        raise ValueError(f"{len(block)} bytes of snappy cannot be {size}")
    return checked_size(size)


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
    most = min(most, _MOST_LZ4_RATIO * len(block))

    def fits(room: int) -> bool:
        try:
            codec.decompress(block, room, asbytes=True)
        except OSError:
            return False
        return True

    # Mostly a block is as large as it may be.
    if most <= 1 or not fits(most - 1):
        return most
    return bisect_left(range(most), x=True, lo=1, key=fits)


def lz4_block(block: bytes, size: int) -> bytes:
    """Decompress a block of LZ4.

    Args:
        block: without framing.
        size: of the result (`lz4_size`).
    """
    return pa.Codec("lz4_raw").decompress(block, size, asbytes=True)


def zstandard_pieces(data: bytes) -> Iterator[bytes]:
    """Yield the content of frames of zstd."""
    return arrow_pieces("zstd")(io.BytesIO(data))


def checked_size(size: int) -> int:
    """Return a size that compressed bytes name.

    Raises:
        ValueError: no block is so large.
    """
    if size > MOST_BLOCK_BYTES:
        raise ValueError(f"a block of {size} bytes")
    return size


def first_stream(stream: Any, data: bytes) -> Iterator[bytes]:
    """Yield the content of one stream of bzip2 or xz, with whose end a block ends.

    Args:
        stream: a decompressor of the standard library.
        data: the block.

    Raises:
        EOFError: it breaks off.
    """
    yield from all_output(BoundedInflater(stream), data)
    if not stream.eof:
        raise EOFError("it ends in the middle")


def deflated_pieces(data: bytes) -> Iterator[bytes]:
    """Yield the content of raw deflate as Java does: a block that breaks off gives its beginning."""
    return all_output(ZlibInflater(-zlib.MAX_WBITS), data)


class Inflater(ABC):
    """One compressed stream. Several may follow each other in a file."""

    @abstractmethod
    def output(self, data: bytes) -> bytes:
        """Return some output of this input and of earlier input; nothing if more input is needed."""

    @property
    @abstractmethod
    def left(self) -> bytes | None:
        """The input behind the end of the stream; None before it."""


class ZlibInflater(Inflater):
    """Deflate, with the head of zlib or gzip, or none."""

    def __init__(self, bits: int) -> None:
        self._stream = zlib.decompressobj(bits)

    def output(self, data: bytes) -> bytes:
        return self._stream.decompress(self._stream.unconsumed_tail + data, _OUTPUT_BYTES)

    @property
    def left(self) -> bytes | None:
        return self._stream.unused_data if self._stream.eof else None


class BoundedInflater(Inflater):
    """Bzip2 and xz, whose decompressors keep their input themselves."""

    def __init__(self, decompressor: Any) -> None:
        self._stream = decompressor

    def output(self, data: bytes) -> bytes:
        output: bytes = self._stream.decompress(data, _OUTPUT_BYTES)
        return output

    @property
    def left(self) -> bytes | None:
        return self._stream.unused_data if self._stream.eof else None


def all_output(member: Inflater, data: bytes) -> Iterator[bytes]:
    """Yield all that a piece of input gives."""
    output = member.output(data)
    while output:
        yield output
        output = b"" if member.left is not None else member.output(b"")


def arrow_pieces(codec: Literal["brotli", "lz4", "zstd"]) -> Callable[[Any], Iterator[bytes]]:
    """Return a reader of files that one of Arrow's codecs decompresses."""

    def pieces(file: Any) -> Iterator[bytes]:
        stream = pa.CompressedInputStream(file, codec)
        return iter(lambda: stream.read(INPUT_BYTES), b"")

    return pieces
