"""Columns that come from ``key=value`` folders: their types and values, by Spark's rules."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterable
from decimal import Decimal
from functools import reduce
from typing import Any, Final
from urllib.parse import unquote

import pyarrow as pa

_NULL: Final = "__HIVE_DEFAULT_PARTITION__"
_BOOLEANS: Final = {
    **dict.fromkeys(("t", "true", "y", "yes", "1"), True),
    **dict.fromkeys(("f", "false", "n", "no", "0"), False),
}
_MOST_DIGITS: Final = 38
_INTEGER: Final = re.compile(r"[+-]?[0-9]+")
_NUMBER: Final = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_DOUBLE: Final = re.compile(rf"\s*({_NUMBER.pattern}[dDfF]?|[+-]?(NaN|Infinity))\s*")
_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TIMESTAMP: Final = re.compile(rf"{_DATE.pattern} [0-9]{{2}}:[0-9]{{2}}:[0-9]{{2}}(\.[0-9]{{1,6}})?")
_TIMES: Final = pa.timestamp("us", "UTC")
_DIGITS: Final[dict[Any, int]] = {pa.int32(): 10, pa.int64(): 20}


def partition_value(raw: str) -> str | None:
    """Return the value of a ``key=value`` folder as Hive means it: unquoted, None for its word for null."""
    return None if raw == _NULL else unquote(raw)


def partition_type(folders: Iterable[str]) -> pa.DataType:
    """Return the type of a column, from the raw values of all of its folders; string where there is none."""
    kinds = [_kind(raw) for raw in folders if raw != _NULL]
    return reduce(_wider, kinds) if kinds else pa.string()


def partition_scalar(raw: str, kind: pa.DataType) -> Any:  # noqa: PLR0911 - a case for each type
    """Return the value of a folder as a scalar of a column's type.

    Raises:
        ValueError: it is none.
        KeyError: it is none.
    """
    value = partition_value(raw)
    if value is None:
        return pa.scalar(None, kind)
    if pa.types.is_integer(kind):
        return pa.scalar(int(value), kind)
    if pa.types.is_floating(kind):
        if not _DOUBLE.fullmatch(value):
            raise ValueError(f"{value!r} is no number")
        return pa.scalar(float(value.strip().rstrip("dDfF") if value.strip()[-1] in "dDfF" else value), kind)
    if pa.types.is_decimal(kind):
        return pa.scalar(Decimal(value), pa.decimal128(38, _scale(value))).cast(kind)
    if pa.types.is_boolean(kind):
        return pa.scalar(_BOOLEANS[value.strip().lower()], kind)
    text = pa.scalar(value, pa.string())
    if isinstance(kind, pa.TimestampType):
        return _timestamp(text, kind)
    return text.cast(kind)


def _timestamp(text: Any, kind: pa.TimestampType) -> Any:
    """Return a time; in UTC unless it names a zone."""
    try:
        return text.cast(pa.timestamp(kind.unit)).cast(kind)
    except pa.ArrowInvalid:
        return text.cast(kind)


def _kind(raw: str) -> pa.DataType:  # noqa: PLR0911 - a case for each type
    if _INTEGER.fullmatch(raw):
        number = int(raw)
        if -(1 << 31) <= number < 1 << 31:
            return pa.int32()
        if -(1 << 63) <= number < 1 << 63:
            return pa.int64()
    if _NUMBER.fullmatch(raw) and _scale(raw) == 0 and "." not in raw:
        digits = len(str(abs(int(Decimal(raw)))))
        if digits <= _MOST_DIGITS:
            return pa.decimal128(digits, 0)
    if _DOUBLE.fullmatch(raw):
        return pa.float64()
    text = unquote(raw)
    if _TIMESTAMP.fullmatch(text) and _is_time(text):
        return _TIMES
    if _DATE.fullmatch(text) and _is_time(text):
        return pa.date32()
    return pa.string()


def _scale(number: str) -> int:
    """Return how many digits a number has after its point."""
    exponent = Decimal(number).as_tuple().exponent
    return max(0, -exponent) if isinstance(exponent, int) else 0


def _is_time(text: str) -> bool:
    try:
        dt.datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


def _wider(one: pa.DataType, other: pa.DataType) -> pa.DataType:
    """Return the type that Spark gives a column with values of both."""
    if one == other:
        return one
    kinds = {one, other}
    if kinds == {pa.int32(), pa.int64()}:
        return pa.int64()
    if kinds == {pa.int32(), pa.float64()}:
        return pa.float64()
    if kinds == {_TIMES, pa.date32()}:
        return _TIMES
    digits = [_DIGITS.get(kind, getattr(kind, "precision", 0)) for kind in (one, other)]
    return pa.decimal128(max(digits), 0) if all(digits) else pa.string()
