"""Types of Arrow as those that Spark has, and values of the one as the other: for Arrow files and ORC."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, cast

import pyarrow as pa
import pyarrow.compute

from headwater.readers.files.column_types import ColumnConversion, UnfitTypeError
from headwater.readers.files.rebase import Rebase

compute: Any = pyarrow.compute
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
_SECOND_US: Final = 1_000_000
_LEAST_FRACTION_US: Final = 1_000
"""From so many microseconds on a second was rounded."""
_WIDER: Final = ("int8", "int16", "int32", "int64", "float", "double")


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


def orc_conversion(found: Any, wanted: Any, rebase: Rebase, ahead_us: int) -> ColumnConversion:
    """Return what makes the wanted type of a leaf of ORC: the same type, or a wider number.

    Args:
        found: the type in the file.
        wanted: the one in the schema.
        rebase: for dates.
        ahead_us: so many microseconds its timestamps are ahead of UTC.

    Raises:
        UnfitTypeError: it is neither.
    """
    types = pa.types
    if types.is_int64(found) and types.is_timestamp(wanted) and wanted.tz is None:
        # How Spark writes times without a zone.
        return lambda column: column.view(wanted)
    if types.is_timestamp(found) and types.is_timestamp(wanted) and wanted.tz is not None:
        if ahead_us == 0 or found.tz is not None:
            return lambda column: column.cast(wanted, safe=False)
        return lambda column: _orc_moments(column.cast(wanted, safe=False).view(pa.int64()), ahead_us).view(
            wanted
        )
    if types.is_date(found) and types.is_date(wanted):
        return rebase.dates
    names = [str(found), str(wanted)]
    is_wider = all(name in _WIDER for name in names) and _WIDER.index(names[0]) <= _WIDER.index(names[1])
    if (spark_type(found) != wanted and not is_wider) or types.is_timestamp(wanted):
        raise UnfitTypeError
    return lambda column: column.cast(wanted, safe=False)


def _orc_moments(micros: Any, ahead_us: int) -> Any:
    """Return when it was by UTC, of times that were counted from a moment that was so much too early.

    ORC rounds seconds towards zero, and takes one off again where a time before 1970 has a fraction of one.
    Whether it is before 1970 was seen by the wrong clock.
    """
    seconds = compute.divide(micros, _SECOND_US)
    rounded_up = compute.less(micros, compute.multiply(seconds, _SECOND_US))
    seconds = compute.subtract(seconds, rounded_up.cast(pa.int64()))
    fraction = compute.subtract(micros, compute.multiply(seconds, _SECOND_US))
    counts = compute.greater_equal(fraction, _LEAST_FRACTION_US)
    taken = compute.and_(counts, compute.less(micros, 0)).cast(pa.int64())
    seconds = compute.subtract(compute.add(seconds, taken), ahead_us // _SECOND_US)
    taken = compute.and_(counts, compute.less(seconds, 0)).cast(pa.int64())
    return compute.add(compute.multiply(compute.subtract(seconds, taken), _SECOND_US), fraction)
