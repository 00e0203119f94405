"""Record sets to rows: every record once, in order, in any cut, with every column."""

from __future__ import annotations

import struct

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.core.emitter import SplitState
from headwater.core.errors import SourceError
from headwater.enumerators.kafka.split import KafkaPartitionSplit
from headwater.readers.kafka.columns import KAFKA_COLUMNS, kafka_schema
from headwater.readers.kafka.emitter import KafkaRecordEmitter
from headwater.readers.kafka.record_set import RecordSet
from headwater.readers.kernels.arenas import ArenaPool
from tests.readers.kafka.record_sets import (
    COMPRESS,
    FOREVER,
    LOG_APPEND,
    NO_CODEC,
    SNAPPY,
    SPLIT,
    ZSTD,
    Record,
    Row,
    batch,
    emitted,
    java_record_sets,
    marker,
    reference,
    rows_of,
    state_of,
)

MS = 1_700_000_000_000
NO_HEADERS = KAFKA_COLUMNS[:-1]

payloads = st.none() | st.binary(max_size=40) | st.integers(100, 400).map(lambda size: b"x" * size)
header_lists = st.lists(st.tuples(st.text(max_size=5), st.none() | st.binary(max_size=5)), max_size=3).map(
    tuple
)
timestamps = st.integers(-1, 1 << 45)
codecs = st.sampled_from(sorted(COMPRESS))


@st.composite
def batches(draw: st.DrawFn) -> tuple[bytes, list[Row]]:
    """Record sets as a broker may send them, with gaps, and the rows that they hold."""
    data = b""
    rows = []
    offset = draw(st.integers(0, 1_000))
    for _ in range(draw(st.integers(0, 4))):
        deltas = sorted(draw(st.sets(st.integers(0, 30), min_size=1, max_size=12)))
        records = [
            Record(delta, draw(timestamps), draw(payloads), draw(payloads), draw(header_lists))
            for delta in deltas
        ]
        appended = draw(st.booleans())
        last_delta = deltas[-1] + draw(st.integers(0, 5))
        data += batch(
            records,
            offset,
            attributes=draw(codecs) | LOG_APPEND * appended,
            last_delta=last_delta,
            max_timestamp=MS,
        )
        for record in records:
            timestamp = MS if appended else record.timestamp_ms
            place = (SPLIT.topic, SPLIT.partition, offset + record.delta)
            rows.append(
                Row(record.key, record.value, *place, timestamp * 1000, int(appended), record.headers or None)
            )
        offset += last_delta + 1 + draw(st.integers(0, 20))
        if draw(st.booleans()):
            data += marker(offset, 7, abort=draw(st.booleans()))
            offset += 1
    return data, rows


@given(batches(), st.integers(0, 1_200), st.integers(0, 1_200))
def test_any_cut_gives_the_records_between_start_and_stop(
    written: tuple[bytes, list[Row]], start: int, stop: int
) -> None:
    data, rows = written
    assert emitted(data) == rows
    assert emitted(data, start, stop) == [row for row in rows if start <= row.offset < stop]


@given(batches(), st.data())
def test_a_batch_that_is_cut_short_is_left_for_the_next_fetch(
    written: tuple[bytes, list[Row]], draw: st.DataObject
) -> None:
    data, rows = written
    state = state_of()
    cut = draw.draw(st.integers(0, len(data)))
    emitter = KafkaRecordEmitter(KAFKA_COLUMNS)
    found = rows_of([*emitter.emit(RecordSet(data[:cut]), state), *emitter.flush()])
    assert found == rows[: len(found)]
    again = rows_of([*emitter.emit(RecordSet(data), state), *emitter.flush()])
    assert found + again == rows


@given(batches(), st.lists(st.sampled_from(KAFKA_COLUMNS), min_size=1, unique=True))
def test_any_columns_in_any_order(written: tuple[bytes, list[Row]], columns: list[str]) -> None:
    data, _ = written
    whole = KafkaRecordEmitter(KAFKA_COLUMNS)
    some = KafkaRecordEmitter(columns)
    expected = pa.Table.from_batches(
        [*whole.emit(RecordSet(data), state_of()), *whole.flush()], kafka_schema(KAFKA_COLUMNS)
    )
    found = pa.Table.from_batches(
        [*some.emit(RecordSet(data), state_of()), *some.flush()], kafka_schema(columns)
    )
    assert found.equals(expected.select(columns), check_metadata=True)


@given(batches())
def test_the_plain_decoder_agrees(written: tuple[bytes, list[Row]]) -> None:
    _, rows = written
    plain = b"".join(
        batch(
            [Record(0, row.timestamp_us // 1000, row.key, row.value, row.headers or ())],
            row.offset,
            attributes=LOG_APPEND * row.timestamp_type,
        )
        for row in rows
    )
    assert reference(plain) == emitted(plain) == rows


@given(st.lists(st.tuples(batches(), st.integers(0, 2)), max_size=4))
def test_record_sets_of_several_partitions_share_batches_and_stay_apart(
    sets: list[tuple[tuple[bytes, list[Row]], int]],
) -> None:
    splits = [
        KafkaPartitionSplit("orders", 3),
        KafkaPartitionSplit("orders", 4),
        KafkaPartitionSplit("much longer name", 3),
    ]
    emitter = KafkaRecordEmitter(KAFKA_COLUMNS)
    found = []
    expected = []
    for (data, rows), which in sets:
        found += list(emitter.emit(RecordSet(data), state_of(split=splits[which])))
        expected += [
            row._replace(topic=splits[which].topic, partition=splits[which].partition) for row in rows
        ]
    found += list(emitter.flush())
    assert len(found) <= 1
    assert rows_of(found) == expected


@pytest.mark.parametrize("name", [name for name in java_record_sets() if name[0] == "2"])
def test_what_java_wrote_is_read(name: str) -> None:
    appended = int(name.split()[2])
    expected = [
        Row(
            None if i == 1 else b"key%d" % i,
            None if i == 2 else b"value value value value value value %d" % i,
            "orders",
            3,
            100 + i + (7 if i > 2 else 0),
            (MS + 999 if appended else MS + i) * 1000,
            appended,
            (("trace", b"t%d" % i), ("nil", None)) if i % 2 else None,
        )
        for i in range(5)
    ]
    assert emitted(java_record_sets()[name]) == expected
    assert emitted(java_record_sets()[name], 102, 111) == expected[2:4]


def test_a_column_without_nulls_has_no_validity_buffer() -> None:
    emitter = KafkaRecordEmitter(KAFKA_COLUMNS)
    (found,) = [
        *emitter.emit(RecordSet(batch([Record(i, headers=[("h", b"")]) for i in range(9)])), state_of()),
        *emitter.flush(),
    ]
    assert [column.buffers()[0] for column in found.columns] == [None] * 8
    assert [column.null_count for column in found.columns] == [0] * 8


@pytest.mark.parametrize("count", [1, 7, 8, 9, 63, 64, 65])
def test_nulls_at_every_place(count: int) -> None:
    for null in range(count):
        records = [
            Record(
                i,
                key=None if i == null else b"k",
                value=None if i != null else b"v",
                headers=[("h", None)] * (i == null),
            )
            for i in range(count)
        ]
        rows = emitted(batch(records))
        assert [row.key is None for row in rows] == [i == null for i in range(count)]
        assert [row.value is None for row in rows] == [i != null for i in range(count)]
        assert [row.headers for row in rows] == [(("h", None),) if i == null else None for i in range(count)]


def test_empty_is_not_null() -> None:
    (row,) = emitted(batch([Record(0, key=b"", value=b"", headers=[("", b"")])]))
    assert (row.key, row.value, row.headers) == (b"", b"", (("", b""),))


@pytest.mark.parametrize(
    ("key", "mended"),
    [
        (b"ev\xff\xfe", "ev\ufffd\ufffd"),
        (b"e\xed\xa0\x80", "e\ufffd"),  # half a surrogate pair is one character for Java, three for Python
        (b"ev\xed\xa0", "ev\ufffd"),
        (b"ev\xe2\x82", "ev\ufffd"),
        (b"\xf0\x9f\x98i", "\ufffdi"),
    ],
)
def test_header_keys_that_are_not_utf8_are_mended_as_java_mends_them(key: bytes, mended: str) -> None:
    raw = batch(
        [Record(0, headers=[("good", b"1"), ("evil", b"2")])],
        compress=lambda body: body.replace(b"evil", key),
    )
    (row,) = emitted(raw)
    assert row.headers == (("good", b"1"), (mended, b"2"))


def test_times_before_1970_and_no_time() -> None:
    assert [row.timestamp_us for row in emitted(batch([Record(0, -1), Record(1, -5_000_000)]))] == [
        -1_000,
        -5_000_000_000,
    ]


def test_timestamps_at_the_ends_of_sparks_range() -> None:
    most = 9_223_372_036_854_775
    assert [row.timestamp_us for row in emitted(batch([Record(0, most), Record(1, -most)]))] == [
        most * 1_000,
        -most * 1_000,
    ]


@pytest.mark.parametrize(
    "timestamp", [9_223_372_036_854_776, -9_223_372_036_854_776, (1 << 63) - 1, -(1 << 63)]
)
def test_a_timestamp_beyond_sparks_range_is_an_error_that_names_the_record(timestamp: int) -> None:
    """The bytes are as written: it is no damage."""
    data = batch([Record(1, timestamp), Record(2, timestamp)], 5)
    with pytest.raises(SourceError) as caught:
        emitted(data)
    assert type(caught.value) is SourceError
    assert str(caught.value) == (
        f"the record at offset 6 of topic 'orders', partition 3, has the timestamp {timestamp}, in "
        "milliseconds more than 292,000 years from 1970: Spark has no such timestamps. Was it written in "
        "another unit? To read on, leave the timestamp out with the option 'columns' "
        "[source kafka, split orders-3, position 6]"
    )


def test_a_timestamp_beyond_sparks_range_does_no_harm_where_it_is_not_wanted() -> None:
    emitter = KafkaRecordEmitter(["value", "offset"])
    data = batch([Record(0, 1_700_000_000_000_000_000)], 5)
    (found,) = [*emitter.emit(RecordSet(data), state_of()), *emitter.flush()]
    assert found.to_pylist() == [{"value": b"value", "offset": 5}]


@pytest.mark.parametrize(
    ("start", "stop", "position"),
    [
        (0, FOREVER, 20),
        (12, FOREVER, 20),
        (0, 20, 20),
        (0, 19, 19),
        (0, 13, 13),
        (19, FOREVER, 20),
        (25, FOREVER, 25),
        (5, 5, 5),
    ],
)
def test_the_position_moves_past_the_set_but_never_past_the_stop(
    start: int, stop: int, position: int
) -> None:
    state = state_of(start, stop)
    list(KafkaRecordEmitter(NO_HEADERS).emit(RecordSet(batch([Record(0)], 10, last_delta=9)), state))
    assert state.position == position


def test_what_stands_before_the_offset_that_was_asked_for_is_not_meant() -> None:
    emitter = KafkaRecordEmitter(KAFKA_COLUMNS)
    state = state_of(0, 18)
    record_set = RecordSet(batch([Record(delta) for delta in range(10)], 10), start=15)
    assert [row.offset for row in rows_of([*emitter.emit(record_set, state), *emitter.flush()])] == [
        15,
        16,
        17,
    ]
    assert state.position == 18


def test_the_position_moves_also_where_there_are_no_rows() -> None:
    state = state_of()
    emitter = KafkaRecordEmitter(NO_HEADERS)
    assert [*emitter.emit(RecordSet(marker(41, 7, abort=True)), state), *emitter.flush()] == []
    assert state.position == 42
    assert [*emitter.emit(RecordSet(b""), state), *emitter.emit(RecordSet(b"\x00" * 16), state)] == []
    assert state.position == 42


def test_an_empty_batch_that_compaction_left_is_nothing_special() -> None:
    empty = bytearray(batch([Record(0)], 10, last_delta=4)[:61])
    struct.pack_into(">i", empty, 8, 49)
    struct.pack_into(">i", empty, 57, 0)
    assert emitted(bytes(empty), check_crcs=False) == []


def sizes(emitter: KafkaRecordEmitter, data: bytes, state: SplitState[KafkaPartitionSplit, int]) -> list[int]:
    return [found.num_rows for found in emitter.emit(RecordSet(data), state)]


def test_a_large_record_set_is_a_batch_of_its_own_and_small_ones_wait() -> None:
    emitter = KafkaRecordEmitter(["value"])
    state = state_of()
    small = [batch([Record(i) for i in range(1_000)], 1_000 * n) for n in range(7)]
    assert [sizes(emitter, data, state) for data in small[:4]] == [[], [], [], []]
    assert sizes(emitter, small[4], state) == [5_000]
    assert sizes(emitter, small[5], state) == []
    assert sizes(emitter, batch([Record(i) for i in range(9_000)], 6_000), state) == [1_000, 9_000]
    assert list(emitter.flush()) == []


def test_a_few_long_values_are_worth_a_batch_too() -> None:
    assert sizes(KafkaRecordEmitter(["value"]), batch([Record(0, value=b"x" * 600_000)]), state_of()) == [1]


@pytest.mark.parametrize("codec", [NO_CODEC, ZSTD])
def test_a_huge_record_set_comes_in_batches_of_a_few_megabytes(codec: int) -> None:
    data = b"".join(
        batch([Record(i, value=b"x" * 1_000) for i in range(1_000)], 1_000 * n, attributes=codec)
        for n in range(15)
    )
    emitter = KafkaRecordEmitter(["value"])
    state = state_of()
    found = []
    for made in emitter.emit(RecordSet(data), state):
        found.append(made.num_rows)
        assert state.position == sum(found)
    assert sum(found) == 15_000
    assert max(found) <= 5_000


def test_many_tiny_records_come_in_batches_of_bounded_length() -> None:
    records = [Record(i, key=None, value=None) for i in range(30_000)]
    data = b"".join(batch(records, 30_000 * n, attributes=SNAPPY) for n in range(4))
    assert sizes(KafkaRecordEmitter(["value"]), data, state_of()) == [60_000, 60_000]


def test_a_huge_record() -> None:
    value = b"0123456789" * 2_000_000
    assert [
        row.value == value for row in emitted(batch([Record(0, value=value), Record(1, value=value)]))
    ] == [True, True]


def test_batches_that_a_caller_keeps_do_not_change() -> None:
    emitter = KafkaRecordEmitter(KAFKA_COLUMNS)
    state = state_of()
    sets = [
        batch([Record(i, key=b"%d" % n, value=b"%d" % (n * i)) for i in range(5_000)], 5_000 * n)
        for n in range(12)
    ]
    kept = [found for data in sets for found in emitter.emit(RecordSet(data), state)]
    assert rows_of(kept) == [row for data in sets for row in reference(data)]


def test_the_memory_of_batches_that_are_dropped_is_used_again() -> None:
    emitter = KafkaRecordEmitter(["value"], pool=ArenaPool())
    state = state_of()
    seen = set()
    for n in range(20):
        for found in emitter.emit(
            RecordSet(batch([Record(i, value=b"x" * 100) for i in range(5_000)], 5_000 * n)), state
        ):
            buffer = found.column(0).buffers()[2]
            assert buffer is not None
            seen.add(buffer.address)
        del buffer
    assert len(seen) <= 3


def test_record_sets_are_not_needed_once_they_are_emitted() -> None:
    memory = bytearray(batch([Record(0, value=b"first")]))
    emitter = KafkaRecordEmitter(["value"])
    state = state_of()
    waiting = list(emitter.emit(RecordSet(memoryview(memory)), state))
    memory[:] = batch([Record(0, value=b"other")], 1)
    waiting += [*emitter.emit(RecordSet(memoryview(memory)), state), *emitter.flush()]
    assert [row for found in waiting for row in found.column(0).to_pylist()] == [b"first", b"other"]
