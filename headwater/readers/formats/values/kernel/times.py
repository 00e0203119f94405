"""Dates and times in text, as Spark casts them: ISO 8601 with parts that may be missing, and time zones.

A time without a date is refused: it would depend on the day on which it is read.
"""

from __future__ import annotations

from headwater.readers.formats.values import layout as V
from headwater.readers.formats.values.kernel import characters as C
from headwater.readers.formats.values.kernel.characters import is_digit, peek
from headwater.readers.formats.values.kernel.moments import (
    DAY_SECONDS,
    UNKNOWN_ZONE,
    WRONG,
    days_of,
    is_day,
    moment,
    offset_of,
)
from headwater.readers.kernels.memory import called, get, inlined, int64, load_byte

_T = 0x54
_Z = 0x5A
_SPACE = 0x20
_FRACTION_DIGITS = 6


@inlined
def _two(at: int) -> int:
    """Return the number of two digits, below 0 if they are none."""
    ten = load_byte(at) - 48
    one = load_byte(at + 1) - 48
    # Below 0 if one of the four is: a chain of branches would take longer.
    wrong = (ten | one | (9 - ten) | (9 - one)) >> 63
    return ten * 10 + one | wrong


@inlined
def trim(at: int, end: int) -> tuple[int, int]:
    """Return the text without the spaces and control characters around it."""
    while at < end and is_blank(load_byte(at)):
        at += 1
    while end > at and is_blank(load_byte(end - 1)):
        end -= 1
    return at, end


@inlined
def is_blank(byte: int) -> bool:
    """Return whether a byte is a space or a control character."""
    return byte <= 0x20 or byte == 0x7F


@inlined
def _digits(at: int, end: int) -> tuple[int, int]:
    """Return the number here, which may be cut off at 9 digits, and where it ends."""
    value = int64(0)
    first = at
    while at < end and is_digit(load_byte(at)):
        if at - first < 9:
            value = value * 10 + load_byte(at) - 48
        at += 1
    return value, at


@called
def to_date(at: int, end: int) -> tuple[bool, int]:
    """Return whether a text is a date, with or without a time, and its days since 1970-01-01."""
    if end - at == 10 and load_byte(at + 4) == C.MINUS and load_byte(at + 7) == C.MINUS:
        century, years, month, day = _two(at), _two(at + 2), _two(at + 5), _two(at + 8)
        if (century | years | month | day) >= 0:
            year = century * 100 + years
            return is_day(year, month, day), days_of(year, month, day)
    at, end = trim(at, end)
    sign = peek(at, end)
    if sign == C.PLUS or sign == C.MINUS:
        at += 1
    year, digits_end = _digits(at, end)
    if digits_end - at < 4 or digits_end - at > 7:
        return False, int64(0)
    month = int64(1)
    day = int64(1)
    at = digits_end
    if at < end:
        if load_byte(at) != C.MINUS:
            return False, int64(0)
        month, digits_end = _digits(at + 1, end)
        if digits_end - at < 2 or digits_end - at > 3:
            return False, int64(0)
        at = digits_end
        if at < end:
            if load_byte(at) != C.MINUS:
                return False, int64(0)
            day, digits_end = _digits(at + 1, end)
            if digits_end - at < 2 or digits_end - at > 3:
                return False, int64(0)
            at = digits_end
            if at < end and load_byte(at) != _SPACE and load_byte(at) != _T:
                return False, int64(0)
    if sign == C.MINUS:
        year = -year
    days = days_of(year, month, day)
    fits = days >= -(1 << 31) and days < 1 << 31
    return fits and is_day(year, month, day), days


@inlined
def _clock(hours: int, minutes: int, seconds: int) -> bool:
    return hours <= 23 and minutes <= 59 and seconds <= 59


@called
def to_timestamp(at: int, end: int, zones: int, zone_count: int, local: bool) -> tuple[int, int, int, int]:
    """Return a text as a time: `FINE`, `WRONG` or `UNKNOWN_ZONE`, its microseconds, its zone.

    ``local`` says that the time has no zone: then a text with a zone is wrong.
    """
    none = int64(0)
    fraction = none
    year = month = day = hours = minutes = seconds = none
    # Nearly all times are written as 2024-05-11T10:20:33, and are read without a loop.
    usual = (
        end - at >= 19
        and load_byte(at + 4) == C.MINUS
        and load_byte(at + 7) == C.MINUS
        and (load_byte(at + 10) == _T or load_byte(at + 10) == _SPACE)
        and load_byte(at + 13) == C.COLON
        and load_byte(at + 16) == C.COLON
    )
    if usual:
        century, years, month, day = _two(at), _two(at + 2), _two(at + 5), _two(at + 8)
        hours, minutes, seconds = _two(at + 11), _two(at + 14), _two(at + 17)
        year = century * 100 + years
        usual = (century | years | month | day | hours | minutes | seconds) >= 0
        usual = usual and not is_digit(peek(at + 19, end)) and not is_blank(load_byte(end - 1))
    if usual:
        at += 19
    else:
        at, end = trim(at, end)
        ok, at, year, month, day, hours, minutes, seconds = _fields(at, end)
        if not ok:
            return WRONG, none, none, none
    # More digits than microseconds are cut off, as in Spark.
    if at < end and load_byte(at) == C.DOT:
        at += 1
        place = int64(0)
        while at < end and is_digit(load_byte(at)):
            if place < _FRACTION_DIGITS:
                fraction = fraction * 10 + load_byte(at) - 48
                place += 1
            at += 1
        while place < _FRACTION_DIGITS:
            fraction *= 10
            place += 1
    if not is_day(year, month, day) or not _clock(hours, minutes, seconds):
        return WRONG, none, none, none
    local_seconds = days_of(year, month, day) * DAY_SECONDS + (hours * 60 + minutes) * 60 + seconds
    if at == end:
        if local:
            return moment(local_seconds, fraction)
        if get(zones, V.ZONE_COUNT) == 0:
            return WRONG, none, none, none
        return moment(local_seconds - offset_of(zones, local_seconds), fraction)
    if local:
        # Whether the zone is one does not matter: the text is no local time.
        return WRONG, none, none, none
    # The usual zone, without a search.
    if load_byte(at) == _Z and at + 1 == end:
        return moment(local_seconds, fraction)
    while at < end and load_byte(at) <= _SPACE:
        at += 1
    ok, offset = _fixed_offset(at, end)
    if ok:
        return moment(local_seconds - offset, fraction)
    # The first zone is that of times without one, and has no name.
    for i in range(1, zone_count):
        zone = zones + V.ZONE_BYTES * i
        if get(zone, V.ZONE_NAME_SIZE) == end - at and _same(get(zone, V.ZONE_NAME), at, end - at):
            if get(zone, V.ZONE_COUNT) == 0:
                return WRONG, none, none, none
            return moment(local_seconds - offset_of(zone, local_seconds), fraction)
    return UNKNOWN_ZONE, none, at, end - at


@called
def _fields(at: int, end: int) -> tuple[bool, int, int, int, int, int, int, int]:
    """Return whether there are a date and perhaps a time, where the time ends, and the fields of both."""
    none = int64(0)
    one = int64(1)
    year, month, day, hours, minutes, seconds = none, one, one, none, none, none
    sign = peek(at, end)
    if sign == C.PLUS or sign == C.MINUS:
        at += 1
    year, digits_end = _digits(at, end)
    ok = digits_end - at >= 4 and digits_end - at <= 6
    if sign == C.MINUS:
        year = -year
    at = digits_end
    if ok and at < end:
        ok, month, at = _after(C.MINUS, at, end)
    if ok and at < end:
        ok, day, at = _after(C.MINUS, at, end)
        if ok and at < end:
            # The separator stands alone where nothing follows; `trim` has taken a space.
            separator = load_byte(at)
            ok = separator == _T or separator == _SPACE
            if ok:
                ok, hours, at = _after(separator, at, end)
                if ok and at < end:
                    ok, minutes, at = _after(C.COLON, at, end)
                    if ok and at < end:
                        ok, seconds, at = _after(C.COLON, at, end)
    return ok, at, year, month, day, hours, minutes, seconds


@inlined
def _after(separator: int, at: int, end: int) -> tuple[bool, int, int]:
    """Return whether a number of one or two digits stands behind a separator, the number and its end."""
    if peek(at, end) != separator:
        return False, int64(0), at
    value, digits_end = _digits(at + 1, end)
    return digits_end - at == 2 or digits_end - at == 3, value, digits_end


@inlined
def _same(one: int, other: int, size: int) -> bool:
    i = 0
    while i < size and load_byte(one + i) == load_byte(other + i):
        i += 1
    return i == size


@inlined
def _fixed_offset(at: int, end: int) -> tuple[bool, int]:
    """Return whether the zone here is ``+01:00`` or ``-1:30``, and its seconds."""
    sign = peek(at, end)
    if sign != C.PLUS and sign != C.MINUS:
        return False, int64(0)
    hours, digits_end = _digits(at + 1, end)
    if digits_end - at < 2 or digits_end - at > 3:
        return False, int64(0)
    minutes = int64(0)
    if digits_end < end:
        if load_byte(digits_end) != C.COLON:
            return False, int64(0)
        minutes, last = _digits(digits_end + 1, end)
        if last - digits_end < 2 or last - digits_end > 3 or last != end:
            return False, int64(0)
    if hours > 18 or minutes > 59 or (hours == 18 and minutes > 0):
        return False, int64(0)
    seconds = (hours * 60 + minutes) * 60
    return True, -seconds if sign == C.MINUS else seconds
