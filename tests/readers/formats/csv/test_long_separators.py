"""Separators of several characters, and parts of them that are text."""

from __future__ import annotations

import random

import pytest

from tests.readers.formats.csv.csv_values import stream, texts


@pytest.mark.parametrize(
    ("record", "values"),
    [
        ("1ab2ab3", ("1", "2", "3")),
        ("abab", (None, None, None)),
        ("1a2ab3a", ("1a2", "3a", None)),
        ("1aab2", ("1a", "2", None)),
        ('"1abx"ab2', ("1abx", "2", None)),
        ('"1" ab2', ("1", "2", None)),
        ('"x"y ab2', ('"x"y ', "2", None)),
        ('"x" a 1ab2', ('"x" a 1ab2', None, None)),
        ('"x" a', ('"x" a', None, None)),
        ('"x" a ', ('"x" a ', None, None)),
        ('"x"  ', ("x", None, None)),
    ],
)
def test_a_separator_counts_only_as_a_whole(record: str, values: tuple[str | None, ...]) -> None:
    assert texts([record], separator="ab") == [values]


@pytest.mark.parametrize(
    ("content", "records"),
    [
        (b" a\n1ab2\n", [("a", None, None), ("1", "2", None)]),
        (b"1ab a\n2ab3\n", [("1", "a", None), ("2", "3", None)]),
        (b" aab\n, \n", [("a", None, None), (", ", None, None)]),
        (b" a ab2ab3\n", [("a", "2", "3")]),
        (b" ab ab3\n", [(None, None, "3")]),
        (b" a \n", [("a", None, None)]),
        (b" \n1ab2\n", [("1", "2", None)]),
    ],
)
def test_a_part_of_a_separator_behind_white_space_is_a_value(
    content: bytes, records: list[tuple[str | None, ...]]
) -> None:
    assert stream(content, separator="ab", ignore_leading=True) == records


def test_records_without_special_characters_are_split_as_by_python(rng: random.Random) -> None:
    records = ["".join(rng.choices("abc", k=rng.randrange(1, 20))) for _ in range(500)]
    expected = [[part or None for part in record.split("abc")][:3] for record in records]
    found = texts(records, separator="abc")
    assert found == [tuple([*parts, None, None][:3]) for parts in expected]
