"""Leaves of ORC as the types of the schema: the same one, or another number, as Spark's library for ORC."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute

from headwater.readers.files.column_types import ColumnConversion, UnfitTypeError
from headwater.readers.files.columnar_formats import spark_type
from headwater.readers.files.rebase import Rebase

compute: Any = pyarrow.compute
_SECOND_US: Final = 1_000_000
_LEAST_FRACTION_US: Final = 1_000
"""The least microseconds with which a second was rounded."""
_FLOATS: Final = ("float", "double")
_MOST_DIGITS: Final = 38


def orc_conversion(source: Any, target: Any, dates: Rebase, times: Rebase, ahead_us: int) -> ColumnConversion:
    """Return the conversion of a leaf of ORC to the type in the schema.

    Args:
        source: the type in the file.
        target: the one in the schema.
        dates: for dates.
        times: for timestamps, with the zone by whose clock they were written.
        ahead_us: the microseconds that its timestamps are ahead of UTC.

    Raises:
        UnfitTypeError: it cannot be made of it here.
    """
    types = pa.types
    if types.is_int64(source) and (
        types.is_duration(target) or (types.is_timestamp(target) and target.tz is None)
    ):
        # How Spark writes times without a zone, and intervals.
        return lambda column: column.view(target)
    if types.is_timestamp(source) and types.is_timestamp(target) and target.tz is not None:
        behind_us = 0 if source.tz is not None else ahead_us
        return lambda column: times.timestamps(
            _orc_moments(column.cast(target, safe=False).view(pa.int64()), behind_us), target
        )
    if types.is_date(source) and types.is_date(target):
        return dates.dates
    if spark_type(source) == target and not types.is_timestamp(target):
        return lambda column: column.cast(target, safe=False)
    return _other_type(source, target)


def _other_type(source: Any, target: Any) -> ColumnConversion:
    """Return the conversion to another type, with null for values that do not fit."""
    types = pa.types
    if types.is_boolean(source) and (types.is_integer(target) or str(target) in _FLOATS):
        return lambda column: column.cast(pa.int8()).cast(target)
    if types.is_integer(source) and types.is_boolean(target):
        return lambda column: compute.not_equal(column, 0)
    if (types.is_integer(source) or types.is_decimal(source)) and types.is_integer(target):
        return lambda column: _whole(column, target)
    if (types.is_integer(source) or types.is_decimal(source)) and types.is_decimal(target):
        return lambda column: _decimals(column, target)
    if (
        (types.is_integer(source) and (str(target) in _FLOATS or types.is_string(target)))
        or (str(source) in _FLOATS and str(target) == "double")
        or (types.is_string(source) and types.is_binary(target))
    ):
        return lambda column: column.cast(target, safe=False)
    raise UnfitTypeError


def _whole(column: Any, kind: Any) -> Any:
    """Return integers without the digits behind the point."""
    if pa.types.is_decimal(column.type):
        column = compute.trunc(_wide(column, column.type.scale))
    most = 1 << (kind.bit_width - 1)
    return _between(column, Decimal(-most), Decimal(most - 1)).cast(kind, safe=False)


def _decimals(column: Any, kind: Any) -> Any:
    """Return decimals, rounded where they have fewer digits behind the point."""
    scale = column.type.scale if pa.types.is_decimal(column.type) else 0
    wide = _wide(column, max(kind.scale, scale))
    rounded = compute.round(wide, ndigits=kind.scale, round_mode="half_towards_infinity")
    most = Decimal((0, (9,) * kind.precision, -kind.scale))
    return _between(rounded, -most, most).cast(kind)


def _wide(column: Any, scale: int) -> Any:
    """Return numbers with room for every digit of a decimal of Spark."""
    return column.cast(pa.decimal256(_MOST_DIGITS + scale, scale))


def _between(column: Any, least: Decimal, most: Decimal) -> Any:
    """Return a column with null for values outside of two bounds."""
    bounds = [pa.scalar(int(each) if pa.types.is_integer(column.type) else each) for each in (least, most)]
    fits = compute.and_(compute.greater_equal(column, bounds[0]), compute.less_equal(column, bounds[1]))
    return compute.if_else(fits, column, pa.scalar(None, column.type))


def _orc_moments(micros: Any, ahead_us: int) -> Any:
    """Return when it was by UTC, of times that were counted from a moment that was so much too early.

    ORC rounds seconds towards zero, and takes one off again where a time before 1970 has a fraction of one.
    Whether it is before 1970 was seen by the wrong clock.
    """
    if ahead_us == 0:
        return micros
    seconds = compute.divide(micros, _SECOND_US)
    rounded_up = compute.less(micros, compute.multiply(seconds, _SECOND_US))
    seconds = compute.subtract(seconds, rounded_up.cast(pa.int64()))
    fraction = compute.subtract(micros, compute.multiply(seconds, _SECOND_US))
    counts = compute.greater_equal(fraction, _LEAST_FRACTION_US)
    seconds_less = compute.and_(counts, compute.less(micros, 0)).cast(pa.int64())
    seconds = compute.subtract(compute.add(seconds, seconds_less), ahead_us // _SECOND_US)
    seconds_less = compute.and_(counts, compute.less(seconds, 0)).cast(pa.int64())
    return compute.add(compute.multiply(compute.subtract(seconds, seconds_less), _SECOND_US), fraction)
