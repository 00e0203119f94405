"""Values in text, as PostgreSQL writes them with the settings of each session, as Arrow arrays.

One call makes one column. NULL and TOAST values that were not sent are NULL.
"""

from __future__ import annotations

import numba

from headwater.readers.formats.values.kernel.exact_numbers import to_decimal, to_integer
from headwater.readers.formats.values.kernel.moments import FINE
from headwater.readers.formats.values.kernel.numbers import to_double, to_float
from headwater.readers.formats.values.kernel.times import to_date, to_timestamp
from headwater.readers.kernels.memory import (
    called,
    copy_bytes,
    get,
    inlined,
    int64,
    load_byte,
    load_int32,
    put,
    store_byte,
    store_double,
    store_float,
    store_int16,
    store_int32,
)
from headwater.readers.postgres import wal_layout as L

_TRUE = 0x74
_ZERO = 0x30
_NINE = 0x39
_PLUS = 0x2B


@called
def text(state: int) -> int:
    """Make a column; return the first row whose value does not fit the type, or how many rows there are.

    Texts and bytes fit always, and have no more bytes than their text.
    """
    kind = get(state, L.TEXT_KIND)
    count = get(state, L.TEXT_COUNT)
    if kind == L.KIND_TEXT or kind == L.KIND_BYTES:
        return _bytes(state, kind, count)
    data = get(state, L.TEXT_DATA)
    starts = get(state, L.TEXT_STARTS)
    lengths = get(state, L.TEXT_LENGTHS)
    validity = get(state, L.TEXT_VALIDITY)
    nulls = int64(0)
    for row in range(count):
        length = load_int32(lengths + 4 * row)
        if length < 0:
            nulls += 1
            continue
        at = data + get(starts, row)
        if not _value(state, kind, row, at, at + length):
            return int64(row)
        _set(validity, row)
    put(state, L.TEXT_NULLS, nulls)
    return count


@inlined
def _set(validity: int, row: int) -> None:
    at = validity + (row >> 3)
    store_byte(at, load_byte(at) | (1 << (row & 7)))


@inlined
def _value(state: int, kind: int, row: int, at: int, end: int) -> bool:
    """Write one value of a fixed width; return whether it fits."""
    values = get(state, L.TEXT_VALUES)
    scratch = get(state, L.TEXT_SCRATCH)
    if end <= at:
        return False
    if kind <= L.KIND_INT64:
        return _integer(values, kind, row, at, end)
    if kind == L.KIND_DOUBLE:
        store_double(values + 8 * row, to_double(at, end, scratch))
        return True
    if kind == L.KIND_FLOAT:
        store_float(values + 4 * row, numba.float32(to_float(at, end, scratch)))
        return True
    if kind == L.KIND_DECIMAL:
        fits, low, high = to_decimal(at, end, get(state, L.TEXT_PRECISION), get(state, L.TEXT_SCALE))
        put(values, 2 * row, low)
        put(values, 2 * row + 1, high)
        return fits
    # A time before the year 1 ends with BC, infinity has no digit: neither is a time of the calendar.
    last = load_byte(end - 1)
    if last < _ZERO or last > _NINE:
        return False
    if kind == L.KIND_DATE:
        fits, days = to_date(at, end)
        store_int32(values + 4 * row, days)
        return fits and days <= L.LAST_DAY
    # A time without a zone is none with one: all sessions write that of UTC.
    if kind == L.KIND_TIMESTAMP and (end - at < 3 or load_byte(end - 3) != _PLUS):
        return False
    outcome, micros, _, _ = to_timestamp(at, end, int64(0), int64(0), kind == L.KIND_LOCAL_TIMESTAMP)
    put(values, row, micros)
    return outcome == FINE and micros < (L.LAST_DAY + 1) * L.DAY_MICROS


@inlined
def _integer(values: int, kind: int, row: int, at: int, end: int) -> bool:
    if kind == L.KIND_BOOL:
        if load_byte(at) == _TRUE:
            _set(values, row)
        return True
    fits, value = to_integer(at, end)
    if kind == L.KIND_INT64:
        put(values, row, value)
        return fits
    if kind == L.KIND_INT32:
        store_int32(values + 4 * row, value)
        return fits and value >= -(1 << 31) and value < 1 << 31
    store_int16(values + 2 * row, value)
    return fits and value >= -(1 << 15) and value < 1 << 15


@inlined
def _bytes(state: int, kind: int, count: int) -> int:
    """Copy texts, or make bytes of their digits."""
    data = get(state, L.TEXT_DATA)
    starts = get(state, L.TEXT_STARTS)
    lengths = get(state, L.TEXT_LENGTHS)
    validity = get(state, L.TEXT_VALIDITY)
    offsets = get(state, L.TEXT_VALUES)
    to = get(state, L.TEXT_BYTES)
    first = to
    nulls = int64(0)
    store_int32(offsets, 0)
    for row in range(count):
        length = load_int32(lengths + 4 * row)
        if length < 0:
            nulls += 1
        else:
            _set(validity, row)
            at = data + get(starts, row)
            if kind == L.KIND_TEXT:
                copy_bytes(to, at, length)
                to += length
            else:
                # \x, then two digits for each byte.
                for i in range(2, length - 1, 2):
                    store_byte(to, (_nibble(load_byte(at + i)) << 4) | _nibble(load_byte(at + i + 1)))
                    to += 1
        store_int32(offsets + 4 * row + 4, to - first)
    put(state, L.TEXT_NULLS, nulls)
    return count


@inlined
def _nibble(digit: int) -> int:
    return digit - 0x30 if digit <= _NINE else digit - 0x57
