"""Arrow columns as columns of a Spark type, where Arrow's own cast does what Spark's does."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, tzinfo
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

_SCALARS: tuple[Callable[[pa.DataType], bool], ...] = (
    pa.types.is_integer,
    pa.types.is_floating,
    pa.types.is_boolean,
    pa.types.is_date,
    lambda kind: pa.types.is_string(kind) or pa.types.is_large_string(kind),
    lambda kind: pa.types.is_binary(kind) or pa.types.is_large_binary(kind),
)


def cast_as_a_whole(column: pa.Array[Any], kind: Any, zone: tzinfo) -> pa.Array[Any] | None:
    """Return a column of another type; None if each value needs a look of its own.

    Args:
        column: what a function returned.
        kind: the type that it is to have.
        zone: of the session: of times without one.
    """
    try:
        if pa.types.is_dictionary(column.type):
            column = pc.cast(column, column.type.value_type)
        if pa.types.is_timestamp(column.type) and pa.types.is_timestamp(kind):
            return _timestamps(column, kind, zone)
        return pc.cast(column, kind) if _is_alike(column.type, kind) else None
    except pa.ArrowException:
        return None


def _timestamps(column: Any, kind: Any, zone: tzinfo) -> pa.Array[Any] | None:
    """Return times in microseconds; the rest is cut off, as Spark does it."""
    if column.type.unit == "ns":
        column = pc.cast(pc.floor_temporal(column, unit="microsecond"), pa.timestamp("us", column.type.tz))
    if column.type.tz is None and kind.tz is not None:
        name = "UTC" if zone is UTC else getattr(zone, "key", None)
        # An hour that comes twice is the first one. One that does not exist is left to Python.
        column = pc.assume_timezone(column, name, ambiguous="earliest") if name else None
    elif column.type.tz is not None and kind.tz is None:
        return None
    return None if column is None else pc.cast(column, kind)


def _is_alike(given: Any, kind: Any) -> bool:
    """Return whether one type is the other but for its width, at every depth."""
    if given == kind or pa.types.is_null(given):
        return True
    if pa.types.is_struct(given) and pa.types.is_struct(kind):
        return [field.name for field in given] == [field.name for field in kind] and all(
            into.nullable and _is_alike(field.type, into.type)
            for field, into in zip(given, kind, strict=True)
        )
    if _is_list(given) and pa.types.is_list(kind):
        return kind.value_field.nullable and _is_alike(given.value_type, kind.value_type)
    return any(is_kind(given) and is_kind(kind) for is_kind in _SCALARS)


def _is_list(kind: pa.DataType) -> bool:
    return pa.types.is_list(kind) or pa.types.is_large_list(kind)
