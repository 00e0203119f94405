"""Characters one after the other: all of Unicode, bytes that are none of it, and the limits of values."""

from __future__ import annotations

import random

import pytest

from tests.readers.formats.csv.csv_values import TEXT, decode, texts


def test_characters_of_all_lengths_come_out_as_they_went_in(rng: random.Random) -> None:
    codes = [rng.choice([rng.randrange(0x20, 0x250), rng.randrange(0x10000, 0x110000)]) for _ in range(2_000)]
    text = "".join(chr(code) for code in codes if chr(code) not in '",\\')
    # The escaped quote has the value put together character by character.
    assert texts([f'"{text}\\"",b']) == [(f'{text}"', "b", None)]


@pytest.mark.parametrize(
    ("record", "value"),
    [
        (b"\xff\xfe,b", "\ufffd\ufffd"),
        (b'"\xff\xfe\\"",b', '\ufffd\ufffd"'),
        (b"a\xe9,b", "a\ufffd"),
        (b'"\xe2\x82\\"x",b', '\ufffd"x'),
    ],
)
def test_bytes_that_are_no_utf_8_become_replacement_characters_as_in_java(record: bytes, value: str) -> None:
    assert texts([record]) == [(value, "b", None)]


def test_a_value_that_is_put_together_may_be_of_any_length() -> None:
    for size in (1_000, 65_536, 300_000):
        assert texts(['"' + "y" * size + '\\"z",b']) == [("y" * size + '"z', "b", None)]


@pytest.mark.parametrize("record", ["abcdef,1", '"abcdef",1', "abcd😀,1", '"ab\\"cde",1'])
def test_a_value_may_have_as_many_utf_16_units_as_the_limit_says(record: str) -> None:
    assert texts([record], max_characters=6)[0][1] == "1"
    assert list(decode(TEXT, [record], max_characters=5).bad.values()) == [
        "has a longer value than option 'maxCharsPerColumn' allows"
    ]


def test_a_record_may_have_as_many_values_as_the_limit_says() -> None:
    found = decode(TEXT, ["1,2,3", "1,2,3,4"], max_columns=3)
    assert found.rows == [{"a": "1", "b": "2", "c": "3"}, {}]
    assert found.bad == {1: "has more values than option 'maxColumns' allows"}
