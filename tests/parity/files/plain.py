"""Arrow columns as plain values that can be compared exactly, whatever Python's own types can hold."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pyarrow as pa

__all__ = ["plain_rows"]

Plain = Any
"""None, bool, int, str, bytes, or tuples and lists of these."""


def plain_rows(table: pa.Table) -> list[tuple[Plain, ...]]:
    """Return the rows of a table.

    Times and dates are the numbers that Spark counts, so that no year is too large for Python. Floating point
    numbers are their bits, so that NaN equals itself and -0.0 differs from 0.0.
    """
    columns = [_plain(column.combine_chunks()) for column in table.columns]
    return list(zip(*columns, strict=True))


def _plain(array: pa.Array[Any]) -> list[Plain]:  # noqa: C901, PLR0911 - a kind of type a line
    kind = array.type
    if pa.types.is_struct(kind):
        return _structs(cast("pa.StructArray", array))
    if pa.types.is_map(kind):
        entries = cast("Any", array)
        pairs = list(zip(_plain(entries.keys), _plain(entries.items), strict=True))
        return _lists(array, pairs)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return _lists(array, _plain(cast("Any", array).values))
    if pa.types.is_floating(kind):
        return _floats(array)
    if pa.types.is_timestamp(kind):
        array = array.cast(pa.timestamp("us", kind.tz)).cast(pa.int64())
    elif pa.types.is_date(kind):
        array = array.cast(pa.int32())
    elif pa.types.is_time64(kind):
        array = array.cast(pa.time64("us"), safe=False).cast(pa.int64())
    elif pa.types.is_duration(kind):
        array = array.cast(pa.int64())
    elif pa.types.is_string(kind) or pa.types.is_large_string(kind):
        # Spark's own strings may be bytes that are not UTF-8.
        texts = array.view(pa.large_binary() if pa.types.is_large_string(kind) else pa.binary())
        return [None if text is None else text.decode("utf-8", "replace") for text in texts.to_pylist()]
    elif pa.types.is_decimal(kind):
        return [None if value is None else str(value) for value in array.to_pylist()]
    return array.to_pylist()


def _structs(array: pa.StructArray) -> list[Plain]:
    fields = [_plain(array.field(at)) for at in range(array.type.num_fields)]
    rows: list[Plain] = list(zip(*fields, strict=True)) if fields else [()] * len(array)
    return [row if valid else None for row, valid in zip(rows, array.is_valid().to_pylist(), strict=True)]


def _lists(array: Any, values: list[Plain]) -> list[Plain]:
    borders = array.offsets.to_pylist()
    valid = array.is_valid().to_pylist()
    return [values[borders[at] : borders[at + 1]] if valid[at] else None for at in range(len(array))]


def _floats(array: pa.Array[Any]) -> list[Plain]:
    floats = array.cast(pa.float64())
    numbers = np.asarray(floats.fill_null(0.0), dtype=np.float64)
    numbers = np.where(np.isnan(numbers), np.nan, numbers)
    bits = np.ascontiguousarray(numbers).view(np.int64).tolist()
    return [value if valid else None for value, valid in zip(bits, array.is_valid().to_pylist(), strict=True)]
