"""Memory of a table of columns follows the bytes that are decoded, in every format, for rows of any width."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from benchmarks.wide_values import FORMATS, nested, wide, written
from headwater.readers.formats.format import Spans
from headwater.readers.kernels import arenas
from headwater.readers.kernels.arrays import ByteArray

MOST_FIXED = 16 << 20
"""Bytes of room that a decoder has for the first rows."""
MOST_FACTOR = 12
SHAPES = [
    pytest.param(wide(100, 2_000), id="2,000 columns"),
    pytest.param(wide(3, 4_000), id="4,000 columns"),
    pytest.param([{**wide(1, 1_999)[0], "large": "x" * 3_000_000}], id="one large column of 2,000"),
    pytest.param(nested(1, 500, 160), id="a list of 500 objects"),
    pytest.param(nested(50, 20, 80), id="lists in rows"),
]


@pytest.fixture
def leases(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The sizes of the regions that tables lease."""
    sizes: list[int] = []
    lease = arenas.ArenaPool.lease

    def noted(pool: arenas.ArenaPool, size: int) -> ByteArray:
        sizes.append(size)
        return lease(pool, size)

    monkeypatch.setattr(arenas.ArenaPool, "lease", noted)
    return sizes


@pytest.mark.parametrize("rows", SHAPES)
@pytest.mark.parametrize("name", FORMATS)
def test_room_is_bounded_by_the_bytes_that_are_decoded_and_not_by_the_schema(
    name: str, rows: list[dict[str, Any]], leases: list[int]
) -> None:
    if name == "CSV" and "list" in rows[0]:
        pytest.skip("CSV has no lists")
    made_by, values = written(name, rows)
    decoder = made_by.decoder()
    size = sum(map(len, values))
    # The first batch has the sizes of no other one; in the second each column has as much as it needs.
    for _ in range(2):
        leases.clear()
        assert decoder.append(_spans(values)) is None
        columns = list(decoder.finish())
        batch = pa.RecordBatch.from_arrays(columns, names=list(rows[0]))
        assert batch.to_pylist() == rows
        room = max(leases) + sum(buffer.size for column in columns for buffer in _buffers(column))
        assert room < MOST_FIXED + MOST_FACTOR * size + 4 * len(values) * len(rows[0])


@pytest.mark.parametrize("name", FORMATS)
def test_batches_of_other_sizes_and_values_that_outgrow_their_column_are_read(name: str) -> None:
    rows = [{"a": "x" * (3 ** (at % 12)), "b": f"{at}", "c": "é" * (at % 700)} for at in range(3_000)]
    made_by, values = written(name, rows)
    decoder = made_by.decoder()
    at = 0
    for count in (1, 5, 700, 2, 2_000, 292):
        for first in range(at, at + count, 97):
            assert decoder.append(_spans(values[first : min(first + 97, at + count)])) is None
        batch = pa.RecordBatch.from_arrays(list(decoder.finish()), names=["a", "b", "c"])
        batch.validate(full=True)
        assert [_nulls_as_texts(row) for row in batch.to_pylist()] == rows[at : at + count]
        at += count


def _nulls_as_texts(row: dict[str, Any]) -> dict[str, Any]:
    """CSV has no difference between an empty text and null."""
    return {name: value or "" for name, value in row.items()}


def _buffers(column: pa.Array[Any]) -> Iterator[pa.Buffer]:
    return (buffer for buffer in column.buffers() if buffer is not None)


def _spans(values: list[bytes]) -> Spans:
    sizes = np.array([len(value) for value in values], np.int64)
    return Spans(np.frombuffer(b"".join(values), np.uint8), np.cumsum(sizes) - sizes, sizes)
