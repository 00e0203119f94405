"""Lines end where Spark's readers end them, wherever tasks and blocks begin."""

from __future__ import annotations

import io
import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.readers.files.line_format import line_blocks
from headwater.readers.files.lines import line_ends
from headwater.readers.formats.lines.lines import line_spans

PIECES = st.lists(st.sampled_from([b"a", b"b", b"\n", b"\r", b"::", b":"]), max_size=30).map(b"".join)
SEPARATORS = st.sampled_from([None, b"\n", b"ab", b"::", b"a\n", b"aba"])


def lines_of(data: bytes, separator: bytes | None) -> list[bytes]:
    """Return the lines as a reader finds them that looks at one byte after the other."""
    pattern = rb"\r\n|\r|\n" if separator is None else re.escape(separator)
    lines = re.split(pattern, data)
    return lines if lines[-1] else lines[:-1]


@given(PIECES, SEPARATORS, st.lists(st.integers(0, 80), max_size=5), st.integers(1, 9))
def test_every_line_is_read_once_whatever_the_borders_and_the_separator(
    data: bytes, separator: bytes | None, cuts: list[int], block_bytes: int
) -> None:
    ends = line_ends(separator)
    inner = [cut for cut in cuts if cut <= len(data)] if ends.is_splittable else []
    blocks = [
        block.text
        for start, stop in pairwise(sorted({0, len(data), *inner}))
        for block in line_blocks(io.BytesIO(data), start, stop, "f", ends, block_bytes)
    ]
    found = [
        line_spans(block, separator).value(row)
        for block in blocks
        for row in range(line_spans(block, separator).sizes.size)
    ]
    assert found == lines_of(data, separator)


@pytest.mark.parametrize(("separator", "splittable"), [(b"\n", True), (b"ab", True), (b"aba", False)])
def test_a_separator_that_overlaps_itself_is_looked_for_from_the_beginning_of_the_file(
    separator: bytes, splittable: bool
) -> None:
    assert line_ends(separator).is_splittable is splittable
