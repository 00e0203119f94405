"""Record batches for tests, written by kafka-python, and a plain decoder to compare with.

Slow, and short enough to be believed.
"""

from __future__ import annotations

import gzip
import struct
from base64 import b64decode
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import cramjam
import google_crc32c
import pyarrow as pa
from kafka.record.default_records import DefaultRecordBatchBuilder

from headwater.core.emitter import SplitState
from headwater.core.split import SplitRange
from headwater.enumerators.kafka.split import KafkaPartitionSplit
from headwater.readers.kafka.columns import KAFKA_COLUMNS
from headwater.readers.kafka.emitter import KafkaRecordEmitter
from headwater.readers.kafka.record_set import RecordSet

SPLIT = KafkaPartitionSplit("orders", 3)
FOREVER = 1 << 62
HEADER = struct.Struct(">qiibIhiqqqhii")
"""Base offset, length, leader epoch, magic, CRC, attributes, last offset delta, base and max timestamp,
producer id, epoch, sequence, count."""

NO_CODEC, GZIP, SNAPPY, LZ4, ZSTD = range(5)
LOG_APPEND = 0x08
TRANSACTIONAL = 0x10
CONTROL = 0x20

Headers = Sequence[tuple[str, bytes | None]]


class Record(NamedTuple):
    """What is produced."""

    delta: int
    timestamp_ms: int = 1_700_000_000_000
    key: bytes | None = b"key"
    value: bytes | None = b"value"
    headers: Headers = ()


class Row(NamedTuple):
    """What comes out, column by column."""

    key: bytes | None
    value: bytes | None
    topic: str
    partition: int
    offset: int
    timestamp_us: int
    timestamp_type: int
    headers: Headers | None


def xerial(body: bytes, block_bytes: int = 32) -> bytes:
    """Return the Java client's framing of snappy."""
    blocks = [
        bytes(cramjam.snappy.compress_raw(body[i : i + block_bytes]))
        for i in range(0, len(body), block_bytes)
    ]
    return (
        b"\x82SNAPPY\x00"
        + struct.pack(">ii", 1, 1)
        + b"".join(struct.pack(">i", len(block)) + block for block in blocks)
    )


COMPRESS: dict[int, Callable[[bytes], bytes]] = {
    NO_CODEC: bytes,
    GZIP: gzip.compress,
    SNAPPY: xerial,
    LZ4: lambda body: bytes(cramjam.lz4.compress(body)),
    ZSTD: lambda body: bytes(cramjam.zstd.compress(body)),
}


def batch(
    records: Sequence[Record],
    base_offset: int = 0,
    *,
    attributes: int = 0,
    compress: Callable[[bytes], bytes] | None = None,
    last_delta: int | None = None,
    max_timestamp: int | None = None,
    producer_id: int = -1,
) -> bytes:
    """Return a batch of format v2 with a right checksum; the codec stands in the attributes."""
    builder = DefaultRecordBatchBuilder(2, 0, False, -1, -1, -1, 1 << 30)
    for record in records:
        builder.append(record.delta, record.timestamp_ms, record.key, record.value, list(record.headers))
    plain = bytes(builder.build())
    header = list(HEADER.unpack_from(plain))
    body = (compress or COMPRESS[attributes & 7])(plain[HEADER.size :])
    header[0] = base_offset
    header[1] = HEADER.size - 12 + len(body)
    header[5] = attributes
    header[9] = producer_id
    header[6] = header[6] if last_delta is None else last_delta
    header[8] = header[8] if max_timestamp is None else max_timestamp
    return with_crc(HEADER.pack(*header) + body)


def with_crc(raw: bytes) -> bytes:
    """Return the batch with the checksum that its bytes have."""
    return raw[:17] + struct.pack(">I", google_crc32c.value(raw[21:])) + raw[21:]


def marker(base_offset: int, producer_id: int, *, abort: bool) -> bytes:
    """Return a transaction's end marker."""
    record = Record(0, key=struct.pack(">hh", 0, 0 if abort else 1), value=b"\x00" * 6)
    return batch([record], base_offset, attributes=CONTROL | TRANSACTIONAL, producer_id=producer_id)


def java_record_sets() -> dict[str, bytes]:
    """Return what Kafka's own library wrote, by magic, codec and timestamp type: see JavaRecordSets.java."""
    lines = (Path(__file__).parent / "java_record_sets.txt").read_text().splitlines()
    return {line.rpartition(" ")[0]: b64decode(line.rpartition(" ")[2]) for line in lines}


def state_of(
    start: int = 0, stop: int = FOREVER, split: KafkaPartitionSplit = SPLIT
) -> SplitState[KafkaPartitionSplit, int]:
    return SplitState(SplitRange(split, start, stop))


def rows_of(batches: Iterable[pa.RecordBatch]) -> list[Row]:
    """Return the rows of batches that have all columns; checks each batch from the inside too."""
    rows = []
    for found in batches:
        found.validate(full=True)
        times = found.column("timestamp").cast(pa.int64())
        for i, row in enumerate(found.drop_columns(["timestamp"]).to_pylist()):
            entries = (
                None
                if row["headers"] is None
                else tuple((entry["key"], entry["value"]) for entry in row["headers"])
            )
            place = (row["topic"], row["partition"], row["offset"])
            rows.append(
                Row(row["key"], row["value"], *place, times[i].as_py(), row["timestampType"], entries)
            )
    return rows


def emitted(
    data: bytes | RecordSet, start: int = 0, stop: int = FOREVER, *, check_crcs: bool = True
) -> list[Row]:
    """Return the rows that the emitter makes of one record set."""
    emitter = KafkaRecordEmitter(KAFKA_COLUMNS, check_crcs=check_crcs)
    record_set = data if isinstance(data, RecordSet) else RecordSet(data)
    return rows_of([*emitter.emit(record_set, state_of(start, stop)), *emitter.flush()])


class UnreadableError(Exception):
    """The plain decoder does not accept the bytes."""


class NotComparableError(Exception):
    """The bytes say something that the plain decoder knows nothing of: another format, a codec."""


def reference(data: bytes, start: int = 0, stop: int = FOREVER) -> list[Row]:
    """Decode uncompressed batches of format v2, one byte after the other, without looking at checksums."""
    rows: list[Row] = []
    pos = 0
    while pos + 17 <= len(data):
        (length, _, magic) = struct.unpack_from(">iib", data, pos + 8)
        if length > len(data) - pos - 12:
            break
        check(0 <= magic <= 2 and length >= (14 if magic < 2 else 49))
        if magic < 2:
            raise NotComparableError
        header = HEADER.unpack_from(data, pos)
        check(0 <= header[0] <= (1 << 63) - 1 - (1 << 32) and header[6] >= 0 and header[12] >= 0)
        end = pos + 12 + length
        last_offset = header[0] + header[6]
        if last_offset >= start and header[0] < stop and not header[5] & CONTROL:
            if header[5] & 7:
                raise NotComparableError
            rows += _records(Cursor(data, pos + HEADER.size, end), header, start, stop)
        pos = end
    return rows


def _records(cursor: Cursor, header: tuple[Any, ...], start: int, stop: int) -> list[Row]:
    rows: list[Row] = []
    check(header[12] * 7 <= cursor.end - cursor.pos)
    for _ in range(header[12]):
        length = cursor.varint(5)
        check(length >= 6)
        record = cursor.part(length)
        record.part(1)
        timestamp_delta = record.varint(10)
        delta = record.varint(5)
        check(0 <= delta <= header[6])
        if not start <= header[0] + delta < stop:
            continue
        key = record.binary()
        value = record.binary()
        count = record.varint(5)
        check(0 <= count <= (record.end - record.pos) // 2)
        headers = tuple((record.text(), record.binary()) for _ in range(count))
        check(record.pos == record.end)
        appended = header[5] & LOG_APPEND
        timestamp_ms = header[8] if appended else wrapped(header[7] + timestamp_delta)
        check(abs(timestamp_ms) <= ((1 << 63) - 1) // 1000)
        rows.append(
            Row(
                key,
                value,
                SPLIT.topic,
                SPLIT.partition,
                header[0] + delta,
                timestamp_ms * 1000,
                1 if appended else 0,
                headers or None,
            )
        )
    check(cursor.pos == cursor.end)
    return rows


def wrapped(value: int) -> int:
    """Return what remains of a number in 64 bits."""
    return (value + (1 << 63)) % (1 << 64) - (1 << 63)


def check(holds: bool) -> None:
    if not holds:
        raise UnreadableError


class Cursor:
    """A place in some bytes, and their end."""

    def __init__(self, data: bytes, pos: int, end: int) -> None:
        self.data = data
        self.pos = pos
        self.end = end

    def part(self, size: int) -> Cursor:
        check(0 <= size <= self.end - self.pos)
        self.pos += size
        return Cursor(self.data, self.pos - size, self.pos)

    def varint(self, most_bytes: int) -> int:
        raw = 0
        for i in range(most_bytes):
            part = self.part(1)
            byte = self.data[part.pos]
            raw |= (byte & 0x7F) << 7 * i
            if byte < 0x80:
                raw &= (1 << 64) - 1
                return (raw >> 1) ^ -(raw & 1)
        raise UnreadableError

    def binary(self) -> bytes | None:
        size = self.varint(5)
        if size < 0:
            return None
        part = self.part(size)
        return self.data[part.pos : part.end]

    def text(self) -> str:
        found = self.binary()
        check(found is not None)
        assert found is not None
        return found.decode("utf-8", "replace")
