"""Days since 1970-01-01 and the years, months and days that they are."""

from __future__ import annotations

from headwater.readers.kernels.memory import called, inlined

_LAST_JULIAN_DAY = -141_428
"""1582-10-04, before which days are those of the Julian calendar in what Spark 1.5 has written."""


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
