"""What one Fetch response brought of one partition: the raw record of Kafka's split reader."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from headwater.readers.kafka.layout import ByteArray

__all__ = ["RecordSet"]


@dataclass(frozen=True, slots=True, eq=False)
class RecordSet:
    """The record batches of one partition, exactly as the broker sent them.

    Made by the split reader, read by the emitter on the same thread.

    The bytes are looked at, never written to, and not needed any more once the emitter has emitted the set:
    the reader may receive the next response into the same memory then.

    Attributes:
        data: record batches of any format, one after the other. The last one may be cut short where the
            response was full.
        aborted: the response's aborted transactions as (producer id, first offset), in any order. Empty
            unless ``read_committed``.
        read_committed: whether records of aborted transactions are left out (``isolation.level``).
        start: the offset that was asked for. Brokers send whole batches: what is before it is not meant, and
            may have been deleted.
    """

    data: memoryview | bytes | ByteArray
    aborted: Sequence[tuple[int, int]] = ()
    read_committed: bool = False
    start: int = 0
