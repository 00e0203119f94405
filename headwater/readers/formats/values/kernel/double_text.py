"""Doubles as Java writes them."""

from __future__ import annotations

import numpy as np

from headwater.readers.formats.values.kernel import characters as C
from headwater.readers.formats.values.kernel.numbers import exponent_at, put_integer
from headwater.readers.kernels.memory import (
    bits_of_double,
    called,
    double_of_text,
    inlined,
    int64,
    load_byte,
    store_byte,
    text_of_double,
)

_U = np.uint64


@inlined
def _put_word(to: int, word: int, size: int) -> int:
    for i in range(size):
        store_byte(to + i, word >> (8 * i))
    return to + size


@called
def put_double(to: int, value: float, scratch: int) -> int:
    """Write a double as Java 19 and later do, with the fewest digits that mean it; return the end."""
    if value != value:  # noqa: PLR0124 - a NaN is not equal to itself
        return _put_word(to, 0x4E614E, 3)
    if bits_of_double(value) >> _U(63) != _U(0):
        store_byte(to, C.MINUS)
        to += 1
        value = -value
    if value == np.inf:
        return _put_word(to, 0x7974696E69666E49, 8)
    if value == 0:
        return _put_word(to, 0x302E30, 3)
    # Up to 15 digits each decimal is another double; the smallest ones have fewer.
    digits = 15 if value > 1e-300 else 2
    exponent = int64(0)
    while True:
        text_of_double(scratch, digits - 1, value)
        # D.DDDDe+XX, with the locale's dot; without it, the last digit is one of that number.
        store_byte(scratch + 1, load_byte(scratch))
        end = scratch + 1 + digits
        exponent = exponent_at(end, _text_end(end))
        store_byte(end, 0x65)
        put_integer(end + 1, exponent - digits + 1)
        if digits == 17 or double_of_text(scratch + 1) == value:
            break
        digits += 1
    first = scratch + 1
    while digits > 1 and load_byte(first + digits - 1) == 48:
        digits -= 1
    # Java's notation with an exponent: one digit before the dot, at least one behind it.
    if exponent < -3 or exponent >= 7:
        store_byte(to, load_byte(first))
        store_byte(to + 1, C.DOT)
        to += 2
        if digits == 1:
            store_byte(to, 48)
            to += 1
        for i in range(1, digits):
            store_byte(to, load_byte(first + i))
            to += 1
        store_byte(to, 0x45)
        return put_integer(to + 1, exponent)
    # 0.00 in front of numbers below 1.
    for _ in range(-exponent):
        store_byte(to, 48)
        to += 1
        if _ == 0:
            store_byte(to, C.DOT)
            to += 1
    for i in range(max(digits, exponent + 2)):
        if i == exponent + 1 and exponent >= 0:
            store_byte(to, C.DOT)
            to += 1
        store_byte(to, load_byte(first + i) if i < digits else 48)
        to += 1
    return to


@inlined
def _text_end(at: int) -> int:
    while load_byte(at) != 0:
        at += 1
    return at
