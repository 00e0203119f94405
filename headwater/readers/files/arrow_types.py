"""Types of Arrow as those that Spark has, and values of the one as the other: for Arrow files."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, cast

import pyarrow as pa

from headwater.readers.files.column_types import ColumnConversion, UnfitTypeError

_FLAT_TYPES: Final[tuple[tuple[Callable[[Any], bool], pa.DataType], ...]] = (
    (pa.types.is_timestamp, pa.timestamp("us", "UTC")),
    (pa.types.is_date, pa.date32()),
    (pa.types.is_null, pa.string()),
    (pa.types.is_large_string, pa.string()),
    (pa.types.is_string_view, pa.string()),
    (pa.types.is_large_binary, pa.binary()),
    (pa.types.is_fixed_size_binary, pa.binary()),
    (pa.types.is_binary_view, pa.binary()),
    (pa.types.is_float16, pa.float32()),
    (pa.types.is_uint8, pa.int16()),
    (pa.types.is_uint16, pa.int32()),
    (pa.types.is_uint32, pa.int64()),
    (pa.types.is_uint64, pa.decimal128(20, 0)),
)
"""Types that Spark does not have, and those that hold their values."""


def spark_type(kind: Any) -> pa.DataType:
    """Return the type of Spark that holds the values of a type of Arrow."""
    types = pa.types
    if types.is_dictionary(kind):
        return spark_type(kind.value_type)
    if types.is_struct(kind):
        return pa.struct([pa.field(field.name, spark_type(field.type)) for field in kind])
    if types.is_map(kind):
        return pa.map_(spark_type(kind.key_type), spark_type(kind.item_type))
    if types.is_nested(kind) and not types.is_union(kind):  # lists of all kinds
        return pa.list_(spark_type(cast("Any", kind).value_type))
    return next((found for is_kind, found in _FLAT_TYPES if is_kind(kind)), kind)


def arrow_conversion(found: Any, wanted: Any, _at: int) -> ColumnConversion:
    """Return what casts a leaf of an Arrow file: what can be cast without loss.

    Raises:
        UnfitTypeError: the one is never the other.
    """
    types = pa.types
    is_time = types.is_timestamp(found) and types.is_timestamp(wanted)
    if not is_time and not pa.scalar(None, found).cast(wanted).type == wanted:
        raise UnfitTypeError
    # Nanoseconds become microseconds, as in Spark, and no error.
    return lambda column: column.cast(wanted, safe=not is_time)
