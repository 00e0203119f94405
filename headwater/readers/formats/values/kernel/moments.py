"""Days, and local times as points in time: the calendar, offsets of zones, and the range of 64 bits."""

from __future__ import annotations

from headwater.readers.formats.values import layout as V
from headwater.readers.kernels.memory import called, get, inlined, int64

FINE = 0
WRONG = 1
UNKNOWN_ZONE = 2

DAY_SECONDS = 86_400
_SECOND = 1_000_000
# The seconds whose microseconds have 64 bits, but for the first and the last one, of which a part has.
_FIRST_SECOND = -9_223_372_036_855
_LAST_SECOND = 9_223_372_036_854
_FIRST_FRACTION = 224_192
_LAST_FRACTION = 775_807
_LAST_JULIAN_DAY = -141_428
"""1582-10-04, before which the days that Spark 1.5 has written are those of the Julian calendar."""


@called
def offset_of(zone: int, local_seconds: int) -> int:
    """Return the offset of a zone at a local time, both in seconds."""
    local = max(local_seconds, int64(_FIRST_SECOND + 1))
    if local > _LAST_SECOND - 1:
        local = int64(_LAST_SECOND - 1)
    local *= _SECOND
    if local >= V.CYCLE_FROM:
        local = V.CYCLE_FROM + (local - V.CYCLE_FROM) % V.CYCLE
    until = get(zone, V.ZONE_UNTIL)
    low = int64(0)
    high = get(zone, V.ZONE_COUNT) - 1
    while low < high:
        middle = (low + high) >> 1
        if local < get(until, middle):
            high = middle
        else:
            low = middle + 1
    return get(get(zone, V.ZONE_OFFSETS), low) // _SECOND


@inlined
def moment(seconds: int, fraction: int) -> tuple[int, int, int, int]:
    """Return seconds and microseconds since 1970 as `to_timestamp` does."""
    early = seconds < _FIRST_SECOND or (seconds == _FIRST_SECOND and fraction < _FIRST_FRACTION)
    late = seconds > _LAST_SECOND or (seconds == _LAST_SECOND and fraction > _LAST_FRACTION)
    if early or late:
        return WRONG, int64(0), int64(0), int64(0)
    # The sum does not overflow in the end.
    return FINE, seconds * _SECOND + fraction, int64(0), int64(0)


@inlined
def days_of(year: int, month: int, day: int) -> int:
    """Return the days since 1970-01-01 in the calendar that is now in use, extended into the past."""
    if month <= 2:
        year -= 1
    era = year // 400
    year_of_era = year - era * 400
    day_of_year = (153 * (month + (-3 if month > 2 else 9)) + 2) // 5 + day - 1
    return era * 146097 + year_of_era * 365 + year_of_era // 4 - year_of_era // 100 + day_of_year - 719468


@inlined
def is_day(year: int, month: int, day: int) -> bool:
    """Return whether there is such a day."""
    if month < 1 or month > 12 or day < 1:
        return False
    if month == 2:
        leap = (year % 4 == 0 and year % 100 != 0) or year % 400 == 0
        return day <= (29 if leap else 28)
    return day <= (30 if month == 4 or month == 6 or month == 9 or month == 11 else 31)


@called
def rebased(days: int) -> int:
    """Return days since 1970-01-01 whose calendar was the Julian one up to `_LAST_JULIAN_DAY`."""
    if days > _LAST_JULIAN_DAY:
        return days
    since = days + 719470  # 0000-03-01
    year = (4 * since + 3) // 1461
    day = since - 1461 * year // 4
    month = (5 * day + 2) // 153
    day -= (153 * month + 2) // 5
    return days_of(year + (1 if month >= 10 else 0), month + (-9 if month >= 10 else 3), 1) + day
