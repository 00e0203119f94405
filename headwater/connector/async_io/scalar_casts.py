"""Numbers, texts, booleans and bytes, as Spark's casts in ANSI mode make them of any value."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import date, datetime, tzinfo
from decimal import ROUND_DOWN, ROUND_HALF_UP, Context, Decimal, InvalidOperation
from functools import partial
from typing import Any

from headwater.connector.async_io.misfit import misfit_of
from headwater.connector.async_io.text_casts import decimal_of, double_of, trimmed, whole_of
from headwater.connector.async_io.time_casts import since_epoch, time_text

_TRUE = frozenset({"t", "true", "y", "yes", "1"})
_FALSE = frozenset({"f", "false", "n", "no", "0"})
_EXACT = Context(prec=80)
_MOST_DIGITS = 40


def to_int(bits: int, value: Any) -> int:
    """Return a whole number of so many bits.

    Raises:
        Misfit: it is none.
    """
    whole = _whole(value)
    if whole is None or not -(1 << bits - 1) <= whole < 1 << bits - 1:
        raise misfit_of(value, f"int{bits}")
    return whole


def _whole(value: Any) -> int | None:
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return int(value) if math.isfinite(value) else None
    if isinstance(value, Decimal):
        # Not of any size: a number with a million digits takes minutes.
        is_small = value.is_finite() and value.adjusted() < _MOST_DIGITS
        return int(value.to_integral_value(ROUND_DOWN)) if is_small else None
    if isinstance(value, str):
        return whole_of(value)
    if isinstance(value, datetime) and value.tzinfo is not None:
        return since_epoch(value)[0]
    index = getattr(value, "__index__", None)  # the integers of numpy
    return None if index is None else int(index())


def to_float(value: Any) -> float:
    """Return a double.

    Raises:
        Misfit: it is none.
    """
    if isinstance(value, int | float | Decimal) or hasattr(value, "__float__"):
        try:
            return float(value)
        except OverflowError:
            return math.inf if value > 0 else -math.inf
    if isinstance(value, str) and (number := double_of(value)) is not None:
        return number
    if isinstance(value, datetime) and value.tzinfo is not None:
        seconds, micros = since_epoch(value)
        return float(seconds * 1_000_000 + micros) / 1e6  # rounded twice, as in the JVM
    raise misfit_of(value, "double")


def to_bool(value: Any) -> bool:
    """Return a boolean.

    Raises:
        Misfit: it is none.
    """
    if isinstance(value, int | float | Decimal):
        return value != 0
    text = trimmed(value).lower() if isinstance(value, str) else ""
    if text not in _TRUE | _FALSE:
        raise misfit_of(value, "bool")
    return text in _TRUE


def to_bytes(value: Any) -> bytes:
    """Return bytes; a text is its UTF-8.

    Raises:
        Misfit: it is none.
    """
    if isinstance(value, str):
        return _to_text(value).encode()
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value)
    raise misfit_of(value, "binary")


def to_string(zone: tzinfo, value: Any) -> str:
    """Return a text, written as Spark writes the value.

    Raises:
        Misfit: it is none.
    """
    # In this order: a bool is an int, and a datetime is a date.
    writers: list[tuple[type, Callable[[Any], str]]] = [
        (str, _to_text),
        (bool, lambda flag: "true" if flag else "false"),
        (int, str),
        (float, _java_double),
        (Decimal, lambda number: format(number, "f")),
        (bytes, lambda raw: raw.decode(errors="replace")),
        (datetime, partial(time_text, zone)),
        (date, date.isoformat),
    ]
    write = next((write for kind, write in writers if isinstance(value, kind)), None)
    if write is None:
        raise misfit_of(value, "string")
    return write(value)


def _to_text(value: str) -> str:
    try:
        value.encode()
    except UnicodeEncodeError:  # half of a pair of surrogates
        raise misfit_of(value, "string") from None
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
        seconds, micros = since_epoch(value)
        return Decimal(seconds * 1_000_000 + micros).scaleb(-6)
    # None is no number: a TypeError.
    return Decimal(decimal_of(value) if isinstance(value, str) else value)  # type: ignore[arg-type]


def to_decimal(precision: int, scale: int, value: Any) -> Decimal:
    """Return a decimal of a precision and a scale, rounded half up.

    Raises:
        Misfit: it is none.
    """
    try:
        exact = _exact(value)
        rounded = exact.quantize(Decimal(1).scaleb(-scale), ROUND_HALF_UP, _EXACT)
    except (InvalidOperation, TypeError, ValueError):
        raise misfit_of(value, f"decimal({precision},{scale})") from None
    if not rounded.is_finite() or len(rounded.as_tuple().digits) > precision:
        raise misfit_of(value, f"decimal({precision},{scale})")
    return rounded
