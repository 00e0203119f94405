"""Record sets, the headers of the batches in them, and the compiled functions that read both.

Any thread may call these functions; they run on that thread, without the GIL.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from headwater.readers.kafka import layout
from headwater.readers.kafka.faults import fault
from headwater.readers.kafka.layout import BATCH, BatchArray
from headwater.readers.kernels.arrays import ByteArray, Int64Array, address
from headwater.readers.kernels.cache import Kernel

KERNEL: Final = Kernel(
    "headwater.readers.kafka.kernel.entry",
    "enter",
    arguments=10,
    needed_for="the kafka source",
    extra="kafka",
)


def scan_headers(data: ByteArray, batches: BatchArray) -> int:
    """Call `headwater.readers.kafka.kernel.decode.scan`.

    Raises:
        MissingDependencyError: numba is not installed in this process.
    """
    return _call(layout.FUNCTION_SCAN, data, batches, 0, 0, 0, 0, 0)


def decode_records(  # noqa: PLR0917 - as the kernel has them
    data: ByteArray,
    batches: BatchArray,
    position: int,
    stop: int,
    rows: int,
    out: Int64Array,
    tally: Int64Array,
) -> int:
    """Call `headwater.readers.kafka.kernel.decode.decode`; ``out`` holds `RowBuffers.addresses`."""
    return _call(layout.FUNCTION_DECODE, data, batches, position, stop, rows, address(tally), address(out))


def first_wrong(data: ByteArray, batches: BatchArray) -> int:
    """Call `headwater.readers.kafka.kernel.checksum.first_wrong`."""
    return _call(layout.FUNCTION_VERIFY, data, batches, 0, 0, 0, 0, 0)


def _call(function: int, data: ByteArray, batches: BatchArray, *more: int) -> int:
    return KERNEL(function, address(data), data.size, address(batches), batches.size, *more)


CODEC = 0x07
"""Attribute bits: how the records are compressed."""
TRANSACTIONAL = 0x10
"""Attribute bit: the batch is part of a transaction."""
CONTROL = 0x20
"""Attribute bit: the batch holds the end marker of a transaction, no records for readers."""
_ABORT = 0
"""The type of the marker of a transaction that was aborted."""

_NO_BATCHES = np.empty(0, BATCH)
_USUALLY_AT_MOST = 8
"""A response about many partitions holds few batches of each: so many are scanned with one call."""
_NO_BYTES = np.empty(0, np.uint8)
_LENGTH_AT = 8
_LOG_OVERHEAD = 12
_CHECKED_FROM = 16
"""In the formats v0 and v1 it begins with the magic byte, this far into the message."""


@dataclass(slots=True, eq=False)
class RecordSet:
    """The record batches of one partition, exactly as the broker sent them: the split reader's raw record.

    Made by the split reader and read by the emitter, on the same thread. The bytes are never written to. Once
    the emitter has emitted the set they are not needed any more, and the reader may receive the next response
    into the same memory.

    Attributes:
        data: record batches of any format, one after the other. The last one may be cut short where the
            response was full.
        aborted: the response's aborted transactions as (producer id, first offset), in any order. Empty
            unless ``read_committed``.
        read_committed: whether records of aborted transactions are left out (``isolation.level``).
        start: the offset that was asked for. Brokers send whole batches, so there may be records before it.
            They were not asked for, and may have been deleted.
    """

    data: memoryview | bytes | ByteArray
    aborted: Sequence[tuple[int, int]] = ()
    read_committed: bool = False
    start: int = 0
    _batches: BatchArray | None = field(default=None, init=False, repr=False)

    def batches(self, split_id: str) -> BatchArray:
        """Return the headers of all complete batches. They are read once: both reader and emitter need them.

        Raises:
            CorruptRecordError: a header is damaged.
        """
        if self._batches is None:
            self._batches = scan(as_bytes(self.data), split_id)
        return self._batches


def as_bytes(data: memoryview | bytes | ByteArray) -> ByteArray:
    """Return the same memory as an array, without a copy."""
    return np.frombuffer(data, np.uint8) if len(data) else _NO_BYTES


def scan(data: ByteArray, split_id: str) -> BatchArray:
    """Return the headers of all complete batches, of any record format, as an array of `layout.BATCH`.

    Reads nothing but headers. A batch that is cut short at the end is left out.

    Raises:
        CorruptRecordError: a header is damaged.
    """
    batches = np.empty(_USUALLY_AT_MOST, BATCH)
    count = scan_headers(data, batches)
    if not count:
        return _NO_BATCHES
    if count > _USUALLY_AT_MOST:
        batches = np.empty(count, BATCH)
        # Only now all headers are looked at. One that is broken ends the scan before the count of above.
        count = scan_headers(data, batches)
    batches = batches[:count]
    last = batches[-1]
    if last["fault"]:
        raise fault(int(last["fault"]), split_id, int(last["base_offset"]))
    return batches


def verify(data: ByteArray, batches: BatchArray, split_id: str) -> None:
    """Check batches of any format against the checksums in their headers: CRC-32C, in v0 and v1 CRC-32.

    The checksum of a compressed batch covers its compressed bytes.

    Give it the batches that will be skipped too: one flipped bit in a header makes a batch look like a
    control batch, or like one that ends too early.

    Raises:
        CorruptRecordError: a batch is damaged.
    """
    wrong = first_wrong(data, batches)
    if wrong < 0 and (batches["magic"] < 2).any():
        wrong = next((at for at, batch in enumerate(batches) if _is_wrong_message(data, batch)), -1)
    if wrong >= 0:
        raise fault(layout.FAULT_CHECKSUM, split_id, int(batches[wrong]["base_offset"]))


def _is_wrong_message(data: ByteArray, batch: Any) -> bool:
    """Whether a batch is a message of the formats v0 and v1, and fails its checksum."""
    checked = data[batch["start"] + _CHECKED_FROM : batch["end"]]
    return bool(batch["magic"] < 2 and zlib.crc32(checked.data) != batch["crc"])


def next_offset(record_set: RecordSet, split_id: str) -> int | None:
    """Return the offset after the last complete batch; None if no batch is complete.

    The split reader asks this before anything is decoded, to send its next request at once. It takes
    microseconds. None for a set that is not empty means that the first batch is larger than was asked
    for: see `first_batch_bytes`.

    Raises:
        CorruptRecordError: a header is damaged.
    """
    batches = record_set.batches(split_id)
    return int(batches[-1]["last_offset"]) + 1 if len(batches) else None


def first_batch_bytes(record_set: RecordSet) -> int | None:
    """Return how many bytes the first batch says it has, complete or not.

    None if the length is cut short too, or not positive. The split reader asks the broker for that much if
    `next_offset` is None. The number is not checked against anything; the split reader has a limit.
    """
    if len(record_set.data) < _LOG_OVERHEAD:
        return None
    length = int.from_bytes(bytes(record_set.data[_LENGTH_AT:_LOG_OVERHEAD]), "big", signed=True)
    return _LOG_OVERHEAD + length if length > 0 else None


def before(batches: BatchArray, stop: int) -> BatchArray:
    """Return the batches that may hold offsets before ``stop``.

    A compressed message of the old formats has the offset of its last record, and where it begins is not
    known before it is decompressed. So messages of these formats are all kept.
    """
    selected = (batches["base_offset"] < stop) | (batches["magic"] < 2)
    return batches if selected.all() else batches[selected]


def with_records_from(batches: BatchArray, position: int) -> BatchArray:
    """Return the batches that may hold records at or after ``position``. Control batches hold none."""
    selected = (batches["last_offset"] >= position) & (batches["attributes"] & CONTROL == 0)
    return batches if selected.all() else batches[selected]


def without_aborted(data: ByteArray, batches: BatchArray, aborted: Sequence[tuple[int, int]]) -> BatchArray:
    """Return the batches that no aborted transaction wrote, control batches still among them.

    The broker names aborted transactions by producer and first offset. From that offset on, the producer's
    transactional batches are dropped, until its abort marker ends the transaction.

    Args:
        data: the record set.
        batches: all batches of the response up to the last one that is wanted, also those before the first
            wanted one: a marker may be among them.
        aborted: producer id and first offset of each aborted transaction.
    """
    if not aborted:
        return batches
    # Reversed, so that the next one is at the end, where pop is cheap.
    waiting = sorted(aborted, key=lambda transaction: transaction[1], reverse=True)
    aborting: set[int] = set()
    committed = np.ones(len(batches), np.bool_)
    columns = (batches[name].tolist() for name in ("last_offset", "producer_id", "attributes"))
    for i, (last_offset, producer_id, attributes) in enumerate(zip(*columns, strict=True)):
        while waiting and waiting[-1][1] <= last_offset:
            aborting.add(waiting.pop()[0])
        if producer_id not in aborting:
            continue
        if attributes & CONTROL:
            if _control_type(data, int(batches[i]["start"]), int(batches[i]["end"])) == _ABORT:
                aborting.remove(producer_id)
        elif attributes & TRANSACTIONAL:
            committed[i] = False
    return batches[committed]


def _control_type(data: ByteArray, start: int, end: int) -> int | None:
    """Return the type in the key of the first record; None if there is no such key.

    The key is an int16 version and an int16 type.
    """
    record = data[start : min(end, start + 64)].tobytes()
    pos = _after_varints(record, 0, 1) + 1  # the length; the attributes
    pos = _after_varints(record, pos, 3)  # timestamp, offset, key length
    return int.from_bytes(record[pos + 2 : pos + 4], "big") if pos + 4 <= len(record) else None


def _after_varints(record: bytes, pos: int, count: int) -> int:
    while count and pos < len(record):
        count -= record[pos] < 0x80
        pos += 1
    return pos
