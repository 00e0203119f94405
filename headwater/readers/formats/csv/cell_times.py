"""Texts of cells as dates and times."""

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
from headwater.readers.formats.json.layout import PATTERN_DATE, PATTERN_LOCAL_TIMESTAMP, PATTERN_TIMESTAMP
from headwater.readers.formats.json.lenient_times import text_as_date, text_as_timestamp
from headwater.readers.formats.kernel_columns import get
from headwater.readers.kernels.memory import called, inlined


@inlined
def free_scratch(state: int) -> tuple[int, int]:
    """Return where scratch is that no value of the record uses, and how many bytes it has."""
    free = get(get(state, READER), TEXT_END)
    return free, get(state, SCRATCH) + get(state, SCRATCH_SIZE) - free


@called
def date_of(at: int, end: int, state: int) -> tuple[bool, int]:
    """Return whether a text is a date, and its days since 1970-01-01."""
    scratch, room = free_scratch(state)
    fallback = get(get(state, OPTIONS), OPTION_DATE_FALLBACK) == 1
    return text_as_date(at, end, get(state, PATTERNS), PATTERN_DATE, fallback, scratch, room)


@called
def timestamp_of(at: int, end: int, local: bool, state: int) -> tuple[int, int, int, int]:
    """Return what a text is as a time; see `to_timestamp`."""
    scratch, room = free_scratch(state)
    fallback = get(get(state, OPTIONS), OPTION_TIMESTAMP_FALLBACK) == 1
    which = PATTERN_LOCAL_TIMESTAMP if local else PATTERN_TIMESTAMP
    return text_as_timestamp(
        at,
        end,
        get(state, PATTERNS),
        which,
        get(state, ZONES),
        get(state, ZONE_COUNT),
        local,
        fallback,
        scratch,
        room,
    )
