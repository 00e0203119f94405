"""Numbers of JSON as doubles and floats.

Nearly all doubles are found by Eisel and Lemire's algorithm ("Number parsing at a gigabyte per second",
2021). The C library's `strtod` has the others: those between two doubles, the smallest and the largest.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from headwater.readers.formats.values.kernel import characters as C
from headwater.readers.formats.values.kernel.characters import is_digit
from headwater.readers.kernels.memory import (
    called,
    double_of_bits,
    double_of_text,
    float_of_text,
    inlined,
    int64,
    leading_zeros,
    load_byte,
    multiply_high,
    store_byte,
)

_U = np.uint64
_LEAST_POWER = -342
_MOST_POWER = 308
_MOST_EXACT = 1 << 53
_MOST_DIGITS = 19
_FAR_EXPONENT = 100_000
"""Beyond all that a number can mean; a longer exponent is cut off here."""


def _powers_of_ten() -> Any:
    """Return the first 128 bits of each power of ten, those below 1 rounded up."""
    table = np.zeros((_MOST_POWER - _LEAST_POWER + 1, 2), np.uint64)
    for power in range(_LEAST_POWER, _MOST_POWER + 1):
        if power >= 0:
            value = 10**power
            shift = value.bit_length() - 128
            bits = value >> shift if shift >= 0 else value << -shift
        else:
            divisor = 10**-power
            bits = (1 << (divisor.bit_length() + 127)) // divisor
            if bits.bit_length() < 128:
                bits = (1 << (divisor.bit_length() + 128)) // divisor
            bits += 1
        table[power - _LEAST_POWER] = bits >> 64, bits & ((1 << 64) - 1)
    return table


_POWERS = _powers_of_ten()
_EXACT_POWERS = np.array([10.0**power for power in range(23)])


@called
def _nearest(mantissa: Any, exponent: int) -> tuple[bool, float]:
    """Return whether the double nearest to ``mantissa * 10**exponent`` is certain, and the double."""
    if exponent < _LEAST_POWER or exponent > _MOST_POWER:
        return False, 0.0
    # The mantissa fills all 64 bits, so that the product has its highest bit in one of two places.
    zeros: int = leading_zeros(int64(mantissa))
    shifted = mantissa << _U(zeros)
    # 217706 / 65536 is the logarithm of 10 to the base 2.
    binary = ((int64(217706) * exponent) >> 16) + 1087 - zeros
    power = _POWERS[exponent - _LEAST_POWER, 0]
    rest = _POWERS[exponent - _LEAST_POWER, 1]
    high = multiply_high(shifted, power)
    low = shifted * power
    # The cut-off part of the power could carry into the bits that count: take its second half too.
    if (high & _U(0x1FF)) == _U(0x1FF) and low + shifted < shifted:
        more = multiply_high(shifted, rest)
        last = shifted * rest
        merged = low + more
        if merged < low:
            high += _U(1)
        low = merged
        # Still undecided: the C library decides.
        if (high & _U(0x1FF)) == _U(0x1FF) and low + _U(1) == _U(0) and last + shifted < shifted:
            return False, 0.0
    # 54 bits stay: those of a double and one to round by.
    top = high >> _U(63)
    bits = high >> (top + _U(9))
    binary -= 1 ^ int64(top)
    # Exactly between two doubles.
    if low == _U(0) and (high & _U(0x1FF)) == _U(0) and (bits & _U(3)) == _U(1):
        return False, 0.0
    bits += bits & _U(1)
    bits >>= _U(1)
    # Rounding up has carried into another bit.
    if bits >> _U(53) > _U(0):
        bits >>= _U(1)
        binary += 1
    # Subnormal numbers and infinity.
    if binary < 1 or binary >= 0x7FF:
        return False, 0.0
    return True, double_of_bits((_U(binary) << _U(52)) | (bits & _U(0x000FFFFFFFFFFFFF)))


@inlined
def _parts(at: int, end: int) -> tuple[int, int, int]:
    """Return the first 19 digits of an unsigned number, its exponent, and how many digits were cut off."""
    mantissa = _U(0)
    exponent = int64(0)
    digits = int64(0)
    cut = int64(0)
    behind_dot = int64(0)
    while at < end:
        byte = load_byte(at)
        if byte == C.DOT:
            behind_dot = int64(1)
        elif is_digit(byte):
            if digits < _MOST_DIGITS:
                mantissa = mantissa * _U(10) + _U(byte - 48)
                if mantissa != _U(0):
                    digits += 1
                exponent -= behind_dot
            else:
                cut += 1
                exponent += 1 - behind_dot
        else:
            break
        at += 1
    if at < end:
        exponent += exponent_at(at, end)
    return mantissa, exponent, cut


@inlined
def exponent_at(at: int, end: int) -> int:
    """Return the exponent behind the ``e`` that is here."""
    at += 1
    negative = load_byte(at) == C.MINUS
    if negative or load_byte(at) == C.PLUS:
        at += 1
    value = int64(0)
    while at < end:
        if value < _FAR_EXPONENT:
            value = value * 10 + load_byte(at) - 48
        at += 1
    return -value if negative else value


@inlined
def _special(at: int) -> float:
    """Return the value of NaN, Infinity and the like."""
    byte = load_byte(at)
    return np.nan if byte == 0x4E else -np.inf if byte == C.MINUS else np.inf


@inlined
def _is_special(end: int) -> bool:
    return not is_digit(load_byte(end - 1))


@called
def to_double(at: int, end: int, scratch: int) -> float:
    """Return the double nearest to a number, which is that of JSON, or NaN and the like."""
    if _is_special(end):
        return _special(at)
    negative = load_byte(at) == C.MINUS
    begin = at + 1 if negative else at
    mantissa, exponent, cut = _parts(begin, end)
    if mantissa == _U(0):
        return -0.0 if negative else 0.0
    if cut == 0 and mantissa <= _U(_MOST_EXACT) and exponent >= -22 and exponent <= 22:
        value: float = numba.float64(int64(mantissa))
        value = value * _EXACT_POWERS[exponent] if exponent >= 0 else value / _EXACT_POWERS[-exponent]
        return -value if negative else value
    certain, value = _nearest(mantissa, exponent)
    if certain and cut > 0:
        # The digits that were cut off do not matter if the next mantissa gives the same double.
        certain, other = _nearest(mantissa + _U(1), exponent)
        certain = certain and value == other
    if not certain:
        _put_plain(begin, end, scratch)
        value = double_of_text(scratch)
    return -value if negative else value


@called
def to_float(at: int, end: int, scratch: int) -> float:
    """Return the float nearest to a number, as `to_double`."""
    if _is_special(end):
        return numba.float32(_special(at))
    negative = load_byte(at) == C.MINUS
    _put_plain(at + 1 if negative else at, end, scratch)
    value = float_of_text(scratch)
    return -value if negative else value


@called
def _put_plain(at: int, end: int, to: int) -> None:
    """Write an unsigned number for the C library: without a dot, which depends on the locale."""
    behind_dot = int64(0)
    exponent = int64(0)
    while at < end:
        byte = load_byte(at)
        if byte == C.DOT:
            behind_dot = int64(1)
        elif is_digit(byte):
            store_byte(to, byte)
            to += 1
            exponent -= behind_dot
        else:
            exponent += exponent_at(at, end)
            break
        at += 1
    store_byte(to, 0x65)
    put_integer(to + 1, exponent)


@inlined
def put_integer(to: int, value: int) -> int:
    """Write an integer and a zero byte; return where that is."""
    if value < 0:
        store_byte(to, C.MINUS)
        to += 1
        value = -value
    size = 1
    rest = value // 10
    while rest > 0:
        size += 1
        rest //= 10
    for i in range(size - 1, -1, -1):
        store_byte(to + i, 48 + value % 10)
        value //= 10
    store_byte(to + size, 0)
    return to + size


@inlined
def short_number(at: int, end: int) -> tuple[int, int, int]:
    """Return where a number ends, its digits as one number, and how many of them stand behind the dot.

    The end is 0 for numbers with an exponent or with more than 18 digits, and for a text that is no number.
    """
    if load_byte(at) == C.MINUS:
        at += 1
    first = at
    value = int64(0)
    byte = load_byte(at)
    while is_digit(byte) and at - first < _MOST_DIGITS:
        value = value * 10 + byte - 48
        at += 1
        byte = load_byte(at)
    digits = at - first
    fine = digits > 0 and (digits == 1 or load_byte(first) != 48)
    decimals = int64(0)
    if byte == C.DOT:
        dot = at
        at += 1
        byte = load_byte(at)
        while is_digit(byte) and at - first < _MOST_DIGITS + 1:
            value = value * 10 + byte - 48
            at += 1
            byte = load_byte(at)
        decimals = at - dot - 1
        fine = fine and decimals > 0
    fine = fine and digits + decimals < _MOST_DIGITS and at < end
    # The bytes that may follow; anything else is for the slower functions.
    fine = fine and (byte == C.COMMA or byte == C.CLOSE_OBJECT or byte == C.CLOSE_LIST or byte <= 32)
    return at if fine else int64(0), value, decimals


@inlined
def short_double(value: int, decimals: int) -> tuple[bool, float]:
    """Return whether the double nearest to ``value / 10**decimals`` is certain, and the double."""
    if value <= _MOST_EXACT:
        return True, numba.float64(value) / _EXACT_POWERS[decimals]
    return _nearest(_U(value), -decimals)
