"""Batch headers of a record set: where each batch lies, what it holds, and which of them are wanted."""

from __future__ import annotations

import numpy as np

from headwater.readers.kafka.faults import fault
from headwater.readers.kafka.kernel_cache import kernel
from headwater.readers.kafka.layout import BATCH, BatchArray, ByteArray
from headwater.readers.kafka.record_set import RecordSet

__all__ = [
    "CODEC",
    "CONTROL",
    "TRANSACTIONAL",
    "as_bytes",
    "before",
    "first_batch_bytes",
    "next_offset",
    "scan",
    "with_records_from",
]

CODEC = 0x07
"""Attribute bits: how the records are compressed."""
TRANSACTIONAL = 0x10
"""Attribute bit: the batch is part of a transaction."""
CONTROL = 0x20
"""Attribute bit: the batch holds a transaction's end marker, no records for readers."""

_NO_BATCHES = np.empty(0, BATCH)
_NO_BYTES = np.empty(0, np.uint8)
_LENGTH_AT, _LOG_OVERHEAD = 8, 12


def as_bytes(data: memoryview | bytes | ByteArray) -> ByteArray:
    """Return the same memory as an array, without a copy."""
    return np.frombuffer(data, np.uint8) if len(data) else _NO_BYTES


def scan(data: ByteArray, split_id: str) -> BatchArray:
    """Return the headers of all complete batches, of any record format.

    An array of `headwater.readers.kafka.layout.BATCH`. Reads headers only.

    A batch that is cut short at the end is left out.

    Raises:
        CorruptRecordError: a header cannot be what a broker wrote.
    """
    found = kernel().scan(data, _NO_BATCHES)
    if not found:
        return _NO_BATCHES
    batches = np.empty(found, BATCH)
    batches = batches[: kernel().scan(data, batches)]
    last = batches[-1]
    if last["fault"]:
        raise fault(int(last["fault"]), split_id, int(last["base_offset"]))
    return batches


def next_offset(record_set: RecordSet, split_id: str) -> int | None:
    """Return the offset after the last complete batch; None if no batch is complete.

    The split reader asks this before anything is decoded, to send its next request at once. It costs
    microseconds. None for a set that is not empty means that the first batch is larger than what was asked
    for: see `first_batch_bytes`.

    Raises:
        CorruptRecordError: a header cannot be what a broker wrote.
    """
    batches = scan(as_bytes(record_set.data), split_id)
    return int(batches[-1]["last_offset"]) + 1 if len(batches) else None


def first_batch_bytes(record_set: RecordSet) -> int | None:
    """Return how many bytes the first batch says it has, complete or not.

    None if not even that is there, or it makes no sense.

    For the split reader, which has to ask for that much if `next_offset` is None. Not checked against
    anything: the caller has a limit.
    """
    if len(record_set.data) < _LOG_OVERHEAD:
        return None
    length = int.from_bytes(bytes(record_set.data[_LENGTH_AT:_LOG_OVERHEAD]), "big", signed=True)
    return _LOG_OVERHEAD + length if length > 0 else None


def before(batches: BatchArray, stop: int) -> BatchArray:
    """Return the batches that may hold offsets before ``stop``.

    A compressed message of the old formats has the offset of its last record: where it begins is not known
    yet.
    """
    wanted = (batches["base_offset"] < stop) | (batches["magic"] < 2)
    return batches if wanted.all() else batches[wanted]


def with_records_from(batches: BatchArray, position: int) -> BatchArray:
    """Return the batches that may hold records at or after ``position``: control batches hold none."""
    wanted = (batches["last_offset"] >= position) & (batches["attributes"] & CONTROL == 0)
    return batches if wanted.all() else batches[wanted]
