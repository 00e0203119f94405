"""Local times as points in time: the offsets of zones, and what 64 bits of microseconds can hold."""

from __future__ import annotations

from headwater.readers.formats.values import layout as V
from headwater.readers.kernels.memory import called, inlined, int64, load_int64

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


@called
def offset_of(zone: int, local_seconds: int) -> int:
    """Return the offset of a zone at a local time, both in seconds."""
    local = max(local_seconds, int64(_FIRST_SECOND + 1))
    if local > _LAST_SECOND - 1:
        local = int64(_LAST_SECOND - 1)
    local *= _SECOND
    if local >= V.CYCLE_FROM:
        local = V.CYCLE_FROM + (local - V.CYCLE_FROM) % V.CYCLE
    until = load_int64(zone + 8 * V.ZONE_UNTIL)
    low = int64(0)
    high = load_int64(zone + 8 * V.ZONE_COUNT) - 1
    while low < high:
        middle = (low + high) >> 1
        if local < load_int64(until + 8 * middle):
            high = middle
        else:
            low = middle + 1
    return load_int64(load_int64(zone + 8 * V.ZONE_OFFSETS) + 8 * low) // _SECOND


@inlined
def moment(seconds: int, fraction: int) -> tuple[int, int, int, int]:
    """Return what `to_timestamp` does for seconds and microseconds since 1970."""
    early = seconds < _FIRST_SECOND or (seconds == _FIRST_SECOND and fraction < _FIRST_FRACTION)
    late = seconds > _LAST_SECOND or (seconds == _LAST_SECOND and fraction > _LAST_FRACTION)
    if early or late:
        return WRONG, int64(0), int64(0), int64(0)
    # The sum does not overflow in the end.
    return FINE, seconds * _SECOND + fraction, int64(0), int64(0)
