"""Filters that Spark pushes down: row groups and rows that cannot pass need not come out.

Spark applies every filter again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from headwater.readers.files.parquet_statistics import ColumnBounds, GroupBounds

Filters = Sequence[tuple[str, str, object]]
"""Column, operator (``==``, ``<``, ``<=``, ``>``, ``>=``, ``in``, ``null``, ``not null``), value."""

# Column and value: which rows pass.
_ROWS: dict[str, Callable[[Any, Any], Any]] = {
    "==": lambda column, value: pc.equal(column, pa.scalar(value, column.type)),
    "<": lambda column, value: pc.less(column, pa.scalar(value, column.type)),
    "<=": lambda column, value: pc.less_equal(column, pa.scalar(value, column.type)),
    ">": lambda column, value: pc.greater(column, pa.scalar(value, column.type)),
    ">=": lambda column, value: pc.greater_equal(column, pa.scalar(value, column.type)),
    "in": lambda column, values: pc.is_in(column, pa.array(values, column.type)),
    "null": lambda column, _: pc.is_null(column),
    "not null": lambda column, _: pc.is_valid(column),
}

# Least and greatest value, and the filter's: whether any row may pass.
_RANGES: dict[str, Callable[[Any, Any, Any], bool]] = {
    "==": lambda low, high, value: low <= value <= high,
    "<": lambda low, _, value: low < value,
    "<=": lambda low, _, value: low <= value,
    ">": lambda _, high, value: high > value,
    ">=": lambda _, high, value: high >= value,
    "in": lambda low, high, values: any(low <= value <= high for value in values),
}


def may_match(bounds: GroupBounds, filters: Filters) -> bool:
    """Whether a row group may hold a row that passes, by its statistics. Without them it may.

    Args:
        bounds: of the columns that filters name.
        filters: all must pass.
    """
    return all(
        _may_pass(bounds.get(name), operator, value)
        for name, operator, value in filters
        if operator in _RANGES
    )


def drop_failing(batch: pa.RecordBatch, filters: Filters) -> pa.RecordBatch:
    """Return the rows of a batch that may pass.

    Floats are left to Spark, whose NaN is equal to itself and larger than all.
    """
    for name, operator, value in filters:
        at = batch.schema.get_field_index(name)
        if at < 0 or pa.types.is_floating(batch.schema.field(at).type):
            continue
        try:
            batch = batch.filter(_ROWS[operator](batch.column(at), value))
        except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError):
            continue  # the column cannot hold the value: what that means is left to Spark
    return batch


def _may_pass(bounds: ColumnBounds | None, operator: str, value: object) -> bool:
    """Whether a value between these bounds may pass."""
    if bounds is None:
        return True
    try:
        return _RANGES[operator](bounds.least, bounds.greatest, value)
    except TypeError:
        return True  # the bounds are of another kind than the value
