"""Decodes record formats v0 and v1, which brokers before Kafka 0.11 wrote, with kafka-python's decoder.

Only old segments hold them, and topics that were kept at an old ``message.format.version``. So this code is
made to be right, not to be fast.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from kafka.record.legacy_records import LegacyRecordBatch

from headwater.core.emitter import SplitState
from headwater.enumerators.kafka.split import KafkaPartitionSplit
from headwater.readers.formats.format import Spans
from headwater.readers.kafka.codecs import NO_CODEC, decompress, xxh32
from headwater.readers.kafka.columns import kafka_schema
from headwater.readers.kafka.decoded_columns import DecodedColumns, RecordRun
from headwater.readers.kafka.faults import beyond_spark, corrupt
from headwater.readers.kafka.layout import LOG_APPEND_TIME, MOST_TIMESTAMP_MS, BatchArray
from headwater.readers.kafka.record_set import CODEC, scan
from headwater.readers.kernels.arenas import PROCESS_POOL, Scratch
from headwater.readers.kernels.arrays import ByteArray

_ATTRIBUTES_AT = 17
_OVERHEAD_BYTES = (26, 34)
_NO_TIMESTAMP = -1
_LZ4 = 3


class _Message(NamedTuple):
    offset: int
    timestamp_ms: int
    timestamp_type: int
    key: bytes | None
    value: bytes | None


def legacy_rows(  # noqa: PLR0917 - one record set and its rows
    data: ByteArray,
    batches: BatchArray,
    columns: Sequence[str],
    schema: pa.Schema,
    decoded: DecodedColumns,
    state: SplitState[KafkaPartitionSplit, int],
    most_inflated_bytes: int,
) -> pa.RecordBatch | None:
    """Return the rows of messages between the state's position and stop; None if there are none.

    Args:
        data: a record set.
        batches: headers of some of its messages, all of format v0 or v1.
        columns: which columns, in which order.
        schema: the result of `row_schema` for them.
        decoded: decodes keys and values that have a format; no rows are waiting in it.
        state: the partition, and the range that is wanted of it. Not changed.
        most_inflated_bytes: the most that the messages in a compressed one may have.

    Raises:
        CorruptRecordError: a message is damaged.
        SourceError: a message has a timestamp that Spark cannot hold, or becomes larger than it may, or its
            key or value cannot be decoded now.
    """
    messages = [
        message
        for batch in batches
        for message in _messages(data, batch, state.split.split_id, most_inflated_bytes)
        if state.position <= message.offset < state.stop
    ]
    if not messages:
        return None
    if "timestamp" in {*columns, *decoded.needs} and (
        beyond := [message for message in messages if abs(message.timestamp_ms) > MOST_TIMESTAMP_MS]
    ):
        raise beyond_spark(state.split, beyond[0].offset, beyond[0].timestamp_ms)
    part_columns: Mapping[str, Sequence[pa.Array[Any]]] = {}
    if decoded.names:
        decoded.append(_run(messages, state.split, decoded.names))
        part_columns = decoded.finish()
    arrays: list[pa.Array[Any]] = []
    for name in columns:
        arrays += part_columns.get(name) or [_column(kafka_schema([name]).field(0), messages, state.split)]
    return decoded.without_dropped(pa.RecordBatch.from_arrays(arrays, schema=schema))


def _run(messages: Sequence[_Message], split: KafkaPartitionSplit, parts: Iterable[str]) -> RecordRun:
    return RecordRun(
        split,
        len(messages),
        {part: _spans([getattr(message, part) for message in messages]) for part in parts},
        np.array([message.offset for message in messages], np.int64),
        np.array([message.timestamp_ms * 1000 for message in messages], np.int64),
        has_headers=False,
    )


def _spans(values: Sequence[bytes | None]) -> Spans:
    sizes = np.array([-1 if value is None else len(value) for value in values], np.int64)
    ends = np.maximum(sizes, 0).cumsum()
    # One byte more: there is no array of no bytes at an address.
    data = np.frombuffer(b"".join([*(value or b"" for value in values), b"\0"]), np.uint8)
    return Spans(data, ends - np.maximum(sizes, 0), sizes)


def _column(field: pa.Field[Any], messages: Sequence[_Message], split: KafkaPartitionSplit) -> pa.Array[Any]:
    values: dict[str, Any] = {
        "key": lambda message: message.key,
        "value": lambda message: message.value,
        "topic": lambda _: split.topic,
        "partition": lambda _: split.partition,
        "offset": lambda message: message.offset,
        "timestamp": lambda message: message.timestamp_ms * 1000,
        "timestampType": lambda message: message.timestamp_type,
        "headers": lambda _: None,
    }
    column: pa.Array[Any] = pa.array([values[field.name](message) for message in messages], field.type)
    return column


def _messages(data: ByteArray, batch: Any, split_id: str, most_inflated_bytes: int) -> Iterator[_Message]:
    """Yield a message, or the messages inside if it is a wrapper around compressed ones."""
    outer = _decoded(data, batch, split_id)
    codec = int(batch["attributes"]) & CODEC
    if codec == NO_CODEC:
        yield outer
        return
    if outer.value is None:
        raise corrupt("is compressed and empty", split_id, outer.offset)
    body = _with_right_checksum(outer.value) if codec == _LZ4 and batch["magic"] == 0 else outer.value
    scratch = Scratch(PROCESS_POOL)
    decompress(codec, memoryview(body), scratch, split_id, outer.offset, most_inflated_bytes)
    inner = scan(scratch.bytes(), split_id)
    if (
        not len(inner)
        or inner[-1]["end"] != scratch.size
        or (inner["magic"] > 1).any()
        or (inner["attributes"] & CODEC).any()
    ):
        raise corrupt("holds something else than whole, uncompressed messages", split_id, outer.offset)
    # In v1 the offsets inside are relative, and the wrapper has the offset of its last message. In v0 they
    # are absolute.
    shift = outer.offset - int(inner[-1]["base_offset"]) if batch["magic"] == 1 else 0
    for header in inner:
        message = _decoded(scratch.bytes(), header, split_id)
        appended = outer.timestamp_type == 1
        yield message._replace(
            offset=message.offset + shift,
            timestamp_ms=outer.timestamp_ms if appended else message.timestamp_ms,
            timestamp_type=outer.timestamp_type,
        )


def _decoded(data: ByteArray, batch: Any, split_id: str) -> _Message:
    """Decode one message; the value of a wrapper is left compressed."""
    start, end, magic, offset = (int(batch[name]) for name in ("start", "end", "magic", "base_offset"))
    plain = bytearray(data[start:end])
    # Without the codec bits kafka-python does not decompress: `decompress` does, up to a limit.
    plain[_ATTRIBUTES_AT] &= ~CODEC
    try:
        record = next(iter(LegacyRecordBatch(plain, magic)))
    except (struct.error, ValueError) as error:
        raise corrupt(
            "has a key or value that reaches beyond the end of its message", split_id, offset
        ) from error
    if _OVERHEAD_BYTES[magic] + len(record.key or b"") + len(record.value or b"") != len(plain):
        raise corrupt("is longer or shorter than its key and value", split_id, offset)
    if magic == 0:
        return _Message(offset, _NO_TIMESTAMP, _NO_TIMESTAMP, record.key, record.value)
    return _Message(
        offset,
        record.timestamp,
        1 if plain[_ATTRIBUTES_AT] & LOG_APPEND_TIME else 0,
        record.key,
        record.value,
    )


def _with_right_checksum(frame: bytes) -> bytes:
    """Repair an LZ4 frame of format v0.

    The clients of that time included the frame's magic bytes in the header checksum, against LZ4's
    specification (KAFKA-3160).
    """
    if len(frame) < 7:
        return frame
    end = 6 + (8 if frame[4] & 0x08 else 0)
    return frame[:end] + bytes([xxh32(frame[4:end]) >> 8 & 0xFF]) + frame[end + 1 :]
