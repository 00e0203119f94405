"""The kernel finds the lines that a look at one byte after the other finds, wherever they lie."""

from __future__ import annotations

import re

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.readers.formats.lines.lines import line_spans, line_texts

LENGTHS = st.one_of(st.integers(0, 3), st.integers(25, 40), st.integers(60, 100))
ENDS = st.sampled_from([b"\n", b"\r", b"\r\n", b"\n\r", b"\n\n", b";", b"", b"\xc3\xa9\n", b"\xff"])
BLOCKS = st.lists(st.tuples(LENGTHS, ENDS), max_size=20).map(
    lambda lines: b"".join(b"x" * length + end for length, end in lines)
)
SEPARATORS = st.sampled_from([None, b"\n", b"\r", b";", b"\xff"])


def lines_of(data: bytes, separator: bytes | None) -> list[bytes]:
    pattern = rb"\r\n|\r|\n" if separator is None else re.escape(separator)
    lines = re.split(pattern, data)
    return lines if lines[-1] else lines[:-1]


@given(BLOCKS, SEPARATORS, st.booleans())
def test_spans_and_texts_are_the_lines(data: bytes, separator: bytes | None, is_mutable: bool) -> None:
    block = bytearray(data) if is_mutable else data
    spans = line_spans(block, separator)
    assert [spans.value(row) for row in range(len(spans.sizes))] == lines_of(data, separator)
    texts = line_texts(block, separator)
    assert texts is not None
    assert texts.view(pa.binary()).to_pylist() == lines_of(data, separator)


@pytest.mark.parametrize("separator", [None, b"\n"])
@pytest.mark.parametrize("block", [b"", b"\n", b"\n" * 5_000, b"ab\n" * 5_000, b"a" * 100_000])
def test_more_lines_than_there_is_memory_for_at_first_are_found(
    block: bytes, separator: bytes | None
) -> None:
    spans = line_spans(block, separator)
    expected = lines_of(block, separator)
    assert spans.sizes.tolist() == list(map(len, expected))
    texts = line_texts(block, separator)
    assert texts is not None
    texts.validate(full=True)
    assert texts.view(pa.binary()).to_pylist() == expected


def test_a_separator_of_several_bytes_is_not_the_kernels() -> None:
    assert line_texts(b"a::b", b"::") is None
    assert line_spans(b"a::b::", b"::").starts.tolist() == [0, 3]
