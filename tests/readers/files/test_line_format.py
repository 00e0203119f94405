"""Every line belongs to exactly one range, whatever the borders."""

from __future__ import annotations

import io
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.core.errors import CorruptRecordError
from headwater.readers.files import line_format as module
from headwater.readers.files.line_format import line_blocks

PIECES = st.lists(
    st.sampled_from([b"a", b"bc", b"\n", b"\r\n", b"\xef\xbb\xbf", b"\r", b"\xc3\xa9" * 3, b" "]), max_size=30
).map(b"".join)


@given(PIECES, st.lists(st.integers(0, 80), max_size=5), st.integers(1, 9))
def test_ranges_with_any_borders_read_the_whole_file_once(
    data: bytes, cuts: list[int], block_bytes: int
) -> None:
    borders = sorted({0, len(data), *(cut for cut in cuts if cut <= len(data))})
    blocks = [
        block
        for start, stop in pairwise(borders)
        for block in line_blocks(io.BytesIO(data), start, stop, "f", block_bytes=block_bytes)
    ]
    assert b"".join(block.text for block in blocks) == data.removeprefix(b"\xef\xbb\xbf")
    for block in blocks[:-1]:
        assert block.text.endswith((b"\n", b"\r")), "a block ends where a line does"
    assert all(data[block.start - 1 : block.start] in (b"", b"\n", b"\r") for block in blocks), (
        "and begins where one does"
    )


@given(PIECES, st.integers(1, 9))
def test_a_stream_without_an_end_or_seek_is_read_whole(data: bytes, block_bytes: int) -> None:
    blocks = list(line_blocks(io.BytesIO(data), 0, None, "f", block_bytes=block_bytes))
    assert b"".join(block.text for block in blocks) == data.removeprefix(b"\xef\xbb\xbf")


@given(st.integers(1, 40), st.integers(0, 3), st.integers(0, 100))
def test_a_line_up_to_the_bound_is_read_wherever_it_lies(block_bytes: int, lines: int, size: int) -> None:
    data = b"a\n" * lines + b"x" * (size - 1) + b"\nb\n" * 200
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "LONGEST_LINE_BYTES", 100)
        blocks = list(line_blocks(io.BytesIO(data), 0, None, "f", block_bytes=block_bytes))
    assert b"".join(block.text for block in blocks) == data


@given(st.integers(1, 40), st.integers(0, 3), st.integers(1, 100))
def test_a_longer_line_is_refused_though_its_end_would_come(block_bytes: int, lines: int, more: int) -> None:
    data = b"a\n" * lines + b"x" * (100 + block_bytes + more) + b"\nb\n" * 200
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "LONGEST_LINE_BYTES", 100)
        with pytest.raises(CorruptRecordError) as raised:
            list(line_blocks(io.BytesIO(data), 0, None, "f", block_bytes=block_bytes))
    assert raised.value.position == 2 * lines


def test_a_line_that_never_ends_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LONGEST_LINE_BYTES", 100)
    with pytest.raises(CorruptRecordError, match=r"split f, position 2\]"):
        list(line_blocks(io.BytesIO(b"a\n" + b"x" * 1000), 0, 1002, "f", block_bytes=10))
