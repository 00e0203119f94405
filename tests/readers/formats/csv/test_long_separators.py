"""Separators of several characters, and parts of them that are text."""

from __future__ import annotations

import random

import pytest

from tests.readers.formats.csv.csv_values import texts


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


def test_records_without_special_characters_are_split_as_by_python(rng: random.Random) -> None:
    records = ["".join(rng.choices("abc", k=rng.randrange(1, 20))) for _ in range(500)]
    expected = [[part or None for part in record.split("abc")][:3] for record in records]
    found = texts(records, separator="abc")
    assert found == [tuple([*parts, None, None][:3]) for parts in expected]
