"""Divides record sets into chunks that make one Arrow batch each, and decompresses them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from headwater.readers.kafka.codecs import decompress
from headwater.readers.kafka.layout import MIN_RECORD_BYTES, BatchArray
from headwater.readers.kafka.record_set import CODEC, CONTROL
from headwater.readers.kernels.arenas import Scratch
from headwater.readers.kernels.arrays import ByteArray

_MOST_BYTES = 4 << 20
_MOST_ROWS = 1 << 16


@dataclass(frozen=True, slots=True, eq=False)
class Chunk:
    """Batches of format v2, uncompressed: the kernel's input.

    Attributes:
        data: the records of each batch, in one piece; the record set itself if nothing was compressed.
        batches: their headers; ``start`` and ``end`` are positions in ``data``.
        most_rows: how many records there can be at most. Hostile headers cannot raise it: the size of the
            bytes limits it too.
        most_bytes: how many bytes keys, values and headers can have together at most.
        last_offset: the last offset of the last batch.
        check_crc: whether the kernel has to look at the checksums; ``data`` is the record set then.
    """

    data: ByteArray
    batches: BatchArray
    most_rows: int
    most_bytes: int
    last_offset: int
    check_crc: bool = False

    @classmethod
    def of(cls, data: ByteArray, batches: BatchArray) -> Chunk:
        """Return the chunk of these batches, of which there is at least one."""
        sizes = batches["end"] - batches["start"]
        most_rows = np.minimum(batches["count"], sizes // MIN_RECORD_BYTES).sum()
        return cls(data, batches, int(most_rows), int(sizes.sum()), int(batches["last_offset"][-1]))


def lone_chunk(
    data: ByteArray, batches: BatchArray, position: int, stop: int, *, check_crc: bool
) -> Chunk | None:
    """Return a record set as a chunk, if it is one whole batch of format v2 that needs no treatment.

    None for any other. The steps for any record set do the same at many times the cost, which counts where a
    response has one small batch of each of its partitions. The checksum is left to the kernel that decodes.
    """
    if len(batches) != 1:
        return None
    start, end, base_offset, last_offset, magic, _, attributes, *_, count, _ = batches.item()
    size = end - start
    if (
        magic != 2
        or attributes & (CODEC | CONTROL)
        or last_offset < position
        or base_offset >= stop
        or size > _MOST_BYTES
    ):
        return None
    most_rows = min(count, size // MIN_RECORD_BYTES)
    return Chunk(data, batches, most_rows, size, last_offset, check_crc)


def chunks(
    data: ByteArray, batches: BatchArray, scratch: Scratch, split_id: str, most_inflated_bytes: int
) -> Iterator[Chunk]:
    """Yield the batches of a record set in chunks of at most 4 MiB and 65,536 records.

    A batch that is larger is a chunk of its own.

    A chunk is valid until the next one is asked for, because decompressed records lie in ``scratch``.

    Args:
        data: the record set.
        batches: the batches that are wanted, all of format v2.
        scratch: the memory for decompressed batches.
        split_id: for errors.
        most_inflated_bytes: the most that one compressed batch may become.

    Raises:
        CorruptRecordError: a batch cannot be decompressed.
        SourceError: a batch becomes larger than it may.
    """
    for first, last in _portions(batches):
        portion = batches[first:last]
        if (portion["attributes"] & CODEC).any():
            yield from _inflated(data, portion, scratch, split_id, most_inflated_bytes)
        else:
            yield Chunk.of(data, portion)


def _portions(batches: BatchArray) -> Iterator[tuple[int, int]]:
    """Yield the first index of each chunk, and the index after its last batch."""
    sizes = batches["end"] - batches["start"]
    counts = batches["count"]
    if sizes.sum() <= _MOST_BYTES and counts.sum() <= _MOST_ROWS:  # nearly always
        yield 0, len(batches)
        return
    first = 0
    size = 0
    rows = 0
    for i, (more, count) in enumerate(zip(sizes.tolist(), counts.tolist(), strict=True)):
        if i > first and (size + more > _MOST_BYTES or rows + count > _MOST_ROWS):
            yield first, i
            first = i
            size = 0
            rows = 0
        size += more
        rows += count
    if first < len(batches):
        yield first, len(batches)


def _inflated(
    data: ByteArray, batches: BatchArray, scratch: Scratch, split_id: str, most_inflated_bytes: int
) -> Iterator[Chunk]:
    """Yield the batches decompressed, in several chunks if they grow beyond 4 MiB.

    Batches without compression are copied: a chunk has one piece of memory.
    """
    view = data.data
    inflated = batches.copy()
    first = 0
    scratch.clear()
    columns = (batches[name].tolist() for name in ("start", "end", "attributes", "base_offset"))
    for i, (start, end, attributes, base_offset) in enumerate(zip(*columns, strict=True)):
        inflated["start"][i] = scratch.size
        decompress(attributes & CODEC, view[start:end], scratch, split_id, base_offset, most_inflated_bytes)
        inflated["end"][i] = scratch.size
        if scratch.size >= _MOST_BYTES:
            yield Chunk.of(scratch.bytes(), inflated[first : i + 1])
            scratch.clear()
            first = i + 1
    if first < len(batches):
        yield Chunk.of(scratch.bytes(), inflated[first:])
