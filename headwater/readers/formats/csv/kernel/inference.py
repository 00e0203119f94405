"""The type of a column of text, by the rules of Spark's `CSVInferSchema`."""

from __future__ import annotations

from headwater.readers.formats.columns import layout as T
from headwater.readers.formats.csv import inference_layout as I
from headwater.readers.formats.csv import layout as L
from headwater.readers.formats.csv.kernel.cell_times import date_of, timestamp_of
from headwater.readers.formats.csv.kernel.cells import is_option_text, is_word
from headwater.readers.formats.csv.kernel.numbers import NO_NUMBER, number_of, to_long
from headwater.readers.formats.values.kernel.entries import ask_for_zone
from headwater.readers.formats.values.kernel.exact_numbers import decimal_shape
from headwater.readers.formats.values.kernel.moments import FINE, UNKNOWN_ZONE
from headwater.readers.kernels.memory import called, get, inlined, int64, load_int32, put

_MOST_DIGITS = 38
_INT_DIGITS = 10
_LONG_DIGITS = 20
"""The digits that Spark counts for them beside decimals."""


@called
def _kind_of(kind_so_far: int, at: int, end: int, date_first: int, state: int) -> tuple[int, int]:
    """Return the type of a text, of those that come after a type, and its precision."""
    none = int64(0)
    size = end - at
    if kind_so_far <= I.KIND_LONG:
        fits, value = to_long(at, end)
        if fits:
            is_int = kind_so_far <= I.KIND_INT and value >= -(1 << 31) and value < 1 << 31
            return (int64(I.KIND_INT) if is_int else int64(I.KIND_LONG)), none
    if kind_so_far <= I.KIND_DECIMAL:
        fits, precision, scale = decimal_shape(at, end, False)
        if fits and scale == 0 and precision <= _MOST_DIGITS:
            return int64(I.KIND_DECIMAL), precision
    if kind_so_far <= I.KIND_DOUBLE:
        kind, _, _ = number_of(at, end)
        special = (
            is_option_text(state, int64(L.TEXT_NAN), at, size)
            or is_option_text(state, int64(L.TEXT_NEGATIVE), at, size)
            or is_option_text(state, int64(L.TEXT_POSITIVE), at, size)
        )
        if kind != NO_NUMBER or special:
            return int64(I.KIND_DOUBLE), none
    if kind_so_far == I.KIND_DATE or (kind_so_far <= I.KIND_DOUBLE and date_first == 1):
        fits, _ = date_of(at, end, state)
        if fits:
            return int64(I.KIND_DATE), none
    if kind_so_far <= I.KIND_TIMESTAMP:
        outcome, _, zone, size = timestamp_of(at, end, False, state)
        if outcome == UNKNOWN_ZONE:
            put(state, T.STATE_STOP, T.STOP_ZONE)
            ask_for_zone(zone, size, state)
            return int64(I.KIND_NOTHING), none
        if outcome == FINE:
            return int64(I.KIND_TIMESTAMP), none
    if kind_so_far <= I.KIND_BOOLEAN and is_word(at, end):
        return int64(I.KIND_BOOLEAN), none
    return int64(I.KIND_STRING), none


@inlined
def _digits(kind: int, precision: int) -> int:
    return precision if kind == I.KIND_DECIMAL else int64(_INT_DIGITS if kind == I.KIND_INT else _LONG_DIGITS)


@inlined
def _common(one: int, one_precision: int, other: int, other_precision: int, mixed: int) -> tuple[int, int]:
    """Return the type that two types have in common, and its precision.

    The type of dates and times is ``mixed``.
    """
    none = int64(0)
    if one == other and one != I.KIND_DECIMAL:
        return one, none
    if one == I.KIND_NOTHING:
        return other, other_precision
    if other == I.KIND_NOTHING:
        return one, one_precision
    if min(one, other) == I.KIND_DATE and max(one, other) == I.KIND_TIMESTAMP:
        return mixed, none
    if one > I.KIND_DOUBLE or other > I.KIND_DOUBLE:
        return int64(I.KIND_STRING), none
    if one == I.KIND_DOUBLE or other == I.KIND_DOUBLE:
        return int64(I.KIND_DOUBLE), none
    if one == I.KIND_DECIMAL or other == I.KIND_DECIMAL:
        return int64(I.KIND_DECIMAL), max(_digits(one, one_precision), _digits(other, other_precision))
    return max(one, other), none


def infer(offsets: int, data: int, first: int, count: int, state: int) -> int:
    """Look at values from the first one on, and return how many are done."""
    put(state, T.STATE_STOP, T.STOP_DONE)
    date_first = get(state, I.DATE_FIRST)
    for i in range(first, count):
        kind = get(state, I.KIND)
        if kind == I.KIND_STRING:
            return count
        at = data + load_int32(offsets + 4 * i)
        end = data + load_int32(offsets + 4 * (i + 1))
        if at == end:
            continue
        other, precision = _kind_of(kind, at, end, date_first, state)
        if get(state, T.STATE_STOP) != T.STOP_DONE:
            return i
        kind, precision = _common(kind, get(state, I.PRECISION), other, precision, get(state, I.MIXED))
        put(state, I.KIND, kind)
        put(state, I.PRECISION, precision)
    return count
