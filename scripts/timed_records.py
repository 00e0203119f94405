"""Kafka records with chosen times, many at once."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from kafka.record.default_records import DefaultRecordBatchBuilder

if TYPE_CHECKING:
    from local_kafka import LocalKafka

_MOST_BATCH_BYTES = 40_000
_CREATE_TIME = 0


def append_at(
    kafka: LocalKafka, topic: str, partition: int, times_ms: Iterable[int], *, value_bytes: int = 0
) -> int:
    """Append a record for each time, in this order; return how many there are.

    Args:
        kafka: the broker.
        topic: must exist.
        partition: of the topic.
        times_ms: since 1970.
        value_bytes: how long the values are at the least; they are the times, with blanks before them.
    """
    builder = _builder()
    in_batch = 0
    count = 0
    for time_ms in times_ms:
        value = b"%*d" % (value_bytes, time_ms)
        if builder.append(in_batch, time_ms, None, value, []) is None:
            kafka.append(topic, partition, bytes(builder.build()))
            builder = _builder()
            in_batch = 0
            assert builder.append(in_batch, time_ms, None, value, []) is not None
        in_batch += 1
        count += 1
    if in_batch:
        kafka.append(topic, partition, bytes(builder.build()))
    return count


def _builder() -> DefaultRecordBatchBuilder:
    return DefaultRecordBatchBuilder(2, _CREATE_TIME, False, -1, -1, -1, _MOST_BATCH_BYTES)
