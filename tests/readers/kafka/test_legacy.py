"""Record formats v0 and v1: as Kafka's own library and kafka-python wrote them."""

from __future__ import annotations

import random
import struct
import zlib

import pytest
from kafka.record.legacy_records import LegacyRecordBatchBuilder

from headwater.core.errors import CorruptRecordError, SourceError
from headwater.readers.kafka.columns import KAFKA_COLUMNS
from headwater.readers.kafka.emitter import KafkaRecordEmitter
from headwater.readers.kafka.record_set import RecordSet
from tests.readers.kafka.record_sets import (
    SPLIT,
    Record,
    Row,
    batch,
    emitted,
    java_record_sets,
    rows_of,
    state_of,
)

JAVA = {name: data for name, data in java_record_sets().items() if name[0] in "01"}


def java_rows(name: str) -> list[Row]:
    magic, _, appended = name.split()
    rows = []
    for i in range(5):
        timestamp = -1 if magic == "0" else 1_700_000_000_999 if appended == "1" else 1_700_000_000_000 + i
        value = None if i == 2 else b"value value value value value value %d" % i
        offset = 100 + i + (7 if i > 2 else 0)
        kind = -1 if magic == "0" else int(appended)
        rows.append(
            Row(None if i == 1 else b"key%d" % i, value, "orders", 3, offset, timestamp * 1000, kind, None)
        )
    return rows


def built(magic: int, offsets: list[int], codec: int = 0) -> bytes:
    builder = LegacyRecordBatchBuilder(magic, codec, 1 << 20)
    for offset in offsets:
        builder.append(offset, 1_000 + offset, b"k", b"v%d" % offset)
    raw = bytes(builder.build())
    # A broker gives a wrapper its last message's offset.
    return struct.pack(">q", offsets[-1]) + raw[8:] if codec else raw


@pytest.mark.parametrize("name", JAVA)
def test_what_java_wrote_is_read(name: str) -> None:
    assert emitted(JAVA[name]) == java_rows(name)


@pytest.mark.parametrize("name", JAVA)
@pytest.mark.parametrize(("start", "stop"), [(0, 103), (101, 111), (103, 110), (111, 200), (112, 200)])
def test_any_part_can_be_read(name: str, start: int, stop: int) -> None:
    assert emitted(JAVA[name], start, stop) == [row for row in java_rows(name) if start <= row.offset < stop]


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("codec", [0, 1])
def test_what_kafka_python_wrote_is_read(magic: int, codec: int) -> None:
    rows = emitted(built(magic, list(range(50)), codec))
    assert [(row.offset, row.value) for row in rows] == [(i, b"v%d" % i) for i in range(50)]
    assert {row.timestamp_type for row in rows} == {0 if magic else -1}


def test_formats_may_change_inside_a_record_set_and_order_is_kept() -> None:
    data = (
        built(0, [0, 1])
        + built(1, [2, 3])
        + batch([Record(0), Record(1)], 4)
        + built(1, [6])
        + batch([Record(0)], 7)
    )
    rows = emitted(data)
    assert [row.offset for row in rows] == list(range(8))
    assert [row.timestamp_type for row in rows] == [-1, -1, 0, 0, 0, 0, 0, 0]


def test_the_last_message_may_be_cut_short() -> None:
    data = built(1, [0, 1, 2])
    assert [row.offset for row in emitted(data[:-1])] == [0, 1]


def test_only_the_columns_asked_for_come() -> None:
    (found,) = KafkaRecordEmitter(["offset", "value"]).emit(RecordSet(built(1, [5])), state_of())
    assert found.to_pylist() == [{"offset": 5, "value": b"v5"}]


def test_the_position_moves_past_what_was_read() -> None:
    state = state_of(100, 105)
    assert len(rows_of(KafkaRecordEmitter(KAFKA_COLUMNS).emit(RecordSet(JAVA["1 gzip 0"]), state))) == 3
    assert state.position == 105


@pytest.mark.parametrize("name", JAVA)
def test_a_flipped_bit_is_found(name: str, rng: random.Random) -> None:
    for _ in range(20):
        broken = bytearray(JAVA[name])
        first_end = 12 + struct.unpack_from(">i", broken, 8)[0]
        broken[rng.randrange(12, first_end)] ^= 1 << rng.randrange(8)
        with pytest.raises(CorruptRecordError) as raised:
            emitted(bytes(broken))
        assert raised.value.split == SPLIT.split_id


@pytest.mark.parametrize("name", JAVA)
def test_without_checksums_broken_bytes_give_rows_or_the_right_error(name: str, rng: random.Random) -> None:
    for _ in range(60):
        broken = bytearray(JAVA[name])
        for _ in range(rng.randrange(1, 4)):
            broken[rng.randrange(len(broken))] = rng.randrange(256)
        try:
            rows = emitted(bytes(broken), check_crcs=False)
        except SourceError:
            continue
        assert all(row.offset >= 0 for row in rows)


def wrapped(codec: int, body: bytes | None, magic: int = 1) -> bytes:
    times = struct.pack(">q", 0) if magic else b""
    value = struct.pack(">i", -1) if body is None else struct.pack(">i", len(body)) + body
    checked = struct.pack(">bb", magic, codec) + times + struct.pack(">i", -1) + value
    message = struct.pack(">I", zlib.crc32(checked)) + checked
    return struct.pack(">qi", 9, len(message)) + message


@pytest.mark.parametrize(
    "data",
    [
        wrapped(1, None),
        wrapped(1, b"no gzip"),
        wrapped(1, zlib.compress(b"", wbits=31)),
        wrapped(1, zlib.compress(built(1, [0])[:-1], wbits=31)),
        wrapped(1, zlib.compress(built(1, [0], 1), wbits=31)),
        wrapped(1, zlib.compress(batch([Record(0)]), wbits=31)),
        wrapped(3, b"short", magic=0),
        wrapped(4, b"zstd came later"),
        wrapped(7, b"no such codec"),
    ],
    ids=[
        "empty",
        "no gzip",
        "nothing inside",
        "cut inside",
        "twice compressed",
        "v2 inside",
        "short lz4",
        "zstd",
        "no codec",
    ],
)
def test_wrappers_around_something_else_are_errors(data: bytes) -> None:
    with pytest.raises(CorruptRecordError):
        emitted(data)


def test_a_timestamp_beyond_sparks_range_is_an_error_only_where_it_is_wanted() -> None:
    builder = LegacyRecordBatchBuilder(1, 0, 1 << 20)
    builder.append(0, (1 << 63) - 1, b"k", b"v")
    data = bytes(builder.build())
    with pytest.raises(SourceError, match=r"offset \d+ of topic 'orders', partition 3, has the timestamp"):
        emitted(data)
    (found,) = KafkaRecordEmitter(["value"]).emit(RecordSet(data), state_of())
    assert found.to_pylist() == [{"value": b"v"}]
