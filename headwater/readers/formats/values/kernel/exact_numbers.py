"""Numbers in text as integers and decimals, and how many digits they have."""

from __future__ import annotations

import numpy as np

from headwater.readers.formats.values.kernel import characters as C
from headwater.readers.formats.values.kernel.characters import is_digit, peek
from headwater.readers.kernels.memory import called, inlined, int64, load_byte, multiply_high

_U = np.uint64
_MOST_DIGITS = 19
_FAR_EXPONENT = 1 << 31
"""Beyond all that a number can mean; more digits of an exponent do not count."""
_DECIMAL_LIMITS = np.array([[10**p >> 64, 10**p & ((1 << 64) - 1)] for p in range(39)], np.uint64)


@inlined
def to_integer(at: int, end: int) -> tuple[bool, int]:
    """Return whether a number is an integer of 64 bits, and the integer."""
    negative = load_byte(at) == C.MINUS
    if negative:
        at += 1
    if end - at > _MOST_DIGITS:
        return False, int64(0)
    value = _U(0)
    while at < end:
        byte = load_byte(at)
        if not is_digit(byte):
            return False, int64(0)
        value = value * _U(10) + _U(byte - 48)
        at += 1
    if value > _U(1 << 63) or (value == _U(1 << 63) and not negative):
        return False, int64(0)
    signed = int64(value)
    return True, -signed if negative else signed


@called
def to_decimal(at: int, end: int, precision: int, scale: int) -> tuple[bool, int, int]:
    """Return whether a number fits a decimal, and the lower and upper half of its unscaled value.

    It is rounded half up to the scale, away from zero, as in Java. The number is that of a token or of a
    text, which follows the grammar of `java.math.BigDecimal`, with commas that mean nothing.
    """
    at = _skip_commas(at, end)
    sign = peek(at, end)
    if sign == C.MINUS or sign == C.PLUS:
        at += 1
    low = _U(0)
    high = _U(0)
    digits = int64(0)  # that were read
    significant = int64(0)  # from the first one on that is not 0
    fits = True
    # The exponent comes last, and says which digits count: so it is looked for first.
    exponent = int64(0)
    before_dot = int64(0)
    seen_dot = False
    last = at
    while last < end:
        byte = load_byte(last)
        if is_digit(byte):
            digits += 1
            if not seen_dot:
                before_dot += 1
        elif byte == C.DOT and not seen_dot:
            seen_dot = True
        elif byte != C.COMMA:
            break
        last += 1
    if digits == 0:
        return False, int64(0), int64(0)
    if last < end:
        ok, exponent = _text_exponent(last, end)
        if not ok:
            return False, int64(0), int64(0)
    place = before_dot - 1 + exponent  # the power of ten of the next digit
    round_up = False
    while at < last:
        byte = load_byte(at)
        at += 1
        if not is_digit(byte):
            continue
        if place >= -scale:
            if significant > 0 or byte != 48:
                significant += 1
            if significant > 38:
                fits = False
            else:
                high = high * _U(10) + multiply_high(low, _U(10))
                low *= _U(10)
                low += _U(byte - 48)
                if low < _U(byte - 48):
                    high += _U(1)
        elif place == -scale - 1:
            round_up = byte >= 53
        place -= 1
    while significant > 0 and place >= -scale and fits:
        significant += 1
        if significant > 38:
            fits = False
        high = high * _U(10) + multiply_high(low, _U(10))
        low *= _U(10)
        place -= 1
    if round_up:
        low += _U(1)
        if low == _U(0):
            high += _U(1)
    limit = _DECIMAL_LIMITS[precision, 0]
    if not fits or high > limit or (high == limit and low >= _DECIMAL_LIMITS[precision, 1]):
        return False, int64(0), int64(0)
    if sign == C.MINUS:
        low = ~low + _U(1)
        high = ~high + (_U(1) if low == _U(0) else _U(0))
    return True, int64(low), int64(high)


@inlined
def _skip_commas(at: int, end: int) -> int:
    """Return where the commas before a sign end: Java's code takes all out of a text before it reads it."""
    while peek(at, end) == C.COMMA:
        at += 1
    return at


@inlined
def _text_exponent(at: int, end: int) -> tuple[bool, int]:
    """Return whether there is an exponent between ``at`` and ``end``, and nothing else; and the exponent."""
    if load_byte(at) | 0x20 != 0x65:
        return False, int64(0)
    at = _skip_commas(at + 1, end)
    negative = peek(at, end) == C.MINUS
    if negative or peek(at, end) == C.PLUS:
        at += 1
    value = int64(0)
    digits = int64(0)
    while at < end:
        byte = load_byte(at)
        at += 1
        if byte == C.COMMA:
            continue
        if not is_digit(byte):
            return False, int64(0)
        digits += 1
        value = value * 10 + byte - 48
        if value > 2147483647:
            return False, int64(0)
    return digits > 0, -value if negative else value


@called
def decimal_shape(at: int, end: int, commas: bool) -> tuple[bool, int, int]:
    """Return whether a text is a number, how many digits it has, and how many of them are behind the dot.

    They are counted as `java.math.BigDecimal` does. Zeros in front are no digits. With ``commas``, commas
    mean nothing, as where Spark takes text for a number.
    """
    if peek(at, end) == C.MINUS or peek(at, end) == C.PLUS:
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
        elif byte == C.DOT and not seen_dot:
            seen_dot = True
        elif not commas or byte != C.COMMA:
            break
        at += 1
    if digits == 0:
        return False, int64(0), int64(0)
    if at < end:
        if load_byte(at) | 0x20 != 0x65:
            return False, int64(0), int64(0)
        at += 1
        negative = peek(at, end) == C.MINUS
        if negative or peek(at, end) == C.PLUS:
            at += 1
        exponent = int64(0)
        digits = int64(0)
        while at < end:
            byte = load_byte(at)
            at += 1
            if commas and byte == C.COMMA:
                continue
            if not is_digit(byte):
                return False, int64(0), int64(0)
            digits += 1
            if exponent < _FAR_EXPONENT:
                exponent = exponent * 10 + byte - 48
        if digits == 0:
            return False, int64(0), int64(0)
        scale += exponent if negative else -exponent
    return True, max(significant, int64(1)), scale
