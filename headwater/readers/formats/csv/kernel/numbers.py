"""Numbers in text as Java and Scala read them: `parseInt`, `parseDouble`, `BigDecimal`."""

from __future__ import annotations

import numba
import numpy as np

from headwater.readers.formats.values.kernel import characters as C
from headwater.readers.formats.values.kernel.characters import is_digit, peek
from headwater.readers.formats.values.kernel.exact_numbers import to_integer
from headwater.readers.formats.values.kernel.numbers import put_integer, short_double, to_double, to_float
from headwater.readers.kernels.memory import (
    called,
    double_of_text,
    float_of_text,
    inlined,
    int64,
    load_byte,
    load_int32,
    load_int64,
    store_byte,
)

NUMBER_SPARE = 64
"""So many more bytes than a number has must be in the scratch to read it."""

NO_NUMBER = 0
DECIMAL = 1
HEXADECIMAL = 2
SPECIAL = 3

_MOST_SHORT = 18
_NAN = 0x4E614E
_INFINITY = 0x7974696E69666E49  # the first eight letters
_LETTER_X = 0x78
_FAR = 1 << 30


@called
def to_long(at: int, end: int) -> tuple[bool, int]:
    """Return whether a text is an integer of 64 bits with or without a sign, and the integer."""
    first = at
    sign = peek(at, end)
    if sign == C.MINUS or sign == C.PLUS:
        at += 1
    if at == end:
        return False, int64(0)
    if end - at <= _MOST_SHORT:
        value = int64(0)
        while at < end:
            digit = load_byte(at) - 48
            if digit < 0 or digit > 9:
                return False, int64(0)
            value = value * 10 + digit
            at += 1
        return True, -value if sign == C.MINUS else value
    while at < end - 1 and load_byte(at) == 48:
        at += 1
    if sign != C.MINUS:
        if not is_digit(load_byte(at)):
            return False, int64(0)
        return to_integer(at, end)
    return _negative(first, at, end)


@inlined
def _negative(first: int, at: int, end: int) -> tuple[bool, int]:
    """Return `to_long` of a number below 0 whose first digit that is not 0 is at ``at``."""
    if not is_digit(load_byte(at)):
        return False, int64(0)
    if at == first + 1:
        return to_integer(first, end)
    # The least integer has no counterpart above 0.
    fits, value = to_integer(at, end - 1)
    digit = load_byte(end - 1) - 48
    if not fits or digit < 0 or digit > 9:
        return False, int64(0)
    limit = int64(922337203685477580)
    if value > limit or (value == limit and digit > 8):
        return False, int64(0)
    return True, -value * 10 - digit


@called
def number_of(at: int, end: int) -> tuple[int, int, int]:
    """Return the kind of number that a text is for `Double.parseDouble`, where it begins, and where it ends.

    Without white space around it, a plus before it and the letter of a type behind it.
    """
    while at < end and load_byte(at) <= 32:
        at += 1
    while end > at and load_byte(end - 1) <= 32:
        end -= 1
    none = int64(NO_NUMBER)
    begin = at
    sign = peek(at, end)
    if sign == C.PLUS or sign == C.MINUS:
        at += 1
    if sign == C.PLUS:
        begin += 1
    if _is_special(at, end):
        return int64(SPECIAL), begin, end
    if peek(at, end) == 48 and peek(at + 1, end) | 0x20 == _LETTER_X:
        return _hexadecimal(at + 2, begin, end)
    digits = int64(0)
    while at < end and is_digit(load_byte(at)):
        at += 1
        digits += 1
    if peek(at, end) == C.DOT:
        at += 1
        while at < end and is_digit(load_byte(at)):
            at += 1
            digits += 1
    if digits == 0:
        return none, begin, end
    ok, at = _exponent(at, end, int64(0x65))
    if not ok:
        return none, begin, end
    return (int64(DECIMAL) if _is_type(at, end) else none), begin, at


@inlined
def _is_special(at: int, end: int) -> bool:
    size = end - at
    if size == 3:
        return load_int32(at) & 0xFFFFFF == _NAN
    return size == 8 and load_int64(at) == _INFINITY


@inlined
def _is_type(at: int, end: int) -> bool:
    """Return whether nothing stands here, or the letter of a type."""
    letter = peek(at, end) | 0x20
    return at == end or (at + 1 == end and (letter == 0x66 or letter == 0x64))


@inlined
def _exponent(at: int, end: int, letter: int) -> tuple[bool, int]:
    """Return whether there is no exponent or a whole one here, and where it ends."""
    if peek(at, end) | 0x20 != letter:
        return True, at
    at += 1
    if peek(at, end) == C.PLUS or peek(at, end) == C.MINUS:
        at += 1
    first = at
    while at < end and is_digit(load_byte(at)):
        at += 1
    return at > first, at


@inlined
def _hexadecimal_digit(byte: int) -> int:
    """Return the value of a hexadecimal digit, -1 if it is none."""
    if is_digit(byte):
        return byte - 48
    lower = byte | 0x20
    return lower - 87 if lower >= 97 and lower <= 102 else int64(-1)


@called
def _hexadecimal(at: int, begin: int, end: int) -> tuple[int, int, int]:
    digits = int64(0)
    while at < end and _hexadecimal_digit(load_byte(at)) >= 0:
        at += 1
        digits += 1
    if peek(at, end) == C.DOT:
        at += 1
        while at < end and _hexadecimal_digit(load_byte(at)) >= 0:
            at += 1
            digits += 1
    none = int64(NO_NUMBER)
    if digits == 0 or peek(at, end) | 0x20 != 0x70:
        return none, begin, end
    ok, at = _exponent(at, end, int64(0x70))
    if not ok or not _is_type(at, end):
        return none, begin, end
    return int64(HEXADECIMAL), begin, at


@called
def double_of(kind: int, at: int, end: int, scratch: int) -> float:
    """Return the double that a text means, as `number_of` has found it."""
    if kind == HEXADECIMAL:
        negative = _put_hexadecimal(at, end, scratch)
        value = double_of_text(scratch)
        return -value if negative else value
    if kind == SPECIAL:
        # NaN has no sign.
        sign = load_byte(at)
        return np.nan if load_byte(end - 1) == 0x4E else -np.inf if sign == C.MINUS else np.inf
    return to_double(at, _without_dot(at, end), scratch)


@called
def float_of(kind: int, at: int, end: int, scratch: int) -> float:
    """Return the float that a text means, as `number_of` has found it."""
    if kind == HEXADECIMAL:
        negative = _put_hexadecimal(at, end, scratch)
        value = float_of_text(scratch)
        return -value if negative else value
    if kind == SPECIAL:
        return numba.float32(double_of(kind, at, end, scratch))
    return to_float(at, _without_dot(at, end), scratch)


@inlined
def _without_dot(at: int, end: int) -> int:
    return end - 1 if end - 1 > at and load_byte(end - 1) == C.DOT else end


@called
def _put_hexadecimal(at: int, end: int, to: int) -> bool:
    """Write a number for the C library: without a dot, which depends on the locale. Return its sign."""
    negative = load_byte(at) == C.MINUS
    if negative:
        at += 1
    behind_dot = int64(0)
    exponent = int64(0)
    while at < end and load_byte(at) | 0x20 != 0x70:
        byte = load_byte(at)
        if byte == C.DOT:
            behind_dot = int64(4)
        else:
            store_byte(to, byte)
            to += 1
            if byte | 0x20 != _LETTER_X:
                exponent -= behind_dot
        at += 1
    at += 1
    minus = load_byte(at) == C.MINUS
    if minus or load_byte(at) == C.PLUS:
        at += 1
    exponent_text = int64(0)
    while at < end:
        if exponent_text < _FAR:
            exponent_text = exponent_text * 10 + load_byte(at) - 48
        at += 1
    exponent += -exponent_text if minus else exponent_text
    store_byte(to, 0x70)
    put_integer(to + 1, exponent)
    return negative


@inlined
def short_decimal(at: int, end: int) -> tuple[bool, float]:
    """Return whether a text is a number of few digits without an exponent, and its double."""
    negative = load_byte(at) == C.MINUS
    if negative:
        at += 1
    if end - at > _MOST_SHORT or at == end:
        return False, 0.0
    value = int64(0)
    dot = end
    first = at
    while at < end:
        byte = load_byte(at)
        if is_digit(byte):
            value = value * 10 + byte - 48
        elif byte == C.DOT and dot == end and at > first:
            dot = at
        else:
            return False, 0.0
        at += 1
    certain, double = short_double(value, end - dot - 1 if dot < end else int64(0))
    return certain, -double if negative else double


@inlined
def without_commas(at: int, end: int) -> int:
    """Return where a decimal begins: behind commas, which mean nothing anywhere in it."""
    while at < end and load_byte(at) == C.COMMA:
        at += 1
    return at
