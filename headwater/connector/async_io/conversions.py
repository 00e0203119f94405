"""Python values as values of a Spark type: Spark's cast rules in ANSI mode, for what functions return.

A value that does not fit raises `Misfit`: Spark's cast would fail the query there.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import UTC, date, datetime, time
from decimal import ROUND_DOWN, ROUND_HALF_UP, Context, Decimal, InvalidOperation
from functools import partial
from typing import Any, TypeAlias
from zoneinfo import ZoneInfo

import pyarrow as pa

Converter: TypeAlias = Callable[[Any], Any]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_TRUE = frozenset({"t", "true", "y", "yes", "1"})
_FALSE = frozenset({"f", "false", "n", "no", "0"})
_WHOLE = re.compile(r"[+-]?\d+")
_DATE = re.compile(r"(\d{4,6})(?:-(\d{1,2})(?:-(\d{1,2}))?)?")
_TIME = re.compile(r"(\d{1,2}):(\d{1,2})(?::(\d{1,2})(?:\.(\d{0,9}))?)?\s*(.*)")
_OFFSET = re.compile(r"(?:UTC|GMT|UT)?([+-])(\d{1,2})(?::?(\d{2}))?")
_EXACT = Context(prec=80)


class Misfit(Exception):  # noqa: N818 - it never leaves this package
    """A value that a type cannot hold.

    Attributes:
        why: says so, without the value, which may be confidential.
        path: the member of the column where it stands, such as ``.zip`` or ``[]``.
    """

    def __init__(self, why: str, path: str = "") -> None:
        super().__init__(why)
        self.why = why
        self.path = path


class Members:
    """What becomes of members that a struct has and its type does not, or the other way round.

    Args:
        exact: both are a `Misfit`. Otherwise members that are missing are null, and those that are unknown go
            to ``unknown``.
    """

    def __init__(self, *, exact: bool) -> None:
        self._exact = exact
        self.unknown: dict[str, Any] = {}

    def values(self, value: Any, names: Sequence[str], path: str) -> Sequence[Any]:
        """Return the members of a value in the order of the names.

        Raises:
            Misfit: it has no members, or others.
        """
        members = members_of(value)
        kind = type(value).__name__
        if isinstance(members, tuple):
            if len(members) != len(names):
                raise Misfit(f"a {kind} with {len(members)} values")
            return members
        if len(members) == len(names) and all(name in members for name in names):
            return [members[name] for name in names]
        if self._exact:
            known = ", ".join(map(repr, members)) or "none"
            raise Misfit(f"a {kind} with the columns {known}")
        for name, member in members.items():
            if name not in names:
                self.unknown[f"{path}.{name}".lstrip(".")] = member
        return [members.get(name) for name in names]


def members_of(value: Any) -> Mapping[str, Any] | tuple[Any, ...]:
    """Return the members of a record by name, or by place if it is a plain tuple.

    Raises:
        Misfit: it is no record.
    """
    if isinstance(value, Mapping):
        return value
    names = getattr(value, "__fields__", None) or getattr(value, "_fields", None)
    if isinstance(value, tuple):
        return value if names is None else dict(zip(names, value, strict=True))
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in fields(value)}
    # Records of database drivers: named as mappings are, and nothing else of them.
    if callable(keys := getattr(value, "keys", None)) and hasattr(value, "__getitem__"):
        return {name: value[name] for name in keys()}
    raise Misfit(
        f"a {type(value).__name__}; a result is a mapping, a dataclass, a tuple or a Row, a list of these, "
        "or None"
    )


def converter(kind: Any, zone: ZoneInfo, members: Members, path: str) -> Converter:
    """Return what makes a value of a type of any value; None stays None.

    Args:
        kind: the type.
        zone: of the session: of times without one.
        members: what becomes of members of structs.
        path: the column, for ``members``.
    """
    inner = partial(_nested, zone=zone, members=members)
    makers: list[tuple[Callable[[pa.DataType], bool], Callable[[], Converter]]] = [
        (pa.types.is_integer, lambda: partial(_to_int, kind.bit_width)),
        (pa.types.is_decimal, lambda: partial(_to_decimal, kind.precision, kind.scale)),
        (pa.types.is_timestamp, lambda: partial(_to_local if kind.tz is None else _to_timestamp, zone)),
        (pa.types.is_date, lambda: partial(_to_date, zone)),
        (_is_string, lambda: partial(_to_string, zone)),
        (_is_list, lambda: partial(_to_list, inner(kind.value_type, path=f"{path}[]"))),
        (
            pa.types.is_map,
            lambda: partial(
                _to_map,
                inner(kind.key_type, path=f"{path}.key"),
                inner(kind.item_type, path=f"{path}.value"),
            ),
        ),
        (
            pa.types.is_struct,
            lambda: partial(
                _to_struct,
                members,
                path,
                {field.name: inner(field.type, path=f"{path}.{field.name}") for field in kind.fields},
            ),
        ),
        (pa.types.is_floating, lambda: _to_float),
        (pa.types.is_boolean, lambda: _to_bool),
        (pa.types.is_binary, lambda: _to_bytes),
    ]
    make = next((make for is_kind, make in makers if is_kind(kind)), lambda: partial(_as_arrow, kind))
    return nullable(make())


def _nested(kind: pa.DataType, *, zone: ZoneInfo, members: Members, path: str) -> Converter:
    return converter(kind, zone, members, path)


def _is_string(kind: pa.DataType) -> bool:
    return pa.types.is_string(kind) or pa.types.is_large_string(kind)


def _is_list(kind: pa.DataType) -> bool:
    return pa.types.is_list(kind) or pa.types.is_large_list(kind)


def nullable(convert: Converter) -> Converter:
    """Return a converter that leaves None."""
    return lambda value: None if value is None else convert(value)


def _misfit(value: Any, wanted: str) -> Misfit:
    return Misfit(f"a {type(value).__name__} that is no {wanted}")


def _as_arrow(kind: pa.DataType, value: Any) -> Any:
    try:
        pa.scalar(value, kind)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        raise _misfit(value, str(kind)) from None
    return value


def _to_int(bits: int, value: Any) -> int:
    whole = _whole(value)
    if whole is None or not -(1 << bits - 1) <= whole < 1 << bits - 1:
        raise _misfit(value, f"int{bits}")
    return whole


def _whole(value: Any) -> int | None:
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return int(value) if math.isfinite(value) else None
    if isinstance(value, Decimal):
        return int(value.to_integral_value(ROUND_DOWN)) if value.is_finite() else None
    if isinstance(value, str):
        return int(text) if _WHOLE.fullmatch(text := value.strip()) and text.isascii() else None
    if isinstance(value, datetime) and value.tzinfo is not None:
        return math.floor((value - _EPOCH).total_seconds())
    index = getattr(value, "__index__", None)  # the integers of numpy
    return None if index is None else int(index())


def _to_float(value: Any) -> float:
    if isinstance(value, int | float | Decimal) or hasattr(value, "__float__"):
        try:
            return float(value)
        except OverflowError:
            return math.copysign(math.inf, value)
    if isinstance(value, str) and "_" not in value and value.isascii():
        try:
            return float(value.strip())
        except ValueError:
            raise _misfit(value, "double") from None
    if isinstance(value, datetime) and value.tzinfo is not None:
        return (value - _EPOCH).total_seconds()
    raise _misfit(value, "double")


def _to_bool(value: Any) -> bool:
    if isinstance(value, int | float | Decimal):
        return value != 0
    text = value.strip().lower() if isinstance(value, str) else ""
    if text not in _TRUE | _FALSE:
        raise _misfit(value, "bool")
    return text in _TRUE


def _to_bytes(value: Any) -> bytes:
    if isinstance(value, str):
        return _to_text(value).encode()
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value)
    raise _misfit(value, "binary")


def _to_string(zone: ZoneInfo, value: Any) -> str:
    # In this order: a bool is an int, and a datetime is a date.
    writers: list[tuple[type, Callable[[Any], str]]] = [
        (str, _to_text),
        (bool, lambda flag: "true" if flag else "false"),
        (int, str),
        (float, _java_double),
        (Decimal, lambda number: format(number, "f")),
        (bytes, lambda raw: raw.decode(errors="replace")),
        (datetime, partial(_time_text, zone)),
        (date, date.isoformat),
    ]
    write = next((write for kind, write in writers if isinstance(value, kind)), None)
    if write is None:
        raise _misfit(value, "string")
    return write(value)


def _time_text(zone: ZoneInfo, value: datetime) -> str:
    local = value if value.tzinfo is None else value.astimezone(zone).replace(tzinfo=None)
    text = local.isoformat(" ")
    return text.rstrip("0") if local.microsecond else text


def _to_text(value: str) -> str:
    try:
        value.encode()
    except UnicodeEncodeError:  # half of a pair of surrogates
        raise _misfit(value, "string") from None
    return value


def _java_double(value: float) -> str:
    """Return a double as Java writes it: with an exponent below 1e-3 and from 1e7 on."""
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        text = format(Decimal(repr(value)), "f")
        return text if "." in text else f"{text}.0"
    sign, digits, exponent = Decimal(repr(value)).normalize(_EXACT).as_tuple()
    assert isinstance(exponent, int)
    rest = "".join(map(str, digits[1:])) or "0"
    return f"{'-' if sign else ''}{digits[0]}.{rest}E{exponent + len(digits) - 1}"


def _exact(value: Any) -> Decimal:
    if isinstance(value, float):
        return Decimal(repr(float(value)))
    if isinstance(value, datetime) and value.tzinfo is not None:
        elapsed = value - _EPOCH
        return Decimal(elapsed.days * 86_400 + elapsed.seconds) + Decimal(elapsed.microseconds).scaleb(-6)
    if isinstance(value, str) and "_" in value:  # Python's own way to write numbers
        raise ValueError
    return Decimal(value.strip() if isinstance(value, str) else value)


def _to_decimal(precision: int, scale: int, value: Any) -> Decimal:
    try:
        exact = _exact(value)
        rounded = exact.quantize(Decimal(1).scaleb(-scale), ROUND_HALF_UP, _EXACT)
    except (InvalidOperation, TypeError, ValueError):
        raise _misfit(value, f"decimal({precision},{scale})") from None
    if not rounded.is_finite() or len(rounded.as_tuple().digits) > precision:
        raise _misfit(value, f"decimal({precision},{scale})")
    return rounded


def _to_timestamp(zone: ZoneInfo, value: Any) -> datetime:
    if isinstance(value, datetime):
        return value.replace(tzinfo=zone) if value.tzinfo is None else value
    if isinstance(value, date):
        return datetime.combine(value, time(), zone)
    try:
        if isinstance(value, int | float | Decimal) and not isinstance(value, bool):
            micros = int(value * 1_000_000)  # a double's own product, cut off, as Spark does it
            return datetime.fromtimestamp(micros // 1_000_000, UTC).replace(microsecond=micros % 1_000_000)
        if isinstance(value, str):
            return _parsed(value, zone)
    except (ValueError, OverflowError, OSError, InvalidOperation):
        pass
    raise _misfit(value, "timestamp")


def _to_local(zone: ZoneInfo, value: Any) -> datetime:
    """Return a timestamp without a zone."""
    if isinstance(value, datetime):
        return value if value.tzinfo is None else value.astimezone(zone).replace(tzinfo=None)
    if isinstance(value, date):
        return datetime.combine(value, time())
    if isinstance(value, str):
        try:
            return _parsed(value, UTC).replace(tzinfo=None)
        except ValueError:
            pass
    raise _misfit(value, "timestamp_ntz")


def _to_date(zone: ZoneInfo, value: Any) -> date:
    if isinstance(value, datetime):
        return (value if value.tzinfo is None else value.astimezone(zone)).date()
    if isinstance(value, date):
        return value
    if isinstance(value, str):
        try:
            head = re.split("[ T]", value.strip(), maxsplit=1)[0]
            return _parsed_date(head)
        except ValueError:
            pass
    raise _misfit(value, "date")


def _parsed(text: str, zone: Any) -> datetime:
    """Return the time that a text holds: a date, and perhaps a time of day and a zone."""
    text = text.strip()
    head, separator, rest = text.partition("T") if "T" in text else text.partition(" ")
    day = _parsed_date(head)
    if not separator:
        return datetime.combine(day, time(), zone)
    found = _TIME.fullmatch(rest.strip())
    if found is None:
        raise ValueError(text)
    hour, minute, second, fraction, zone_text = found.groups()
    micros = int((fraction or "").ljust(6, "0")[:6])
    return datetime.combine(
        day,
        time(int(hour), int(minute), int(second or 0), micros),
        _parsed_zone(zone_text) if zone_text else zone,
    )


def _parsed_date(text: str) -> date:
    found = _DATE.fullmatch(text)
    if found is None:
        raise ValueError(text)
    year, month, day = found.groups()
    return date(int(year), int(month or 1), int(day or 1))


def _parsed_zone(text: str) -> Any:
    if text in ("Z", "UTC", "GMT", "UT"):
        return UTC
    if found := _OFFSET.fullmatch(text):
        sign, hours, minutes = found.groups()
        return datetime.strptime(f"{sign}{int(hours):02}{minutes or '00'}", "%z").tzinfo
    try:
        return ZoneInfo(text)
    except (OSError, KeyError) as error:
        raise ValueError(text) from error


def _to_list(convert: Converter, value: Any) -> list[Any]:
    if isinstance(value, str | bytes | Mapping) or not hasattr(value, "__iter__"):
        raise _misfit(value, "array")
    try:
        return [convert(each) for each in value]
    except Misfit as misfit:
        raise Misfit(misfit.why, f"[]{misfit.path}") from None


def _to_map(to_key: Converter, to_value: Converter, value: Any) -> list[tuple[Any, Any]]:
    pairs = value.items() if isinstance(value, Mapping) else value
    try:
        entries = [(key, each) for key, each in pairs]
    except (TypeError, ValueError):
        raise _misfit(value, "map") from None
    if any(key is None for key, _ in entries):
        raise Misfit("a map with a null key")
    return [(to_key(key), to_value(each)) for key, each in entries]


def _to_struct(
    members: Members, path: str, converters: Mapping[str, Converter], value: Any
) -> dict[str, Any]:
    converted: dict[str, Any] = {}
    values = members.values(value, list(converters), path)
    for (name, convert), member in zip(converters.items(), values, strict=True):
        try:
            converted[name] = convert(member)
        except Misfit as misfit:
            raise Misfit(misfit.why, f".{name}{misfit.path}") from None
    return converted
