"""Varints are read and written as Protobuf, Avro and MQTT have them."""

from __future__ import annotations

import pytest

from headwater.core.varints import read_varint, unzigzag, varint_bytes, zigzag


@pytest.mark.parametrize("number", [0, 1, 127, 128, 300, (1 << 35) - 1, (1 << 63) - 1, (1 << 64) - 1])
def test_a_number_that_was_written_is_read(number: int) -> None:
    encoded = varint_bytes(number)
    assert read_varint(b"." + encoded + b"behind", 1) == (number, 1 + len(encoded))


def test_known_bytes() -> None:
    assert varint_bytes(300) == b"\xac\x02"


@pytest.mark.parametrize("number", [0, -1, 1, -2, (1 << 63) - 1, -(1 << 63)])
def test_signs_move_to_the_lowest_bit_and_back(number: int) -> None:
    assert 0 <= zigzag(number) < 1 << 64
    assert unzigzag(zigzag(number)) == number


def test_a_number_that_breaks_off_is_an_index_error() -> None:
    with pytest.raises(IndexError):
        read_varint(b"\x80\x80", 0)


def test_a_number_that_is_too_long_is_refused() -> None:
    with pytest.raises(ValueError, match="more than 4 bytes"):
        read_varint(b"\x80" * 5, 0, 4)
