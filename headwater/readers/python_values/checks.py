"""Values of records: each has its column's type, or one that Arrow takes for it without loss.

Nothing else is converted: no text is parsed, nothing is rounded or cut off. A value of any other type raises
`Misfit`. There is one table, `_SCALARS`, of the types without members; lists, maps and structs check their
members.
"""

from __future__ import annotations

import math
import reprlib
from collections.abc import Callable, Iterable, Mapping
from datetime import date, datetime, time, timedelta, tzinfo
from decimal import Decimal
from functools import partial
from types import NoneType
from typing import Any, NamedTuple, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from headwater.readers.python_values.members import Members, Misfit

Check: TypeAlias = Callable[[Any], Any]
"""Returns what Arrow takes for a value; raises `Misfit`."""

_MOST_DIGITS = 40  # of whole numbers: to expand a decimal of a million digits takes minutes
_SHORTENED = reprlib.Repr()
_SHORTENED.maxstring = _SHORTENED.maxother = _SHORTENED.maxlong = 40


def arrow_takes(kind: Any, zone: tzinfo) -> frozenset[type]:
    """Return the classes whose objects Arrow takes for a type as they are, None too; none for others.

    Arrow raises where one of them does not fit, but for doubles that are too large for a float.

    Args:
        kind: the type.
        zone: of the session. Arrow takes a time without a zone for UTC.
    """
    row = _row_of(kind)
    is_taken = (row.prepare is _instant and zone.utcoffset(None) == timedelta()) or row.prepare in (
        _same,
        _whole,
    )
    return frozenset((*row.classes, NoneType)) if is_taken and row is not _OTHER else frozenset()


def has_infinity(column: pa.Array[Any]) -> bool:
    """Return whether a float of a column is infinite: Arrow makes it of a double that is too large."""
    return pa.types.is_float32(column.type) and bool(pc.any(pc.is_inf(column)).as_py())


def is_cast_exactly(source: pa.DataType, kind: pa.DataType) -> bool:
    """Return whether Arrow casts all values of a type without members to another one without loss, or raises.

    Doubles that are too large for a float become infinite.
    """
    row = _row_of(source)
    of_kind = _row_of(kind)
    return row is of_kind is not _OTHER or (row, of_kind) in (
        (_INT, _FLOAT),
        (_FLOAT, _INT),
        (_DECIMAL, _INT),
    )


def check_of(field: pa.Field[Any], zone: tzinfo, members: Members, path: str, *, each: bool) -> Check:
    """Return the check of a column's values; None stays None where it may.

    Args:
        field: the type, and whether there may be nulls.
        zone: of the session: of times without one.
        members: finds those of structs.
        path: the column, for ``members``.
        each: whether a value that passes is sure to fit. Otherwise Arrow may still raise for the column as a
            whole, where a value is out of its type's range: that is much faster.
    """
    kind: Any = field.type
    inner = partial(_nested, zone=zone, members=members, each=each)
    check: Check
    at_once = frozenset[type]()
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        check = partial(_check_list, inner(kind.value_field, path=f"{path}[]"))
        remedy = "a list"
    elif pa.types.is_map(kind):
        check_key = inner(kind.key_field, path=f"{path}.key")
        check = partial(_check_map, check_key, inner(kind.item_field, path=f"{path}.value"))
        remedy = "a dict"
    elif pa.types.is_struct(kind):
        of_members = {member.name: inner(member, path=f"{path}.{member.name}") for member in kind.fields}
        check = partial(_check_struct, members, path, of_members)
        remedy = "a mapping, a dataclass, a tuple or a Row"
    else:
        row = _row_of(kind)
        check = partial(_check_scalar, kind, row, zone)
        remedy = row.remedy.format(kind=kind)
        if not each and kind != pa.float32():
            at_once = arrow_takes(kind, zone) - {NoneType}
    remedy = f"{kind}{'' if field.nullable else ' not null'}: return {remedy}"
    return _check_unless_null(check, at_once, remedy, is_nullable=field.nullable)


def _nested(field: pa.Field[Any], *, zone: tzinfo, members: Members, path: str, each: bool) -> Check:
    return check_of(field, zone, members, path, each=each)


def _check_unless_null(check: Check, at_once: frozenset[type], remedy: str, *, is_nullable: bool) -> Check:
    def checked(value: Any) -> Any:
        if type(value) in at_once or (value is None and is_nullable):
            return value
        try:
            exact = None if value is None else check(value)
        except Misfit:
            raise
        except Exception:  # noqa: BLE001 - objects may be of any class, whose methods raise what they like
            exact = None
        if exact is None:
            raise Misfit(_described(value), remedy=remedy)
        return exact

    return checked


def _described(value: Any) -> str:
    """Return a value, shortened, and its class."""
    try:
        text = _SHORTENED.repr(value)
    except Exception:  # noqa: BLE001 - as above; also of numbers with thousands of digits
        return f"a {type(value).__name__}"
    return f"{text} ({type(value).__name__})"


def _check_list(check: Check, value: Any) -> list[Any] | None:
    # No iterators: a value may be checked twice.
    is_list = hasattr(value, "__iter__") and hasattr(value, "__len__")
    return (
        _check_all(check, value, "[]") if is_list and not isinstance(value, str | bytes | Mapping) else None
    )


def _check_map(check_key: Check, check_value: Check, value: Any) -> list[tuple[Any, Any]] | None:
    pairs = value.items() if isinstance(value, Mapping) else value
    if isinstance(value, str | bytes) or not hasattr(pairs, "__len__"):
        return None
    keys = _check_all(check_key, [key for key, _ in pairs], ".key")
    values = _check_all(check_value, [each for _, each in pairs], ".value")
    return list(zip(keys, values, strict=True))


def _check_all(check: Check, values: Iterable[Any], path: str) -> list[Any]:
    try:
        return [check(each) for each in values]
    except Misfit as misfit:
        raise misfit.inside(path) from None


def _check_struct(members: Members, path: str, checks: Mapping[str, Check], value: Any) -> dict[str, Any]:
    exact: dict[str, Any] = {}
    values = members.values(value, list(checks), path)
    for (name, check), member in zip(checks.items(), values, strict=True):
        try:
            exact[name] = check(member)
        except Misfit as misfit:
            raise misfit.inside(f".{name}") from None
    return exact


def _same(value: Any, _: tzinfo) -> Any:
    return value


def _whole(value: Any, _: tzinfo) -> Any:
    """Return a float or a decimal without a fraction as an int."""
    is_whole = isinstance(value, float) and value.is_integer()
    if isinstance(value, Decimal):
        is_whole = value.adjusted() < _MOST_DIGITS and value == value.to_integral_value()
    return int(value) if is_whole else value


def _instant(value: Any, zone: tzinfo) -> Any:
    """Return a time with its zone: without one it is in the session's."""
    # NaT of pandas is a datetime that is not equal to itself, and its times may have nanoseconds.
    if not isinstance(value, datetime):
        return None
    if value != value or getattr(value, "nanosecond", None):  # noqa: PLR0124
        return None
    return value.replace(tzinfo=zone) if value.tzinfo is None else value


def _local(value: Any, zone: tzinfo) -> Any:
    """Return a time without a zone; one with a zone would lose it."""
    is_local = getattr(value, "tzinfo", None) is None
    return value if is_local and (isinstance(value, time) or _instant(value, zone)) else None


class _Scalar(NamedTuple):
    """How values of a type without members are written in Python.

    Attributes:
        is_of: whether it is so of a type.
        classes: of the values that Arrow takes as they are, or raises. A bool is no int, a datetime no date.
        remedy: what a function returns for the type, which is called ``kind`` here.
        prepare: given a value and the zone of the session, returns the value to take, or None.
    """

    is_of: Callable[[Any], bool]
    classes: tuple[type, ...]
    remedy: str
    prepare: Callable[[Any, tzinfo], Any] = _same


_INT = _Scalar(pa.types.is_integer, (int,), "an int of {kind.bit_width} bits", _whole)
_FLOAT = _Scalar(pa.types.is_floating, (float, int), "a float")
_DECIMAL = _Scalar(
    pa.types.is_decimal,
    (Decimal, int),
    "a Decimal of {kind.precision} digits, {kind.scale} of them behind the point",
)
_OTHER = _Scalar(lambda _: True, (object,), "a value that Arrow takes for it")
_SCALARS = (
    _Scalar(pa.types.is_boolean, (bool,), "a bool"),
    _INT,
    _FLOAT,
    _DECIMAL,
    _Scalar(lambda kind: pa.types.is_string(kind) or pa.types.is_large_string(kind), (str,), "a str"),
    _Scalar(
        lambda kind: pa.types.is_binary(kind) or pa.types.is_large_binary(kind),
        (bytes, bytearray, memoryview),
        "bytes",
    ),
    _Scalar(pa.types.is_date, (date,), "a datetime.date"),
    _Scalar(
        lambda kind: pa.types.is_timestamp(kind) and kind.tz is not None,
        (datetime,),
        "a datetime.datetime",
        _instant,
    ),
    _Scalar(pa.types.is_timestamp, (datetime,), "a datetime.datetime without a zone", _local),
    _Scalar(pa.types.is_time, (time,), "a datetime.time without a zone", _local),
    _Scalar(pa.types.is_duration, (timedelta,), "a datetime.timedelta"),
    _OTHER,
)


def _row_of(kind: pa.DataType) -> _Scalar:
    return next(row for row in _SCALARS if row.is_of(kind))


def _check_scalar(kind: Any, row: _Scalar, zone: tzinfo, value: Any) -> Any:
    """Return what Arrow takes for a value; None, or an error of any class, if that is none."""
    if getattr(value, "shape", None) == ():
        value = value.item()  # a number of numpy, or of a library like it
    value = row.prepare(value, zone)
    base = next((base for base in (bool, datetime) if isinstance(value, base)), object)
    if not isinstance(value, row.classes) or (base not in (object, *row.classes) and row is not _OTHER):
        return None
    if base is not datetime:  # which always fits
        number: Any = pa.scalar(value, kind).as_py()  # raises
        if kind == pa.float32() and math.isinf(number) and number != value:
            return None
    return value
