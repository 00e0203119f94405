"""Ordinary records that are cut many bytes at a time are what the exact way makes of them."""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa
import pytest

from tests.readers.formats.csv.csv_values import TEXT, decode, stream, texts

LETTERS = '"",,\\ab\t\n\ré \0'
ENOUGH = 1 << 20
"""A limit that no value reaches, and with which no record counts as ordinary."""


def records(rng: random.Random, count: int, letters: str) -> list[str]:
    return ["".join(rng.choices(letters, k=rng.randrange(1, 40))) for _ in range(count)]


TRIMMING: Any = [{}, {"ignore_leading": True}, {"ignore_trailing": True}]
TRIMMING.append(TRIMMING[1] | TRIMMING[2])


@pytest.mark.parametrize("trimming", TRIMMING)
@pytest.mark.parametrize("escape", ["\\", '"', "a"])
@pytest.mark.parametrize("quote", ['"', ""])
def test_records_are_the_same_in_both_ways(
    escape: str, quote: str, trimming: dict[str, Any], rng: random.Random
) -> None:
    lines = records(rng, 1_000, LETTERS.replace("\n", "").replace("\r", ""))
    lines += [f'"{line}",{line},"{line}"' for line in records(rng, 1_000, '"\\ab \0')]
    lines += [f"\0{line}\0,b" for line in records(rng, 1_000, '"\\ab \0')]
    options: dict[str, Any] = {"escape": escape, "quote": quote, "comment": "b", **trimming}
    plain = decode(TEXT, lines, corrupt="corrupt", **options)
    exact = decode(TEXT, lines, corrupt="corrupt", max_characters=ENOUGH, **options)
    assert plain == exact


@pytest.mark.parametrize("trimming", TRIMMING)
@pytest.mark.parametrize("separator", ["\n", "\r", "\r\n"])
def test_streams_are_the_same_in_both_ways_wherever_they_are_cut(
    separator: str, trimming: dict[str, Any], rng: random.Random
) -> None:
    for _ in range(30):
        content = "".join(rng.choices(LETTERS, k=120)).encode()
        pieces = rng.sample(range(len(content)), 3)
        plain = stream(content, pieces, line_separator=separator, **trimming)
        assert plain == stream(content, line_separator=separator, max_characters=ENOUGH, **trimming)


def test_values_longer_than_a_chunk_end_at_their_separator() -> None:
    for size in range(1, 200, 7):
        assert texts(["x" * size + "," + '"' + "y," * size + '",z']) == [("x" * size, "y," * size, "z")]


@pytest.mark.parametrize("escaped", [r"\"", r"\\", '""'])
def test_escapes_are_taken_out_of_values_of_any_size(escaped: str) -> None:
    escape = escaped[0]
    for size in (1, 40, 100_000):
        value = ("x" * size + escaped) * 3
        record = f'a,"{value}",z'
        assert texts([record, record], escape=escape) == [("a", value.replace(escaped, escaped[1]), "z")] * 2


@pytest.mark.parametrize("number", ["0." + "123456789" * 8, "12345678901234567890e-30"])
@pytest.mark.parametrize("kind", [pa.float64(), pa.float32()])
def test_numbers_that_need_room_leave_values_with_escapes_as_they_are(number: str, kind: Any) -> None:
    schema = {"a": kind, "b": pa.string(), "c": pa.string()}
    found = decode(schema, [rf'{number},"b\"",' + '"' + 50 * r"\"" + '"'] * 2)
    assert [(row["b"], row["c"]) for row in found.rows] == [('b"', 50 * '"')] * 2
