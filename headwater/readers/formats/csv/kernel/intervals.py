"""Texts as intervals of days to seconds, as Spark casts them: ``1 02:03:04.5``, also as a literal of SQL."""

from __future__ import annotations

from headwater.readers.formats.csv.kernel.times_of_day import fraction, short_number
from headwater.readers.formats.values.kernel import characters as C
from headwater.readers.formats.values.kernel.characters import is_digit, peek
from headwater.readers.formats.values.kernel.times import trim
from headwater.readers.kernels.memory import called, inlined, int64, load_byte, load_int64

_BAR = 0x7C
_APOSTROPHE = 0x27
_SPACE = 0x20
_LETTERS = 0x2020202020202020
_INTERVAL = 0x6C61767265746E69
_DAY = 0x796164
_TO = 0x6F74
_SECOND = 0x646E6F636573
_MOST_DAY_DIGITS = 9
_MOST_FRACTION_DIGITS = 9
_MICROS = 1_000_000
_MOST_SECONDS = 9_223_372_036_854
_MOST_FRACTION = 775_807
"""Of the largest number of seconds in 64 bits of microseconds; one more below 0."""


@called
def day_time_interval(at: int, end: int) -> tuple[bool, int]:
    """Return whether a text is an interval, and its microseconds."""
    none = int64(0)
    at, end = trim(at, end)
    matches, behind = _word(at, end, int64(_INTERVAL), int64(8))
    if not matches:
        return _fields(at, end, False)
    at = _blanks(behind, end)
    if at == behind:
        return False, none
    is_negative, at = _sign(at, end)
    if peek(at, end) != _APOSTROPHE:
        return False, none
    at += 1
    last = at
    while last < end and load_byte(last) != _APOSTROPHE:
        last += 1
    words = last + 1
    for word, size in ((int64(_DAY), int64(3)), (int64(_TO), int64(2)), (int64(_SECOND), int64(6))):
        begin = _blanks(words, end)
        matches, behind = _word(begin, end, word, size)
        if begin == words or not matches:
            return False, none
        words = behind
    if words != end:
        return False, none
    return _fields(at, last, is_negative)


@called
def _fields(at: int, end: int, is_negative: bool) -> tuple[bool, int]:
    """Return whether a text is ``1 02:03:04.5``, with or without a sign, and its microseconds.

    Args:
        at: where it begins.
        end: where it ends.
        is_negative: whether another minus stands before it.
    """
    none = int64(0)
    minus, at = _sign(at, end)
    is_negative = is_negative != minus
    days = none
    first = at
    while at < end and is_digit(load_byte(at)) and at - first < _MOST_DAY_DIGITS:
        days = days * 10 + load_byte(at) - 48
        at += 1
    if at == first or peek(at, end) != _SPACE:
        return False, none
    ok, hours, at = short_number(at + 1, end)
    if not ok or peek(at, end) != C.COLON:
        return False, none
    ok, minutes, at = short_number(at + 1, end)
    if not ok or peek(at, end) != C.COLON:
        return False, none
    ok, seconds, at = short_number(at + 1, end)
    micros = none
    if ok and peek(at, end) == C.DOT:
        first = at + 1
        micros, at = fraction(first, end)
        ok = at > first and at - first <= _MOST_FRACTION_DIGITS
    if not ok or at != end or hours > 23 or minutes > 59 or seconds > 59:
        return False, none
    seconds += ((days * 24 + hours) * 60 + minutes) * 60
    most = _MOST_FRACTION + (1 if is_negative else 0)
    if seconds > _MOST_SECONDS or (seconds == _MOST_SECONDS and micros > most):
        return False, none
    if is_negative:
        return True, -seconds * _MICROS - micros
    return True, seconds * _MICROS + micros


@inlined
def _sign(at: int, end: int) -> tuple[bool, int]:
    """Return whether a minus stands here, and the place behind a sign. A bar counts as one, as in Spark."""
    byte = peek(at, end)
    if byte == C.MINUS or byte == C.PLUS or byte == _BAR:
        return byte == C.MINUS, at + 1
    return False, at


@inlined
def _blanks(at: int, end: int) -> int:
    """Return the place behind white space."""
    while at < end and (load_byte(at) == _SPACE or (load_byte(at) >= 9 and load_byte(at) <= 13)):
        at += 1
    return at


@inlined
def _word(at: int, end: int, word: int, size: int) -> tuple[bool, int]:
    """Return whether a word of up to 8 letters stands here, in any case, and the place behind it."""
    if end - at < size:
        return False, at
    mask = (int64(1) << (8 * size)) - 1 if size < 8 else int64(-1)
    return (load_int64(at) | _LETTERS) & mask == word, at + size
