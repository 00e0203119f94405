"""Reads the values of one column in PostgreSQL's binary form, into the buffers of an Arrow column."""

from __future__ import annotations

import numba

from headwater.readers.kernels.memory import (
    CHUNK_BYTES,
    called,
    copy_bytes,
    copy_chunk,
    get,
    inlined,
    int64,
    load_byte,
    load_int32,
    multiply_high,
    put,
    store_byte,
    store_int16,
    store_int32,
    swapped_int32,
)
from headwater.readers.postgres import layout as L

_NEGATIVE = 0x4000
_MOST_GROUPS = 12
"""Groups of four digits: more than a decimal of 38 digits can have."""


def read_values(
    kind: int,
    data: int,
    starts: int,
    lengths: int,
    columns: int,
    column: int,
    rows: int,
    scale: int,
    nulls: int,
    values: int,
    texts: int,
) -> int:
    """Read a column; return how many of its values are NULL, or -1 - the row of one that has no place.

    Args:
        kind: of its values, of `layout`.
        data: the address of the bytes; `CHUNK_BYTES` more can be read behind them.
        starts: an int64 for each value of each row: where in ``data`` it begins.
        lengths: an int32 for each: how many bytes it has; `layout.NULL` for none.
        columns: how many values a row has.
        column: which one is read.
        rows: how many there are.
        scale: of decimals.
        nulls: a bit for each row, all set: those of NULLs are cleared.
        values: memory for the values; for those of different lengths an int32 for each end, and one before.
        texts: memory for the bytes of these, and `CHUNK_BYTES` more.
    """
    missing = int64(0)
    to = int64(texts)
    if kind >= L.UUID:
        store_int32(values, 0)
    for row in range(rows):
        place = row * columns + column
        length = load_int32(lengths + 4 * place)
        if length < 0:
            missing += 1
            byte = nulls + (row >> 3)
            store_byte(byte, load_byte(byte) & ~(1 << (row & 7)))
            length = int64(0)
            if kind < L.UUID:
                _put_nothing(kind, values, row)
        elif kind < L.UUID:
            if not _put_fixed(kind, data + get(starts, place), length, scale, values, row):
                return int64(-1 - row)
            continue
        else:
            at = data + get(starts, place)
            if kind == L.UUID:
                if length != 16:
                    return int64(-1 - row)
                _put_uuid(to, at)
                length = int64(36)
            else:
                if kind == L.JSONB:
                    if length < 1 or load_byte(at) != 1:
                        return int64(-1 - row)
                    at += 1
                    length -= 1
                if length <= CHUNK_BYTES:
                    copy_chunk(to, at)
                else:
                    copy_bytes(to, at, length)
            to += length
        if kind >= L.UUID:
            store_int32(values + 4 * (row + 1), to - texts)
    return missing


@inlined
def _put_nothing(kind: int, values: int, row: int) -> None:
    """Write 0 where a value is NULL: memory is used again, and may hold earlier values."""
    if kind == L.INT16:
        store_int16(values + 2 * row, 0)
    elif kind == L.INT32 or kind == L.DATE:
        store_int32(values + 4 * row, 0)
    elif kind == L.DECIMAL:
        put(values, 2 * row, 0)
        put(values, 2 * row + 1, 0)
    elif kind != L.BOOL:
        put(values, row, 0)


@inlined
def _put_fixed(kind: int, at: int, length: int, scale: int, values: int, row: int) -> bool:
    """Write a value that has a fixed place; return whether it fits there."""
    if kind == L.INT64:
        put(values, row, _int64(at))
        return length == 8
    if kind == L.INT32:
        store_int32(values + 4 * row, _int32(at))
        return length == 4
    if kind == L.DECIMAL:
        return _put_decimal(values + 16 * row, at, length, scale)
    if kind == L.TIMESTAMP:
        moment = _int64(at)
        put(values, row, moment + L.UNIX_US)
        return length == 8 and moment >= L.FIRST_DAY * L.DAY_US and moment < (L.LAST_DAY + 1) * L.DAY_US
    if kind == L.DATE:
        day = _int32(at)
        store_int32(values + 4 * row, day + L.UNIX_DAYS)
        return length == 4 and day >= L.FIRST_DAY and day <= L.LAST_DAY
    if kind == L.INT16:
        store_int16(values + 2 * row, _int16(at))
        return length == 2
    if kind == L.OID:
        put(values, row, _int32(at) & 0xFFFFFFFF)
        return length == 4
    byte = values + (row >> 3)
    store_byte(byte, load_byte(byte) | (load_byte(at) & 1) << (row & 7))
    return length == 1


@called
def _put_decimal(to: int, at: int, length: int, scale: int) -> bool:
    """Write a numeric as a decimal of 128 bits; return whether it is a number that fits the scale.

    It is a number of groups of four digits, the weight of the first one as a power of 10,000, the sign, the
    scale that is shown, and the groups.
    """
    count = _int16(at)
    weight = _int16(at + 2)
    sign = load_byte(at + 4) << 8 | load_byte(at + 5)
    if (sign != 0 and sign != _NEGATIVE) or length != 8 + 2 * count:
        return False
    # Behind the point so many groups count, the last one with its first digits only.
    behind = (scale + 3) // 4
    last = weight + behind
    if count > last + 1 or last >= _MOST_GROUPS:
        return False
    low = numba.uint64(0)
    high = numba.uint64(0)
    for group in range(last + 1):
        digits = _int16(at + 8 + 2 * group) if group < count else int64(0)
        factor = int64(10_000)
        if group == last and scale % 4 != 0:
            cut = int64(10) if scale % 4 == 3 else int64(100) if scale % 4 == 2 else int64(1_000)
            if digits % cut != 0:
                return False
            digits //= cut
            factor //= cut
        high = high * numba.uint64(factor) + multiply_high(low, numba.uint64(factor))
        low = low * numba.uint64(factor)
        total = low + numba.uint64(digits)
        if total < low:
            high += numba.uint64(1)
        low = total
    if sign == _NEGATIVE:
        low = ~low + numba.uint64(1)
        high = ~high + (numba.uint64(1) if low == 0 else numba.uint64(0))
    put(to, 0, int64(low))
    put(to, 1, int64(high))
    return True


@inlined
def _put_uuid(to: int, at: int) -> None:
    """Write 16 bytes as text: 8-4-4-4-12 hexadecimal digits."""
    for number in range(16):
        if number == 4 or number == 6 or number == 8 or number == 10:
            store_byte(to, 0x2D)
            to += 1
        byte = load_byte(at + number)
        store_byte(to, _digit(byte >> 4))
        store_byte(to + 1, _digit(byte & 15))
        to += 2


@inlined
def _digit(value: int) -> int:
    return value + 0x30 + (value > 9) * 0x27


@inlined
def _int16(at: int) -> int:
    value = load_byte(at) << 8 | load_byte(at + 1)
    return value - ((value & 0x8000) << 1)


@inlined
def _int32(at: int) -> int:
    return swapped_int32(load_int32(at))


@inlined
def _int64(at: int) -> int:
    return _int32(at) << 32 | _int32(at + 4) & 0xFFFFFFFF
