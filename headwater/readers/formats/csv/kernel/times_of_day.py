"""Texts as times of day, as Spark casts them: hours and minutes, perhaps seconds, of 24 or 12 hours."""

from __future__ import annotations

from headwater.readers.formats.values.kernel import characters as C
from headwater.readers.formats.values.kernel.characters import is_digit, peek
from headwater.readers.formats.values.kernel.times import trim
from headwater.readers.kernels.memory import called, inlined, int64, load_byte

_A = 0x61
_M = 0x6D
_P = 0x70
_T = 0x54
_SPACE = 0x20
_LOWER = 0x20
_NANOS = 1_000_000_000


@inlined
def short_number(at: int, end: int) -> tuple[bool, int, int]:
    """Return whether one or two digits stand here, their number, and where they end."""
    first = at
    value = int64(0)
    while at < end and is_digit(load_byte(at)) and at - first < 2:
        value = value * 10 + load_byte(at) - 48
        at += 1
    return at > first, value, at


@inlined
def fraction(at: int, end: int) -> tuple[int, int]:
    """Return the microseconds that the digits behind a dot are, and where all of them end."""
    micros = int64(0)
    place = int64(100_000)
    while at < end and is_digit(load_byte(at)):
        micros += place * (load_byte(at) - 48)
        place //= 10
        at += 1
    return micros, at


@called
def time_of_day(at: int, end: int) -> tuple[bool, int]:
    """Return whether a text is a time of day, and its nanoseconds since midnight: whole microseconds."""
    none = int64(0)
    while end > at and load_byte(end - 1) == _SPACE:
        end -= 1
    half = none
    if end - at > 2 and load_byte(end - 1) | _LOWER == _M:
        half = load_byte(end - 2) | _LOWER
        end -= 2
    first = at
    at, end = trim(at, end)
    # In Spark white space before the letter is wrong.
    is_marked = at == first and peek(at, end) == _T
    if is_marked:
        at += 1
    ok, hours, at = short_number(at, end)
    # Without the letter a number alone may be anything.
    if not ok or (at == end and not is_marked):
        return False, none
    minutes = none
    seconds = none
    micros = none
    if at < end:
        if load_byte(at) != C.COLON:
            return False, none
        ok, minutes, at = short_number(at + 1, end)
        if ok and at < end:
            if load_byte(at) != C.COLON:
                return False, none
            ok, seconds, at = short_number(at + 1, end)
        if ok and at < end:
            ok = load_byte(at) == C.DOT
            micros, at = fraction(at + 1, end)
    if not ok or at < end or minutes > 59 or seconds > 59 or hours > 23:
        return False, none
    if half != 0:
        if (half != _A and half != _P) or hours < 1 or hours > 12:
            return False, none
        hours = hours % 12 + (12 if half == _P else 0)
    return True, ((hours * 60 + minutes) * 60 + seconds) * _NANOS + micros * 1000
