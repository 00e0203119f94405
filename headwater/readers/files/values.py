"""Text to values, a column at a time: what CSV and JSON share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import pyarrow as pa
import pyarrow.compute as pc

__all__ = ["infer_type", "parse_column", "parse_leniently"]

_ZONE = r"(Z|[+-]\d{2}:?\d{2})$"
_TRUE, _FALSE = ["true"], ["false"]


def parse_column(strings: pa.Array[Any], kind: pa.DataType) -> pa.Array[Any]:
    """Return text as values. Times without a zone are taken to be UTC.

    Raises:
        ArrowInvalid: some text is no value of this type.
    """
    if pa.types.is_timestamp(kind):
        return _timestamps(strings, kind)
    if pa.types.is_boolean(kind):
        lowered = pc.utf8_lower(strings)
        yes, no = pc.is_in(lowered, pa.array(_TRUE)), pc.is_in(lowered, pa.array(_FALSE))
        if not pc.all(pc.or_(pc.or_(yes, no), pc.is_null(strings))).as_py():
            raise pa.ArrowInvalid("neither true nor false")
        return cast("pa.Array[Any]", pc.if_else(pc.is_valid(strings), yes, pa.scalar(None, pa.bool_())))
    return cast("pa.Array[Any]", strings.cast(kind))


def parse_leniently(strings: pa.Array[Any], kind: pa.DataType) -> pa.Array[Any]:
    """Return text as values, null where it is none."""
    try:
        return parse_column(strings, kind)
    except pa.ArrowInvalid:
        pass
    return pa.concat_arrays([_one(strings.slice(at, 1), kind) for at in range(len(strings))])


def infer_type(strings: pa.Array[Any]) -> pa.DataType:
    """Return the narrowest type that all of these texts are values of, in Spark's order.

    String where there are none.
    """
    present = strings.drop_null()
    if len(present):
        for kind in (
            pa.int32(),
            pa.int64(),
            pa.float64(),
            pa.date32(),
            pa.timestamp("us", "UTC"),
            pa.bool_(),
        ):
            if _is(present, kind):
                return kind
    return pa.string()


def _is(strings: pa.Array[Any], kind: pa.DataType) -> bool:
    try:
        parse_column(strings, kind)
    except pa.ArrowInvalid:
        return False
    return True


def _one(string: pa.Array[Any], kind: pa.DataType) -> pa.Array[Any]:
    return parse_column(string, kind) if _is(string, kind) else pa.array([None], kind)


def _timestamps(strings: pa.Array[Any], kind: pa.TimestampType) -> pa.Array[Any]:
    """Some may have a zone and some not; mostly all are alike."""
    plain = pa.timestamp(kind.unit)
    attempts: tuple[Callable[[], pa.Array[Any]], ...] = (
        lambda: strings.cast(plain).cast(kind),
        lambda: strings.cast(kind),
    )
    for attempt in attempts:
        try:
            return attempt()
        except pa.ArrowInvalid:
            continue
    zoned = pc.match_substring_regex(strings, _ZONE)
    nothing = pa.scalar(None, pa.string())
    return pc.coalesce(
        pc.if_else(zoned, strings, nothing).cast(kind),
        pc.if_else(zoned, nothing, strings).cast(plain).cast(kind),
    )
