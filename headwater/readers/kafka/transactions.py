"""``isolation.level=read_committed``: leaves out what aborted transactions wrote (KIP-98)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from headwater.readers.kafka.layout import BatchArray
from headwater.readers.kafka.record_set import CONTROL, TRANSACTIONAL
from headwater.readers.kernels.arrays import ByteArray

_ABORT = 0


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
    kept = np.ones(len(batches), np.bool_)
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
            kept[i] = False
    return batches[kept]


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
