"""Avro's container files: a header with the schema, and blocks of values, each with a marker after it."""

from __future__ import annotations

import bz2
import lzma
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa

from headwater.core.varints import read_varint, unzigzag, varint_bytes, zigzag
from headwater.readers.compression import (
    DAMAGED,
    LargeBlockError,
    deflated_pieces,
    first_stream,
    snappy_block,
    snappy_size,
    within,
    zstandard_pieces,
)
from headwater.readers.formats.avro.decoder import AvroDecoder
from headwater.readers.formats.avro.types import ArrayType, RecordType
from headwater.readers.formats.format import Spans
from headwater.readers.kernels.arrays import address

_MAGIC: Final = b"Obj\x01"
_SYNC_BYTES: Final = 16
_MOST_BYTES: Final = 1 << 30
_SCAN_BYTES: Final = 1 << 20
_CHECKSUM_BYTES: Final = 4
_MOST_NUMBER_BYTES: Final = 10


class ContainerError(ValueError):
    """A file is no container of Avro, or a damaged one.

    Attributes:
        position: the byte where it was noticed.
    """

    def __init__(self, reason: str, position: int) -> None:
        super().__init__(reason)
        self.position = position


@dataclass(frozen=True)
class ContainerHeader:
    """The header of a file.

    Attributes:
        metadata: by names; the schema is ``avro.schema``.
        sync: the marker before and after each block.
        size: how long the header is.
    """

    metadata: Mapping[bytes, bytes]
    sync: bytes
    size: int

    @property
    def schema(self) -> str:
        """The schema that the values were written with, as JSON."""
        return self.metadata.get(b"avro.schema", b"").decode("utf-8", "replace")


@dataclass(frozen=True)
class ContainerBlock:
    """Some values, one after the other, decompressed.

    Attributes:
        rows: how many.
        content: their bytes.
        start: where the block begins in the file.
        stop: the position after it.
    """

    rows: int
    content: bytes
    start: int
    stop: int


def read_header(file: Any) -> ContainerHeader:
    """Read the header of a file from its beginning.

    Raises:
        ContainerError: this is no container of Avro.
    """
    if file.read(len(_MAGIC)) != _MAGIC:
        raise ContainerError("it does not begin as one", 0)
    metadata: dict[bytes, bytes] = {}
    while count := _number(file):
        if count < 0:
            # Then the size of the entries follows.
            _number(file)
        for _ in range(abs(count)):
            key = _exactly(file, _number(file))
            metadata[key] = _exactly(file, _number(file))
    return ContainerHeader(metadata, _exactly(file, _SYNC_BYTES), file.tell())


def read_blocks(
    file: Any, header: ContainerHeader, start: int, stop: int, most_bytes: int
) -> Iterator[ContainerBlock]:
    """Yield the blocks of a range: those whose marker before them begins in it.

    Args:
        file: an open file, anywhere.
        header: of the file.
        start: the first byte of the range.
        stop: the first byte after it.
        most_bytes: the most that a compressed block may become.

    Raises:
        ContainerError: the file is damaged.
        LargeBlockError: a block becomes larger.
    """
    codec = header.metadata.get(b"avro.codec", b"null").decode("utf-8", "replace")
    decompress = _CODECS.get(codec)
    if decompress is None:
        raise ContainerError(f"its codec {codec!r} is not one of {', '.join(_CODECS)}", 0)
    at = _after_marker(file, header, start)
    while at is not None and at - _SYNC_BYTES < stop:
        file.seek(at)
        if not file.read(1):
            return
        file.seek(at)
        rows = _number(file)
        size = _number(file)
        if rows < 0:
            raise ContainerError(f"a block of {rows} values", at)
        packed = _exactly(file, size)
        if _exactly(file, _SYNC_BYTES) != header.sync:
            raise ContainerError("a block without its marker", at)
        try:
            content = decompress(packed, most_bytes)
        except LargeBlockError:
            raise LargeBlockError(
                f"a block has {size} bytes of {codec}, which are more than {most_bytes} bytes when they are "
                "decompressed. Whole blocks are held in memory, so option 'maxInflatedBlockBytes' bounds "
                "them: raise it if there is memory for three times as much in each Python worker",
                at,
            ) from None
        except (*DAMAGED, OSError) as error:
            raise ContainerError(f"a block cannot be decompressed ({codec}): {error}", at) from error
        following = file.tell()
        yield ContainerBlock(rows, content, at, following)
        at = following


class ContainerDecoder:
    """Decodes blocks: their values are the elements of an array, which the kernel takes as one value.

    Args:
        writer: the schema of the file.
        reader: the fields that are wanted.
    """

    def __init__(self, writer: RecordType, reader: RecordType) -> None:
        self._decoder = AvroDecoder(
            ArrayType(reader),
            corrupt_column=False,
            header=0,
            writer=lambda _id, _row: ArrayType(writer),
            sole_block=True,
        )
        self.rows = 0
        """How many there are since `finish` was called last."""

    def append(self, block: ContainerBlock) -> None:
        """Decode a block into the next rows.

        Raises:
            ContainerError: one of its values cannot be read, and the block gives the rows before that one; or
                it has more than it names, and gives those.
        """
        if block.rows == 0:
            return
        count = varint_bytes(zigzag(block.rows))
        array = np.frombuffer(count + block.content, np.uint8)
        spans = Spans(array, np.zeros(1, np.int64), np.full(1, array.size, np.int64))
        bad = self._decoder.append(spans)
        remaining, begin = self._decoder.reached_element()
        if bad is None:
            self.rows += block.rows
            if begin - address(array) < array.size:
                raise ContainerError(
                    f"a block has more than the {block.rows} values that it names", block.start
                )
            return
        reason = self._decoder.reason(int(bad.reasons[0]))
        whole = block.content[: begin - address(array) - len(count)]
        self.append(ContainerBlock(block.rows - remaining - 1, whole, block.start, block.stop))
        raise ContainerError(f"a block of values cannot be read: {reason}", block.start)

    def finish(self) -> pa.RecordBatch:
        """Return the rows since the last call."""
        (blocks,) = self._decoder.finish()
        self.rows = 0
        rows: Any = blocks
        return pa.RecordBatch.from_struct_array(rows.values)


def _number(file: Any) -> int:
    at = file.tell()
    try:
        bits, size = read_varint(file.read(_MOST_NUMBER_BYTES), 0)
    except IndexError:
        raise ContainerError("it ends in the middle", at) from None
    except ValueError as error:
        raise ContainerError(str(error), at) from None
    file.seek(at + size)
    return unzigzag(bits)


def _exactly(file: Any, size: int) -> bytes:
    at = file.tell()
    if not 0 <= size <= _MOST_BYTES:
        raise ContainerError(f"a length of {size} bytes", at)
    data: bytes = file.read(size)
    if len(data) < size:
        raise ContainerError("it ends in the middle", at)
    return data


def _after_marker(file: Any, header: ContainerHeader, start: int) -> int | None:
    """Return where the first block begins whose marker begins at ``start`` or after it; None without one."""
    if start <= header.size - _SYNC_BYTES:
        return header.size
    at = start
    overlap: bytes = b""
    file.seek(at)
    while data := file.read(_SCAN_BYTES):
        buffer = overlap + data
        marker_at: int = buffer.find(header.sync)
        if marker_at >= 0:
            return at + marker_at + _SYNC_BYTES
        overlap = buffer[-(_SYNC_BYTES - 1) :]
        at += len(buffer) - len(overlap)
    return None


def _snappy(data: bytes, most: int) -> bytes:
    """Decompress a block of snappy, which ends with the checksum of its content."""
    packed = data[:-_CHECKSUM_BYTES]
    size = snappy_size(packed)
    if size > most:
        raise LargeBlockError
    content = snappy_block(packed, size)
    if zlib.crc32(content) != int.from_bytes(data[-_CHECKSUM_BYTES:], "big"):
        raise ValueError("its checksum is another one")
    return content


_CODECS: Final[Mapping[str, Callable[[bytes, int], bytes]]] = {
    "null": lambda data, _most: data,
    "deflate": lambda data, most: within(deflated_pieces(data), most),
    "snappy": _snappy,
    "bzip2": lambda data, most: within(first_stream(bz2.BZ2Decompressor(), data), most),
    "xz": lambda data, most: within(first_stream(lzma.LZMADecompressor(), data), most),
    "zstandard": lambda data, most: within(zstandard_pieces(data), most),
}
"""Each with the most that a block may become."""
