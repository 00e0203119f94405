"""Texts as dates and times, by patterns or as Spark casts text."""

# mypy: disable-error-code="call-arg,no-any-return,no-untyped-call,return-value,unused-ignore"
# numba's own types differ from release to release, and know little of what compiled code may call.

from __future__ import annotations

from headwater.readers.formats.csv.layout import (
    OPTION_DATE_FALLBACK,
    OPTION_TIMESTAMP_FALLBACK,
    OPTIONS,
    PATTERNS,
    READER,
    SCRATCH,
    SCRATCH_SIZE,
    TEXT_END,
    ZONE_COUNT,
    ZONES,
)
from headwater.readers.formats.json.layout import (
    PATTERN_DATE,
    PATTERN_LOCAL_TIMESTAMP,
    PATTERN_TIMESTAMP,
    PATTERN_WORK,
)
from headwater.readers.formats.json.moments import WRONG
from headwater.readers.formats.json.pattern_matching import date_by_pattern, timestamp_by_pattern
from headwater.readers.formats.json.times import to_date, to_timestamp
from headwater.readers.formats.kernel_columns import get
from headwater.readers.kernels.memory import (
    called,
    inlined,
    int64,
    load_byte,
    load_int32,
    store_byte,
)

_MOST_TIME = 1 << 12
_GMT = 0x544D47


@inlined
def free_scratch(state: int) -> tuple[int, int]:
    """Return where scratch is that no value of the record uses, and how many bytes it has."""
    free = get(get(state, READER), TEXT_END)
    return free, get(state, SCRATCH) + get(state, SCRATCH_SIZE) - free


@inlined
def _pattern(state: int, which: int) -> int:
    return get(get(state, PATTERNS), which)


@called
def date_of(at: int, end: int, state: int) -> tuple[bool, int]:
    """Return whether a text is a date, and its days since 1970-01-01."""
    program = _pattern(state, PATTERN_DATE)
    fallback = get(get(state, OPTIONS), OPTION_DATE_FALLBACK) == 1
    if program != 0:
        fits, days = date_by_pattern(program, at, end, _pattern(state, PATTERN_WORK))
    else:
        fits, days = to_date(at, end)
    if fits or not fallback:
        return fits, days
    if program != 0:
        fits, days = to_date(at, end)
    begin, last = _without_gmt(at, end, state)
    if not fits and begin != 0:
        fits, days = to_date(begin, last)
    return fits, days


@called
def timestamp_of(at: int, end: int, local: bool, state: int) -> tuple[int, int, int, int]:
    """Return what a text is as a time; see `to_timestamp`."""
    program = _pattern(state, PATTERN_LOCAL_TIMESTAMP if local else PATTERN_TIMESTAMP)
    zones = get(state, ZONES)
    count = get(state, ZONE_COUNT)
    fallback = not local and get(get(state, OPTIONS), OPTION_TIMESTAMP_FALLBACK) == 1
    if program != 0:
        found, micros, zone, size = timestamp_by_pattern(
            program, at, end, _pattern(state, PATTERN_WORK), zones, local
        )
    else:
        found, micros, zone, size = to_timestamp(at, end, zones, count, local)
    if found == WRONG and fallback:
        if program != 0:
            found, micros, zone, size = to_timestamp(at, end, zones, count, local)
        begin, last = _without_gmt(at, end, state)
        if found == WRONG and begin != 0:
            found, micros, zone, size = to_timestamp(begin, last, zones, count, local)
    return found, micros, zone, size


@called
def _without_gmt(at: int, end: int, state: int) -> tuple[int, int]:
    """Return the text without each ``GMT`` in it, as Spark tries it in the end; 0 if it has none."""
    first, room = free_scratch(state)
    if end - at > room or end - at > _MOST_TIME:
        return int64(0), end  # far too long for a time
    size = end - at
    to = first
    while at < end:
        if end - at >= 3 and load_int32(at) & 0xFFFFFF == _GMT:
            at += 3
        else:
            store_byte(to, load_byte(at))
            to += 1
            at += 1
    return first if to - first < size else int64(0), to
