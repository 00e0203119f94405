"""The type of a column of text, by the rules of Spark's `CSVInferSchema`. `inference_entry` compiles it."""

# mypy: disable-error-code="call-arg,no-any-return,no-untyped-call,return-value,unused-ignore"
# numba's own types differ from release to release, and know little of what compiled code may call.

# ruff: noqa: C901, PLR0911, PLR0912, PLR1714, SIM109
# Compiled functions take positions only, and have no cheap sets.

from __future__ import annotations

from headwater.readers.formats.csv.cell_times import date_of, timestamp_of
from headwater.readers.formats.csv.cells import is_option_text, is_word
from headwater.readers.formats.csv.inference_layout import (
    DATE_FIRST,
    KIND,
    KIND_BOOLEAN,
    KIND_DATE,
    KIND_DECIMAL,
    KIND_DOUBLE,
    KIND_INT,
    KIND_LONG,
    KIND_NOTHING,
    KIND_STRING,
    KIND_TIMESTAMP,
    MIXED,
    PRECISION,
)
from headwater.readers.formats.csv.layout import (
    STOP_ZONE,
    TEXT_NAN,
    TEXT_NEGATIVE,
    TEXT_POSITIVE,
    ZONE_SIZE,
    ZONE_TEXT,
)
from headwater.readers.formats.csv.numbers import NO_NUMBER, number_of, to_long
from headwater.readers.formats.json.moments import FINE, UNKNOWN_ZONE
from headwater.readers.formats.json.scanner import DOT, MINUS, PLUS, is_digit, peek
from headwater.readers.formats.kernel_columns import get, put
from headwater.readers.formats.table_layout import STATE_STOP, STOP_DONE
from headwater.readers.kernels.memory import called, inlined, int64, load_byte, load_int32

_MOST_DIGITS = 38
_INT_DIGITS = 10
_LONG_DIGITS = 20
"""What Spark counts for them beside decimals."""
_FAR = 1 << 31


@called
def _whole_decimal(at: int, end: int) -> int:
    """Return the precision of a text that is a decimal of scale 0; 0 if it is none."""
    sign = peek(at, end)
    if sign == MINUS or sign == PLUS:
        at += 1
    digits = int64(0)
    significant = int64(0)
    scale = int64(0)
    seen_dot = False
    while at < end:
        byte = load_byte(at)
        if is_digit(byte):
            digits += 1
            if significant > 0 or byte != 48:
                significant += 1
            if seen_dot:
                scale += 1
        elif byte == DOT and not seen_dot:
            seen_dot = True
        else:
            break
        at += 1
    if digits == 0:
        return int64(0)
    if at < end:
        if load_byte(at) | 0x20 != 0x65:
            return int64(0)
        at += 1
        negative = peek(at, end) == MINUS
        if negative or peek(at, end) == PLUS:
            at += 1
        first = at
        exponent = int64(0)
        while at < end and is_digit(load_byte(at)):
            if exponent < _FAR:
                exponent = exponent * 10 + load_byte(at) - 48
            at += 1
        if at == first or at < end:
            return int64(0)
        scale += exponent if negative else -exponent
    significant = max(significant, 1)
    return significant if scale == 0 and significant <= _MOST_DIGITS else int64(0)


@called
def _kind_of(before: int, at: int, end: int, date_first: int, state: int) -> tuple[int, int]:
    """Return the type of a text, of those that come after a type, and its precision."""
    none = int64(0)
    size = end - at
    if before <= KIND_LONG:
        fits, value = to_long(at, end)
        if fits:
            is_int = before <= KIND_INT and value >= -(1 << 31) and value < 1 << 31
            return (int64(KIND_INT) if is_int else int64(KIND_LONG)), none
    if before <= KIND_DECIMAL:
        precision = _whole_decimal(at, end)
        if precision > 0:
            return int64(KIND_DECIMAL), precision
    if before <= KIND_DOUBLE:
        kind, _, _ = number_of(at, end)
        special = (
            is_option_text(state, int64(TEXT_NAN), at, size)
            or is_option_text(state, int64(TEXT_NEGATIVE), at, size)
            or is_option_text(state, int64(TEXT_POSITIVE), at, size)
        )
        if kind != NO_NUMBER or special:
            return int64(KIND_DOUBLE), none
    if before == KIND_DATE or (before <= KIND_DOUBLE and date_first == 1):
        fits, _ = date_of(at, end, state)
        if fits:
            return int64(KIND_DATE), none
    if before <= KIND_TIMESTAMP:
        found, _, zone, size = timestamp_of(at, end, False, state)
        if found == UNKNOWN_ZONE:
            put(state, STATE_STOP, STOP_ZONE)
            put(state, ZONE_TEXT, zone)
            put(state, ZONE_SIZE, size)
            return int64(KIND_NOTHING), none
        if found == FINE:
            return int64(KIND_TIMESTAMP), none
    if before <= KIND_BOOLEAN and is_word(at, end):
        return int64(KIND_BOOLEAN), none
    return int64(KIND_STRING), none


@inlined
def _digits(kind: int, precision: int) -> int:
    return precision if kind == KIND_DECIMAL else int64(_INT_DIGITS if kind == KIND_INT else _LONG_DIGITS)


@inlined
def _common(one: int, one_precision: int, other: int, other_precision: int, mixed: int) -> tuple[int, int]:
    """Return the type that two types have in common, and its precision.

    The type of dates and times is ``mixed``.
    """
    none = int64(0)
    if one == other and one != KIND_DECIMAL:
        return one, none
    if one == KIND_NOTHING:
        return other, other_precision
    if other == KIND_NOTHING:
        return one, one_precision
    if min(one, other) == KIND_DATE and max(one, other) == KIND_TIMESTAMP:
        return mixed, none
    if one > KIND_DOUBLE or other > KIND_DOUBLE:
        return int64(KIND_STRING), none
    if one == KIND_DOUBLE or other == KIND_DOUBLE:
        return int64(KIND_DOUBLE), none
    if one == KIND_DECIMAL or other == KIND_DECIMAL:
        return int64(KIND_DECIMAL), max(_digits(one, one_precision), _digits(other, other_precision))
    return max(one, other), none


@inlined
def infer(offsets: int, data: int, first: int, count: int, state: int) -> int:
    """Look at values from the first one on, and return how many are done."""
    put(state, STATE_STOP, STOP_DONE)
    date_first = get(state, DATE_FIRST)
    for i in range(first, count):
        kind = get(state, KIND)
        if kind == KIND_STRING:
            return count
        at = data + load_int32(offsets + 4 * i)
        end = data + load_int32(offsets + 4 * (i + 1))
        if at == end:
            continue
        found, precision = _kind_of(kind, at, end, date_first, state)
        if get(state, STATE_STOP) != STOP_DONE:
            return i
        kind, precision = _common(kind, get(state, PRECISION), found, precision, get(state, MIXED))
        put(state, KIND, kind)
        put(state, PRECISION, precision)
    return count
