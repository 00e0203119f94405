"""A flipped bit does not get through."""

from __future__ import annotations

import random

import pytest

from headwater.core.errors import CorruptRecordError
from headwater.readers.kafka.checksum import verify
from headwater.readers.kafka.record_batch import as_bytes, scan
from tests.readers.kafka.record_sets import Record, batch, emitted, java_record_sets


def verified(data: bytes, whole: bytes | None = None) -> None:
    verify(as_bytes(data), scan(as_bytes(whole or data), "orders-3"), "orders-3")


@pytest.mark.parametrize("name", java_record_sets())
def test_what_java_wrote_is_whole(name: str) -> None:
    verified(java_record_sets()[name])


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
