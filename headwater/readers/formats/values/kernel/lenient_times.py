"""Texts as dates and times: by patterns, as Spark casts text, or as its first versions wrote them."""

from __future__ import annotations

from headwater.readers.formats.values import layout as V
from headwater.readers.formats.values.kernel.moments import WRONG
from headwater.readers.formats.values.kernel.pattern_matching import date_by_pattern, timestamp_by_pattern
from headwater.readers.formats.values.kernel.times import to_date, to_timestamp
from headwater.readers.kernels.memory import called, get, int64, load_byte, load_int32, store_byte

_MOST_TIME = 1 << 12
_GMT = 0x544D47


@called
def text_as_date(
    at: int, end: int, patterns: int, which: int, fallback: bool, scratch: int, room: int
) -> tuple[bool, int]:
    """Return whether a text is a date, and its days since 1970-01-01.

    Args:
        at: where the text begins.
        end: where it ends.
        patterns: the address of the patterns of times.
        which: the pattern that counts, if the user gave one.
        fallback: whether a text that does not follow it is read as Spark casts text.
        scratch: the address of bytes that may be written.
        room: how many there are.
    """
    program = get(patterns, which)
    if program != 0:
        fits, days = date_by_pattern(program, at, end, get(patterns, V.PATTERN_WORK))
    else:
        fits, days = to_date(at, end)
    if fits or not fallback:
        return fits, days
    if program != 0:
        fits, days = to_date(at, end)
    begin, last = _without_gmt(at, end, scratch, room)
    if not fits and begin != 0:
        fits, days = to_date(begin, last)
    return fits, days


@called
def text_as_timestamp(
    at: int,
    end: int,
    patterns: int,
    which: int,
    zones: int,
    zone_count: int,
    local: bool,
    fallback: bool,
    scratch: int,
    room: int,
) -> tuple[int, int, int, int]:
    """Return a text as a time, as `to_timestamp` does; the arguments are those of `text_as_date`."""
    program = get(patterns, which)
    if program != 0:
        outcome, micros, zone, size = timestamp_by_pattern(
            program, at, end, get(patterns, V.PATTERN_WORK), zones, local
        )
    else:
        outcome, micros, zone, size = to_timestamp(at, end, zones, zone_count, local)
    if outcome == WRONG and fallback and not local:
        if program != 0:
            outcome, micros, zone, size = to_timestamp(at, end, zones, zone_count, local)
        begin, last = _without_gmt(at, end, scratch, room)
        if outcome == WRONG and begin != 0:
            outcome, micros, zone, size = to_timestamp(begin, last, zones, zone_count, local)
    return outcome, micros, zone, size


@called
def _without_gmt(at: int, end: int, scratch: int, room: int) -> tuple[int, int]:
    """Return the text without each ``GMT`` in it, as Spark tries it in the end; 0 if it has none.

    The text may lie at the beginning of the scratch: bytes are written only behind the reading position.
    """
    size = end - at
    if size > room or size > _MOST_TIME:
        return int64(0), end  # far too long for a time
    to = scratch
    while at < end:
        if end - at >= 3 and load_int32(at) & 0xFFFFFF == _GMT:
            at += 3
        else:
            store_byte(to, load_byte(at))
            to += 1
            at += 1
    return scratch if to - scratch < size else int64(0), to
