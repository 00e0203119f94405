"""Files that are compressed as a whole, by the suffix of their names."""

from __future__ import annotations

import bz2
import io
import lzma
import re
import sys
import zlib
from collections.abc import Callable, Iterator
from pathlib import PurePosixPath
from typing import Any, Final

from headwater.core.errors import CorruptRecordError
from headwater.readers.compression import (
    DAMAGED,
    INPUT_BYTES,
    BoundedInflater,
    Inflater,
    ZlibInflater,
    all_output,
    arrow_pieces,
    checked_size,
    lz4_block,
    lz4_size,
    snappy_block,
    snappy_size,
)

_LZ4_FRAME: Final = b"\x04\x22\x4d\x18"
_BLOCK: Final = 0x314159265359
_BZIP2: Final = re.compile(
    rb"(?P<head>BZh[1-9])?1AY&SY|"
    + b"|".join(re.escape((_BLOCK << 8 - bit).to_bytes(7)[1:6]) for bit in range(1, 8))
)
"""How a block of bzip2 begins: behind the head of a stream, or the whole bytes of that at any other bit."""
_MOST_BEGUN: Final = 9
"""So many bytes may be the beginning of such a one."""


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


def _members(
    make: Callable[[], Inflater], next_stream: Callable[[bytes, Any], bytes] = lambda data, _file: data
) -> Callable[[Any], Iterator[bytes]]:
    """Return a reader of streams of one kind that follow each other, as the tools of Unix write them.

    Args:
        make: makes a decompressor for the next stream.
        next_stream: returns the input from the next stream on, given what was read behind the last one.
    """

    def pieces(file: Any) -> Iterator[bytes]:
        data = file.read(INPUT_BYTES)
        while data:
            member = make()
            yield from all_output(member, data)
            while member.left is None:
                data = file.read(INPUT_BYTES)
                if not data:
                    raise EOFError("it ends in the middle")
                yield from all_output(member, data)
            data = next_stream(member.left or file.read(INPUT_BYTES), file)

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
        more = file.read(INPUT_BYTES)
        data = data[-_MOST_BEGUN:] + more if more else b""
    return data


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
    return arrow_pieces("lz4")(file) if magic == _LZ4_FRAME else _hadoop(lz4_size, lz4_block)(file)


def _length(head: bytes) -> int:
    if len(head) < 4:
        raise EOFError("it ends in the middle")
    return checked_size(int.from_bytes(head, "big"))


def _exactly(file: Any, size: int) -> bytes:
    data: bytes = file.read(size)
    if len(data) < size:
        raise EOFError("it ends in the middle")
    return data


_GZIP = _members(lambda: ZlibInflater(zlib.MAX_WBITS | 16))
_CODECS: Final[dict[str, Callable[[Any], Iterator[bytes]]]] = {
    ".gz": _GZIP,
    ".gzip": _GZIP,
    ".deflate": _members(lambda: ZlibInflater(zlib.MAX_WBITS)),
    ".bz2": _members(lambda: BoundedInflater(bz2.BZ2Decompressor()), _next_bzip2),
    ".xz": _members(lambda: BoundedInflater(lzma.LZMADecompressor())),
    ".snappy": _hadoop(lambda chunk, _most: snappy_size(chunk), snappy_block),
    ".lz4": _lz4,
    ".zst": arrow_pieces("zstd"),
    ".zstd": arrow_pieces("zstd"),
    ".br": arrow_pieces("brotli"),
}
