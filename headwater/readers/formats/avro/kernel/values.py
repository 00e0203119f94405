"""Values as entries of columns, for the kernel: bytes, text, decimals, times and nulls."""

from __future__ import annotations

import numba

from headwater.readers.formats.columns import layout as T
from headwater.readers.formats.columns.kernel.nodes import is_variable, offset, put_validity
from headwater.readers.formats.columns.kernel.text import write_bytes, write_text
from headwater.readers.kernels.memory import (
    always_inlined,
    called,
    get,
    inlined,
    load_byte,
    multiply_high,
    put,
    store_double,
    store_float,
    store_int32,
    store_int64,
)


@called
def put_nulls(nodes: int, places: int, count: int, entry: int) -> None:
    """Write a null into each of these nodes."""
    for i in range(count):
        node = nodes + get(places, i)
        put_validity(node, entry, 0)
        if is_variable(get(node, T.NODE_TYPE)):
            put_end(node, entry, offset(node, entry))


@always_inlined
def put_end(node: int, entry: int, end: int) -> None:
    """Write where the data or elements of an entry end."""
    store_int32(get(node, T.NODE_VALUES) + 4 * entry + 4, end)


@always_inlined
def put_bytes(node: int, entry: int, at: int, size: int, limit: int, is_text: bool) -> bool:
    """Write a value of bytes. Return False if its data can have no more room."""
    begin = offset(node, entry)
    if is_text:
        filled = write_text(node, begin, at, size, limit, False)
    else:
        filled = write_bytes(node, begin, at, size, limit)
    if filled < 0:
        return False
    put_end(node, entry, filled)
    put_validity(node, entry, 1)
    return True


@called
def put_scaled(node: int, entry: int, value: int, factor: int) -> bool:
    """Write a time times a factor; below 0: divided by that. Return False if it is too far away."""
    if factor < 0:
        value = value // -factor
    else:
        most = 0x7FFFFFFFFFFFFFFF // factor
        if value > most or value < -most:
            return False
        value *= factor
    put(get(node, T.NODE_VALUES), entry, value)
    put_validity(node, entry, 1)
    return True


@called
def put_floating(node: int, entry: int, value: int, is_double: bool, as_float: int) -> None:
    """Write an integer as a double or float; a double may be one that was a float before."""
    if not is_double:
        store_float(get(node, T.NODE_VALUES) + 4 * entry, numba.float32(value))
    elif as_float != 0:
        store_double(get(node, T.NODE_VALUES) + 8 * entry, numba.float64(numba.float32(value)))
    else:
        store_double(get(node, T.NODE_VALUES) + 8 * entry, numba.float64(value))
    put_validity(node, entry, 1)


@called
def put_decimal(node: int, entry: int, at: int, size: int) -> bool:
    """Write the number that big-endian bytes are. Return False if it has more digits than the type."""
    # Bytes in front that only repeat the sign say nothing.
    high = 0
    low = 0
    if size > 0 and load_byte(at) >= 0x80:
        high = -1
        low = -1
    sign = high
    for i in range(size):
        if high >> 55 != sign >> 55:
            return False  # 128 bits are not enough
        high = (high << 8) | ((low >> 56) & 0xFF)
        low = (low << 8) | load_byte(at + i)
    values = get(node, T.NODE_VALUES) + 16 * entry
    if not _has_digits(high, low, get(node, T.NODE_PRECISION)):
        return False
    store_int64(values, low)
    store_int64(values + 8, high)
    put_validity(node, entry, 1)
    return True


@inlined
def _has_digits(high: int, low: int, digits: int) -> bool:
    """Return whether a number of 128 bits has at most this number of digits."""
    if high < 0:  # its absolute value
        low = -low
        high = ~high + (1 if low == 0 else 0)
    # 10 to the power of the digits, in two halves.
    most_low = numba.uint64(1)
    most_high = numba.uint64(0)
    for _ in range(digits):
        most_high = most_high * numba.uint64(10) + multiply_high(most_low, numba.uint64(10))
        most_low = most_low * numba.uint64(10)
    unsigned_high = numba.uint64(high)
    if unsigned_high != most_high:
        return unsigned_high < most_high
    return numba.uint64(low) < most_low
