"""Batch headers: what is complete, what is wanted, what is broken. Checksums: a flipped bit is found."""

from __future__ import annotations

import random
import struct
from typing import Any

import google_crc32c
import numpy as np
import pytest

from headwater.core.errors import CorruptRecordError
from headwater.readers.kafka.kernel import checksum
from headwater.readers.kafka.layout import BATCH, BATCH_OVERHEAD, CHECKED_BEFORE_RECORDS
from headwater.readers.kafka.record_set import (
    RecordSet,
    as_bytes,
    before,
    first_batch_bytes,
    first_wrong,
    next_offset,
    scan,
    verify,
    with_records_from,
)
from tests.readers.kafka.record_sets import (
    CONTROL,
    HEADER,
    LOG_APPEND,
    ZSTD,
    Record,
    batch,
    emitted,
    java_record_sets,
    marker,
)

TWO = batch([Record(0), Record(1)], 10) + batch([Record(0), Record(4)], 20)


def following(data: bytes) -> int | None:
    return next_offset(RecordSet(data), "orders-3")


def test_a_scan_reads_every_field() -> None:
    raw = batch(
        [Record(0, 1_000), Record(3, 3_000)],
        7,
        attributes=ZSTD | LOG_APPEND,
        producer_id=42,
        max_timestamp=5_000,
    )
    (found,) = scan(as_bytes(b"".join([raw])), "orders-3")
    (crc,) = struct.unpack_from(">I", raw, 17)
    assert found.item() == (61, len(raw), 7, 10, 2, crc, ZSTD | LOG_APPEND, 1_000, 5_000, 42, 2, 0)


def test_the_next_offset_follows_the_last_complete_batch() -> None:
    assert following(TWO) == 25
    assert [following(TWO[:cut]) for cut in (len(TWO) - 1, len(TWO) // 2 + 20, len(TWO) // 2)] == [12, 12, 12]


def test_the_next_offset_counts_offsets_that_compaction_left_empty() -> None:
    assert following(batch([Record(0)], 100, last_delta=9)) == 110


def test_without_a_complete_batch_there_is_no_next_offset_but_a_size() -> None:
    half = TWO[: len(TWO) // 2 - 1]
    assert following(half) is None
    assert first_batch_bytes(RecordSet(half)) == len(TWO) // 2
    assert first_batch_bytes(RecordSet(np.frombuffer(half, np.uint8))) == len(TWO) // 2
    assert following(b"") is None
    assert first_batch_bytes(RecordSet(b"")) is None
    assert first_batch_bytes(RecordSet(TWO[:11])) is None


@pytest.mark.parametrize("name", [name for name in java_record_sets() if name[0] in "01"])
def test_the_old_formats_have_a_next_offset_too(name: str) -> None:
    assert following(java_record_sets()[name]) == 112


@pytest.mark.parametrize("kind", [bytes, memoryview, lambda data: np.frombuffer(data, np.uint8), bytearray])
def test_record_sets_may_lie_in_any_kind_of_memory(kind: type[bytes]) -> None:
    assert following(kind(TWO)) == 25


def test_the_bytes_are_not_copied() -> None:
    memory = np.frombuffer(TWO, np.uint8)
    assert np.shares_memory(as_bytes(memory[3:]), memory)


@pytest.mark.parametrize(
    ("at", "layout", "value", "words"),
    [
        (8, ">i", -1, "shorter than its own header"),
        (8, ">i", -(1 << 31), "shorter than its own header"),
        (8, ">i", 48, "shorter than its own header"),
        (16, ">b", 3, "magic byte"),
        (16, ">b", -1, "magic byte"),
        (0, ">q", -1, "offset outside"),
        (0, ">q", (1 << 63) - 1, "offset outside"),
        (23, ">i", -1, "offset outside"),
        (57, ">i", -1, "more records than its bytes"),
    ],
)
def test_headers_that_cannot_be_believed_are_named_wherever_their_batch_stands(
    at: int, layout: str, value: int, words: str
) -> None:
    for place in range(12):
        whole = [batch([Record(0)], 10 + number) for number in range(14)]
        broken = bytearray(b"".join(whole))
        struct.pack_into(layout, broken, len(b"".join(whole[:place])) + at, value)
        with pytest.raises(CorruptRecordError, match=words) as raised:
            following(bytes(broken))
        assert (raised.value.source, raised.value.split) == ("kafka", "orders-3")


def offsets_in_range(data: bytes, position: int, stop: int) -> list[int]:
    return [
        int(found["base_offset"])
        for found in with_records_from(before(scan(as_bytes(data), "orders-3"), stop), position)
    ]


def test_batches_outside_of_the_range_are_left_out_unread() -> None:
    data = b"".join(batch([Record(0), Record(9)], base) for base in (0, 10, 20, 30))
    assert offsets_in_range(data, 0, 40) == [0, 10, 20, 30]
    assert offsets_in_range(data, 10, 20) == [10]
    assert offsets_in_range(data, 9, 21) == [0, 10, 20]
    assert offsets_in_range(data, 40, 50) == []


def test_control_batches_hold_nothing_for_readers() -> None:
    assert offsets_in_range(TWO + marker(25, 7, abort=False), 0, 100) == [10, 20]
    assert following(TWO + marker(25, 7, abort=False)) == 26


def test_a_wrapper_of_the_old_formats_may_begin_before_its_offset() -> None:
    wrapper = java_record_sets()["1 gzip 0"]
    assert offsets_in_range(wrapper, 100, 102) == [111]


def test_control_batches_are_marked_as_kafka_marks_them() -> None:
    found = scan(as_bytes(java_record_sets()["abort"]), "orders-3")
    assert found["attributes"][0] & CONTROL
    assert HEADER.size == 61


def verified(data: bytes, whole: bytes | None = None) -> None:
    verify(as_bytes(data), scan(as_bytes(whole or data), "orders-3"), "orders-3")


@pytest.mark.parametrize("name", java_record_sets())
def test_what_java_wrote_is_whole(name: str) -> None:
    verified(java_record_sets()[name])


@pytest.mark.parametrize("size", [0, 1, 7, 8, 9, 1023, 3071, 3072, 3073, 3 * 3072 + 17, 1 << 20])
def test_the_checksum_of_any_number_of_bytes_is_that_of_another_implementation(
    size: int, rng: random.Random
) -> None:
    whole = BATCH_OVERHEAD - CHECKED_BEFORE_RECORDS
    data = np.frombuffer(rng.randbytes(whole + 61 + size), np.uint8)
    batches = np.zeros(2, BATCH)
    batches["magic"] = (1, 2)
    batches["start"] = whole + CHECKED_BEFORE_RECORDS
    batches["end"] = len(data)
    batches["crc"][1] = google_crc32c.value(data[whole:].tobytes())
    assert first_wrong(data, batches) == -1
    batches["crc"][1] ^= 1
    assert first_wrong(data, batches) == 1


def test_tables_and_the_instruction_of_the_processor_give_the_same_checksum(rng: random.Random) -> None:
    add_word: Any = checksum._add_word_by_tables
    crc = np.uint64(0xFFFFFFFF)
    data = rng.randbytes(80)
    for (word,) in struct.iter_unpack("<Q", data):
        crc = add_word.py_func(crc, np.uint64(word))
    assert int(crc) ^ 0xFFFFFFFF == google_crc32c.value(data)


def test_every_bit_after_the_checksum_counts(rng: random.Random) -> None:
    whole = batch([Record(0, value=rng.randbytes(100))])
    for bit in range(21 * 8, len(whole) * 8):
        broken = bytearray(whole)
        broken[bit // 8] ^= 1 << bit % 8
        with pytest.raises(CorruptRecordError, match="fails its checksum"):
            verified(bytes(broken), whole)


def test_the_error_names_the_batch_that_fails() -> None:
    broken = bytearray(batch([Record(0)], 5) + batch([Record(0)], 6))
    broken[-2] ^= 1
    with pytest.raises(CorruptRecordError, match="offset 6 fails its checksum") as raised:
        emitted(bytes(broken))
    assert (raised.value.source, raised.value.split, raised.value.position) == ("kafka", "orders-3", 6)


def test_checksums_can_be_turned_off() -> None:
    broken = bytearray(batch([Record(0, value=b"value")], 5))
    broken[-2] ^= 1
    assert [row.value for row in emitted(bytes(broken), check_crcs=False)] == [b"valud"]


@pytest.mark.parametrize(
    ("at", "bit"), [(22, 0x20), (26, 0x02), (16, 0x02), (16, 0x03)], ids=["control", "ends early", "v0", "v1"]
)
def test_a_bit_that_hides_a_batch_is_found(at: int, bit: int) -> None:
    broken = bytearray(batch([Record(0), Record(1), Record(2)], 5))
    broken[at] ^= bit
    with pytest.raises(CorruptRecordError, match="fails its checksum"):
        emitted(bytes(broken), start=7)


def test_batches_behind_the_stop_are_not_checked() -> None:
    broken = bytearray(batch([Record(0)], 6))
    broken[-2] ^= 1
    assert [row.offset for row in emitted(batch([Record(0)], 5) + bytes(broken), stop=6)] == [5]
