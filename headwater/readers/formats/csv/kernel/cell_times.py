"""Texts of cells as dates and times."""

from __future__ import annotations

from headwater.readers.formats.columns import layout as T
from headwater.readers.formats.csv import layout as L
from headwater.readers.formats.values import layout as V
from headwater.readers.formats.values.kernel.lenient_times import text_as_date, text_as_timestamp
from headwater.readers.kernels.memory import called, get, inlined


@inlined
def free_scratch(state: int) -> tuple[int, int]:
    """Return where scratch is that no value of the record uses, and how many bytes it has."""
    free = get(get(state, L.READER), L.TEXT_END)
    return free, get(state, L.SCRATCH) + get(state, L.SCRATCH_SIZE) - free


@called
def date_of(at: int, end: int, state: int) -> tuple[bool, int]:
    """Return whether a text is a date, and its days since 1970-01-01."""
    scratch, room = free_scratch(state)
    fallback = get(get(state, L.OPTIONS), L.OPTION_DATE_FALLBACK) == 1
    return text_as_date(at, end, get(state, T.STATE_PATTERNS), V.PATTERN_DATE, fallback, scratch, room)


@called
def timestamp_of(at: int, end: int, local: bool, state: int) -> tuple[int, int, int, int]:
    """Return a text as a time; see `to_timestamp`."""
    scratch, room = free_scratch(state)
    fallback = get(get(state, L.OPTIONS), L.OPTION_TIMESTAMP_FALLBACK) == 1
    which = V.PATTERN_LOCAL_TIMESTAMP if local else V.PATTERN_TIMESTAMP
    return text_as_timestamp(
        at,
        end,
        get(state, T.STATE_PATTERNS),
        which,
        get(state, T.STATE_ZONES),
        get(state, T.STATE_ZONE_COUNT),
        local,
        fallback,
        scratch,
        room,
    )
