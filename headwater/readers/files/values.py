"""Text to values, a column at a time: what CSV and JSON share."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, cast

import pyarrow as pa
import pyarrow.compute as pc

_ZONE = r"(Z|[+-]\d{2}:?\d{2})$"
_INFERRED: tuple[pa.DataType, ...] = (
    pa.int32(),
    pa.int64(),
    pa.float64(),
    pa.date32(),
    pa.timestamp("us", "UTC"),
    pa.bool_(),
)
"""The types that text is looked at for, the narrowest first."""


def parse_column(strings: pa.Array[Any], kind: pa.DataType) -> pa.Array[Any]:
    """Return text as values. Times without a zone are taken to be UTC.

    Raises:
        ArrowInvalid: some text is no value of this type.
    """
    if pa.types.is_timestamp(kind):
        return _timestamps(strings, kind)
    if pa.types.is_boolean(kind):
        return _booleans(strings)
    return cast("pa.Array[Any]", strings.cast(kind))


def infer_type(strings: pa.Array[Any]) -> pa.DataType:
    """Return the narrowest type that all of these texts are values of, in Spark's order.

    String where there are none.
    """
    present = strings.drop_null()
    if len(present) == 0:
        return pa.string()
    return next((kind for kind in _INFERRED if _is(present, kind)), pa.string())


def _is(strings: pa.Array[Any], kind: pa.DataType) -> bool:
    try:
        parse_column(strings, kind)
    except pa.ArrowInvalid:
        return False
    return True


def _booleans(strings: pa.Array[Any]) -> pa.Array[Any]:
    lowered = pc.utf8_lower(strings)
    is_true = pc.is_in(lowered, pa.array(["true"]))
    is_false = pc.is_in(lowered, pa.array(["false"]))
    is_known = pc.or_(pc.or_(is_true, is_false), pc.is_null(strings))
    if not pc.all(is_known).as_py():
        raise pa.ArrowInvalid("neither true nor false")
    return cast("pa.Array[Any]", pc.if_else(pc.is_valid(strings), is_true, pa.scalar(None, pa.bool_())))


def _timestamps(strings: pa.Array[Any], kind: pa.TimestampType) -> pa.Array[Any]:
    """Return text as times. Pyarrow casts texts that all have a zone, or texts of which none has one."""
    without_zone = pa.timestamp(kind.unit)
    with suppress(pa.ArrowInvalid):
        return strings.cast(without_zone).cast(kind)
    with suppress(pa.ArrowInvalid):
        return strings.cast(kind)
    # Some have a zone and some have not: each kind by itself.
    zoned = pc.match_substring_regex(strings, _ZONE)
    nothing = pa.scalar(None, pa.string())
    return pc.coalesce(
        pc.if_else(zoned, strings, nothing).cast(kind),
        pc.if_else(zoned, nothing, strings).cast(without_zone).cast(kind),
    )
