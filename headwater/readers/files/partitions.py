"""Columns that come from ``key=value`` folders: their types and values, by Spark's rules."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterable
from decimal import ROUND_HALF_UP, Context, Decimal, InvalidOperation
from functools import reduce
from typing import Any, Final

import pyarrow as pa

from headwater.enumerators.files.folder_columns import unescaped
from headwater.readers.formats.values.time_zones import zone_of

_NULL: Final = "__HIVE_DEFAULT_PARTITION__"
_BOOLEANS: Final = {"true": True, "false": False}
_MOST_DIGITS: Final = 38
_INTEGER: Final = re.compile(r"[+-]?[0-9]+")
_NUMBER: Final = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_DOUBLE: Final = re.compile(rf"\s*({_NUMBER.pattern}[dDfF]?|[+-]?(NaN|Infinity))\s*")
_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TIMESTAMP: Final = re.compile(rf"{_DATE.pattern} [0-9]{{2}}:[0-9]{{2}}:[0-9]{{2}}(\.[0-9]{{1,6}})?")
_DAY: Final = re.compile(
    r"(?P<year>[0-9]{4})(-(?P<month>[0-9]{1,2})(-(?P<day>[0-9]{1,2})(?P<clock>[ T].*)?)?)?"
)
_CLOCK: Final = re.compile(
    r"[ T](?P<hour>[0-9]{1,2}):(?P<minute>[0-9]{1,2})"
    r"(:(?P<second>[0-9]{1,2})(\.(?P<fraction>[0-9]*))?)?\s*(?P<zone>\S.*)?"
)
"""Days and clocks as Spark casts text to them. It takes a few odd ones more, which are errors here."""
_TIMES: Final = pa.timestamp("us", "UTC")
_DIGITS: Final[dict[Any, int]] = {pa.int32(): 10, pa.int64(): 20}


def partition_value(raw: str) -> str | None:
    """Return the value of a ``key=value`` folder as Hive means it: unquoted, None for its word for null."""
    return None if raw == _NULL else unescaped(raw)


def partition_type(folders: Iterable[str]) -> pa.DataType:
    """Return the type of a column, from the raw values of all of its folders; string where there is none."""
    kinds = [_kind(raw) for raw in folders if raw != _NULL]
    return reduce(_wider, kinds) if kinds else pa.string()


def partition_scalar(  # noqa: PLR0911 - a case for each type
    raw: str, kind: pa.DataType, time_zone: str | None = None
) -> Any:
    """Return the value of a folder as a scalar of a column's type.

    Args:
        raw: the value as it stands there.
        kind: the type.
        time_zone: of times that are written without one.

    Raises:
        ValueError: it is not a value of the type.
        KeyError: the same, for a boolean.
    """
    value = partition_value(raw)
    if value is None:
        return pa.scalar(None, kind)
    # Spark takes the quotes off of strings, and of times that are written as it writes them.
    if pa.types.is_integer(kind):
        return pa.scalar(int(_matching(_INTEGER, raw)), kind)
    if pa.types.is_floating(kind):
        number = _matching(_DOUBLE, raw).strip()
        return pa.scalar(float(number.rstrip("dDfF") if number[-1] in "dDfF" else number), kind)
    if isinstance(kind, pa.Decimal128Type):
        return pa.scalar(_decimal(_matching(_NUMBER, raw), kind), kind)
    if pa.types.is_boolean(kind):
        return pa.scalar(_BOOLEANS[raw.lower()], kind)
    if pa.types.is_date(kind):
        return pa.scalar(_day(raw)[0], kind)
    if isinstance(kind, pa.TimestampType):
        text = value if _TIMESTAMP.fullmatch(value) else raw
        return pa.scalar(_time(text, time_zone, has_zone=kind.tz is not None), kind)
    return pa.scalar(value, pa.string()).cast(kind)


def _matching(pattern: re.Pattern[str], value: str) -> str:
    if not pattern.fullmatch(value):
        raise ValueError(f"{value!r} is no number")
    return value


def _decimal(value: str, kind: pa.Decimal128Type) -> Decimal | None:
    """Return a number rounded to a type's digits; None if it has more of them before the point."""
    context = Context(prec=kind.precision, rounding=ROUND_HALF_UP)
    try:
        return Decimal(value).quantize(Decimal((0, (1,), -kind.scale)), context=context)
    except InvalidOperation:
        return None


def _day(value: str) -> tuple[dt.date, str]:
    """Return the day that a text begins with, and the text of the time behind it."""
    match = _DAY.fullmatch(value.strip())
    if match is None:
        raise ValueError(f"{value!r} is no day")
    day = dt.date(int(match["year"]), int(match["month"] or 1), int(match["day"] or 1))
    return day, (match["clock"] or "").rstrip()


def _time(value: str, time_zone: str | None, *, has_zone: bool) -> dt.datetime:
    day, text = _day(value)
    clock = _CLOCK.fullmatch(text or " 0:0")
    if clock is None:
        raise ValueError(f"{value!r} is no time")
    hour, minute, second = (int(clock[name] or 0) for name in ("hour", "minute", "second"))
    fraction = int((clock["fraction"] or "").ljust(6, "0")[:6])
    local = dt.datetime.combine(day, dt.time(hour, minute, second, fraction))
    if not has_zone:
        return local
    name = clock["zone"] or time_zone
    if name is None:
        raise ValueError("it names no time zone, and neither timeZone nor spark.sql.session.timeZone is set")
    zone = zone_of(name)
    if zone is None:
        raise ValueError(f"there is no time zone {name!r}")
    return local.replace(tzinfo=zone)


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
    text = unescaped(raw)
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
