"""The fields of a text, as a pattern finds them, as a date or a time.

They are resolved as by Java's `ResolverStyle.STRICT`. Fields that the text lacks are, as in Spark, those of
1970-01-01 00:00.
"""

# A field that does not fit ends it.

from __future__ import annotations

from headwater.readers.formats.values import layout as V
from headwater.readers.formats.values.kernel.moments import days_of, is_day
from headwater.readers.kernels.memory import called, get, inlined, int64, put

_MOST_YEAR = 999_999_999
_MOST_OFFSET = 18 * 3600


@inlined
def _has(work: int, field: int) -> bool:
    return get(work, V.FOUND) >> field & 1 == 1


@called
def set_field(work: int, field: int, value: int) -> bool:
    """Set a field, and return whether it had no other value."""
    if _has(work, field):
        return get(work, field) == value
    put(work, V.FOUND, get(work, V.FOUND) | 1 << field)
    put(work, field, value)
    return True


@inlined
def _get(work: int, field: int, default: int) -> int:
    return get(work, field) if _has(work, field) else int64(default)


@called
def moment_of(work: int, is_date: bool) -> tuple[bool, int, int, int]:
    """Return whether the fields of a text mean a time, its days since 1970, its seconds and microseconds.

    The seconds are those of the day. Whether there is an offset, and which, is for `offset_of_text` to say.
    """
    dated, fits, days = _date(work)
    fits_too, timed, hour = _hour(work)
    fits = fits and fits_too
    minute = _get(work, V.MINUTE, 0)
    second = _get(work, V.SECOND, 0)
    # Java looks at hours beside a gap only where a time is made of them.
    if not is_date or timed or not _has(work, V.HOUR):
        fits = fits and hour >= 0 and hour <= 23
        fits = fits and minute >= 0 and minute <= 59 and second >= 0 and second <= 59
    if dated and timed and not has_good_offset(work):
        fits = False
    return fits, days, (hour * 60 + minute) * 60 + second, _get(work, V.NANOS, 0) // 1000


@inlined
def offset_of_text(work: int) -> tuple[bool, int]:
    """Return whether a text has the offset of its zone, and its seconds."""
    return _has(work, V.OFFSET), _get(work, V.OFFSET, 0)


@inlined
def has_good_offset(work: int) -> bool:
    """Return whether the offset of a text, if it has one, is one that Java takes."""
    offset = _get(work, V.OFFSET, 0)
    return offset >= -_MOST_OFFSET and offset <= _MOST_OFFSET


@called
def _date(work: int) -> tuple[bool, bool, int]:
    """Return whether the text has a whole date, whether it is one with missing fields filled in, its days."""
    year = _get(work, V.YEAR, 1970)
    month = _get(work, V.MONTH, 1)
    day = _get(work, V.DAY, 1)
    if year < -_MOST_YEAR or year > _MOST_YEAR:
        return False, False, int64(0)
    whole = _has(work, V.YEAR) and _has(work, V.MONTH) and _has(work, V.DAY)
    of_year = _get(work, V.DAY_OF_YEAR, 0)
    if _has(work, V.DAY_OF_YEAR) and not whole:
        if of_year < 1 or of_year > 366:
            return False, False, int64(0)
        fits, month, day = _month_and_day(year, of_year)
        fits = fits and _get(work, V.MONTH, month) == month and _get(work, V.DAY, day) == day
        return _has(work, V.YEAR), fits, days_of(year, month, day)
    if not is_day(year, month, day):
        return False, False, int64(0)
    days = days_of(year, month, day)
    if whole and _has(work, V.DAY_OF_YEAR) and days - days_of(year, int64(1), int64(1)) + 1 != of_year:
        return True, False, int64(0)
    return whole, True, days


@inlined
def _month_and_day(year: int, of_year: int) -> tuple[bool, int, int]:
    """Return whether a year has a day of this number, its month and its day."""
    new_year = days_of(year, int64(1), int64(1))
    month = int64(1)
    while month < 12 and days_of(year, month + 1, int64(1)) - new_year < of_year:
        month += 1
    day = of_year - (days_of(year, month, int64(1)) - new_year)
    return is_day(year, month, day), month, day


@called
def _hour(work: int) -> tuple[bool, bool, int]:
    """Bring the fields about hours together: return whether they fit each other, are a whole time, the hour.

    Whether it is an hour of a day is for the caller to see.
    """
    fits = True
    if _has(work, V.CLOCK_HOUR):
        hour = get(work, V.CLOCK_HOUR)
        fits = hour >= 1 and hour <= 24 and set_field(work, V.HOUR, hour % 24)
    if fits and _has(work, V.CLOCK_HOUR_OF_HALF):
        hour = get(work, V.CLOCK_HOUR_OF_HALF)
        fits = hour >= 1 and hour <= 12 and set_field(work, V.HOUR_OF_HALF, hour % 12)
    half = _get(work, V.AM_PM, 0)
    of_half = _get(work, V.HOUR_OF_HALF, 0)
    both = _has(work, V.AM_PM) and _has(work, V.HOUR_OF_HALF)
    if fits and both:
        fits = of_half >= 0 and of_half <= 11 and set_field(work, V.HOUR, half * 12 + of_half)
    if not _has(work, V.HOUR):
        fits = fits and of_half >= 0 and of_half <= 11
        return fits, False, of_half if _has(work, V.HOUR_OF_HALF) else half * 12
    hour = get(work, V.HOUR)
    whole = not _has_gap(work)
    if fits and whole and not both:
        fits = _get(work, V.HOUR_OF_HALF, hour % 12) == hour % 12
        fits = fits and _get(work, V.AM_PM, hour // 12) == hour // 12
    return fits, whole, hour


@inlined
def _has_gap(work: int) -> bool:
    """Return whether minutes or seconds are missing between fields that are there."""
    finer = _has(work, V.NANOS)
    without_minute = not _has(work, V.MINUTE) and (_has(work, V.SECOND) or finer)
    return without_minute or (finer and not _has(work, V.SECOND))
