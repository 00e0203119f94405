"""Decompression of files as a whole, by the suffix of their names, and of blocks inside of files.

Record sets of Kafka are decompressed in `headwater.readers.kafka.codecs`, into memory that is used again.
"""

from __future__ import annotations

import bz2
import io
import lzma
import re
import sys
import zlib
from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Callable, Iterator
from pathlib import PurePosixPath
from typing import Any, Final, Literal

import pyarrow as pa

from headwater.core.errors import CorruptRecordError
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
_INPUT_BYTES: Final = 64 << 10
_OUTPUT_BYTES: Final = 1 << 20
_LZ4_FRAME: Final = b"\x04\x22\x4d\x18"
_BLOCK: Final = 0x314159265359
_BZIP2: Final = re.compile(
    rb"(?P<head>BZh[1-9])?1AY&SY|"
    + b"|".join(re.escape((_BLOCK << 8 - bit).to_bytes(7)[1:6]) for bit in range(1, 8))
)
"""How a block of bzip2 begins: behind the head of a stream, or the whole bytes of that at any other bit."""
_MOST_BEGUN: Final = 9
"""So many bytes may be the beginning of such a one."""


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
    return _arrow("zstd")(io.BytesIO(data))


def checked_size(size: int) -> int:
    """Return a size that compressed bytes name.

    Raises:
        ValueError: no block is so large.
    """
    if size > MOST_BLOCK_BYTES:
        raise ValueError(f"a block of {size} bytes")
    return size


class Decompressed(io.BufferedIOBase):
    """The content of a compressed file, as a stream. Bytes before a damaged place are read first.

    Args:
        file: the compressed bytes.
        url: of the file, for errors.
    """

    def __init__(self, file: Any, url: str) -> None:
        self._url = url
        self._pieces = _CODECS[_suffix(url)](file)
        self._rest = b""
        self._position = 0
        self._damage: Exception | None = None

    def readable(self) -> bool:
        return True

    def read(self, size: int | None = -1) -> bytes:
        """Return so many bytes; fewer at the end, and before a damaged place.

        Raises:
            CorruptRecordError: the next byte cannot be decompressed.
        """
        parts: list[bytes] = []
        missing = sys.maxsize if size is None or size < 0 else size
        while missing > 0 and (block := self._rest or self._next_piece()):
            parts.append(block[:missing])
            self._rest = block[missing:]
            missing -= len(parts[-1])
        data = b"".join(parts)
        self._position += len(data)
        if not data and missing > 0 and self._damage is not None:
            raise CorruptRecordError(
                f"the file is damaged: its {_suffix(self._url)} cannot be decompressed: {self._damage}",
                source="files",
                split=self._url,
                position=self._position,
            ) from self._damage
        return data

    read1 = read

    def _next_piece(self) -> bytes:
        """Return the next block, nothing at the end and at a damaged place."""
        try:
            return next(self._pieces, b"")
        except (*DAMAGED, OSError) as error:
            if isinstance(error, OSError) and (type(error) is not OSError or error.errno is not None):
                raise  # of the file system
            self._damage = error
            return b""


def is_compressed(url: str) -> bool:
    """Whether a file is compressed as a whole, so that it can only be read from its beginning."""
    return _suffix(url) in _CODECS


def decompressed(url: str, file: Any) -> Any:
    """Return a file-like object with the content of a file."""
    return Decompressed(file, url) if is_compressed(url) else file


def _suffix(url: str) -> str:
    return PurePosixPath(url).suffix.lower()


def first_stream(stream: Any, data: bytes) -> Iterator[bytes]:
    """Yield the content of one stream of bzip2 or xz, with whose end a block ends.

    Args:
        stream: a decompressor of the standard library.
        data: the block.

    Raises:
        EOFError: it breaks off.
    """
    yield from _all(_Bounded(stream), data)
    if not stream.eof:
        raise EOFError("it ends in the middle")


def deflated_pieces(data: bytes) -> Iterator[bytes]:
    """Yield the content of raw deflate as Java does: a block that breaks off gives its beginning."""
    return _all(_Zlib(-zlib.MAX_WBITS), data)


class _Inflater(ABC):
    """One compressed stream. Several may follow each other in a file."""

    @abstractmethod
    def output(self, data: bytes) -> bytes:
        """Return some output of this input and of earlier input; nothing if more input is needed."""

    @property
    @abstractmethod
    def left(self) -> bytes | None:
        """The input behind the end of the stream; None before it."""


class _Zlib(_Inflater):
    def __init__(self, bits: int) -> None:
        self._stream = zlib.decompressobj(bits)

    def output(self, data: bytes) -> bytes:
        return self._stream.decompress(self._stream.unconsumed_tail + data, _OUTPUT_BYTES)

    @property
    def left(self) -> bytes | None:
        return self._stream.unused_data if self._stream.eof else None


class _Bounded(_Inflater):
    """Bzip2 and xz, whose decompressors keep their input themselves."""

    def __init__(self, decompressor: Any) -> None:
        self._stream = decompressor

    def output(self, data: bytes) -> bytes:
        output: bytes = self._stream.decompress(data, _OUTPUT_BYTES)
        return output

    @property
    def left(self) -> bytes | None:
        return self._stream.unused_data if self._stream.eof else None


def _members(
    make: Callable[[], _Inflater], next_stream: Callable[[bytes, Any], bytes] = lambda data, _file: data
) -> Callable[[Any], Iterator[bytes]]:
    """Return a reader of streams of one kind that follow each other, as the tools of Unix write them.

    Args:
        make: makes a decompressor for the next stream.
        next_stream: returns the input from the next stream on, given what was read behind the last one.
    """

    def pieces(file: Any) -> Iterator[bytes]:
        data = file.read(_INPUT_BYTES)
        while data:
            member = make()
            yield from _all(member, data)
            while member.left is None:
                data = file.read(_INPUT_BYTES)
                if not data:
                    raise EOFError("it ends in the middle")
                yield from _all(member, data)
            data = next_stream(member.left or file.read(_INPUT_BYTES), file)

    return pieces


def _next_bzip2(data: bytes, file: Any) -> bytes:
    """Pass by what is no stream with a block, as Hadoop does: it looks for blocks alone.

    Raises:
        OSError: a block stands there without the head of a stream, which Hadoop would read.
    """
    while data:
        if match := _BZIP2.search(data):
            if match["head"] is None:
                raise OSError("a block of bzip2 stands outside of a stream")
            return data[match.start() :]
        more = file.read(_INPUT_BYTES)
        data = data[-_MOST_BEGUN:] + more if more else b""
    return data


def _all(member: _Inflater, data: bytes) -> Iterator[bytes]:
    """Yield all that a piece of input gives."""
    output = member.output(data)
    while output:
        yield output
        output = b"" if member.left is not None else member.output(b"")


def _arrow(codec: Literal["brotli", "lz4", "zstd"]) -> Callable[[Any], Iterator[bytes]]:
    def pieces(file: Any) -> Iterator[bytes]:
        stream = pa.CompressedInputStream(file, codec)
        return iter(lambda: stream.read(_INPUT_BYTES), b"")

    return pieces


def _hadoop(
    size_of: Callable[[bytes, int], int], block: Callable[[bytes, int], bytes]
) -> Callable[[Any], Iterator[bytes]]:
    """Return a reader of Hadoop's blocks: the size of the content, then chunks of it, each after its size.

    Args:
        size_of: returns the size of a chunk's content, given the most that is left of its block.
        block: decompresses a chunk, given this size.
    """

    def pieces(file: Any) -> Iterator[bytes]:
        while head := file.read(4):
            missing = _length(head)
            while missing > 0:
                chunk = _exactly(file, _length(file.read(4)))
                size = size_of(chunk, missing)
                if size > missing:
                    raise ValueError("a block is longer than it says")
                missing -= size
                yield block(chunk, size)

    return pieces


def _lz4(file: Any) -> Iterator[bytes]:
    """Read a frame as the tool of Unix writes it, or Hadoop's blocks."""
    magic = file.read(4)
    file.seek(0)
    return _arrow("lz4")(file) if magic == _LZ4_FRAME else _hadoop(lz4_size, lz4_block)(file)


def _length(head: bytes) -> int:
    if len(head) < 4:
        raise EOFError("it ends in the middle")
    return checked_size(int.from_bytes(head, "big"))


def _exactly(file: Any, size: int) -> bytes:
    data: bytes = file.read(size)
    if len(data) < size:
        raise EOFError("it ends in the middle")
    return data


_GZIP = _members(lambda: _Zlib(zlib.MAX_WBITS | 16))
_CODECS: Final[dict[str, Callable[[Any], Iterator[bytes]]]] = {
    ".gz": _GZIP,
    ".gzip": _GZIP,
    ".deflate": _members(lambda: _Zlib(zlib.MAX_WBITS)),
    ".bz2": _members(lambda: _Bounded(bz2.BZ2Decompressor()), _next_bzip2),
    ".xz": _members(lambda: _Bounded(lzma.LZMADecompressor())),
    ".snappy": _hadoop(lambda chunk, _most: snappy_size(chunk), snappy_block),
    ".lz4": _lz4,
    ".zst": _arrow("zstd"),
    ".zstd": _arrow("zstd"),
    ".br": _arrow("brotli"),
}
