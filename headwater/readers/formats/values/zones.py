"""Offsets of time zones as tables: a zone's rules are looked up once, not for each value."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa

from headwater.readers.formats.values import layout as V
from headwater.readers.formats.values.time_zones import zone_of
from headwater.readers.kernels.arrays import Int64Array

_FIRST = datetime(1800, 1, 1, tzinfo=UTC)
_LAST = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=V.CYCLE_FROM + V.CYCLE)
_STEP = timedelta(days=5)
"""No zone has changed its offset twice within such a time, but for good."""
_MICROSECOND = timedelta(microseconds=1)
_NOW = 2024
"""A year whose rules are those of today."""
_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - of local times


def offsets_of(name: str) -> tuple[Int64Array, Int64Array] | None:
    """Return the offsets of a zone by local time; None if there is no such zone.

    Args:
        name: as Spark takes it: a region such as ``Europe/Paris``, ``+01:00``, ``UTC+1`` or ``PST``.

    Returns:
        Until which local times the offsets hold, and the offsets, both in microseconds. Where clocks are set
        back, an hour that comes twice is the first one; where they are set forward, the hour that does not
        exist has the offset before it. That is what Java does.
    """
    zone = zone_of(name)
    if zone is None:
        return None
    return _of_region(zone.key) if isinstance(zone, ZoneInfo) else _computed(zone)


# Computing takes a tenth of a second. So all regions are kept, of which there are some hundreds, and nothing
# else: names that values make up would push them out.
@functools.cache
def _of_region(key: str) -> tuple[Int64Array, Int64Array]:
    return _computed(ZoneInfo(key))


def _computed(zone: tzinfo) -> tuple[Int64Array, Int64Array]:
    until: list[int] = []
    offsets: list[int] = []
    for change, old_offset, new_offset in _changes(zone):
        local = change.replace(tzinfo=None) - _EPOCH + max(old_offset, new_offset)
        until.append(local // _MICROSECOND)
        offsets.append(old_offset // _MICROSECOND)
    until.append(np.iinfo(np.int64).max)
    offsets.append(_offset(zone, _LAST) // _MICROSECOND)
    return np.array(until, np.int64), np.array(offsets, np.int64)


def _offset(zone: tzinfo, moment: datetime) -> timedelta:
    return moment.astimezone(zone).utcoffset() or timedelta()


def _changes(zone: tzinfo) -> Iterator[tuple[datetime, timedelta, timedelta]]:
    """Yield when a zone changes its offset, and the offsets before and after."""
    if isinstance(zone, timezone):
        return
    at = _FIRST
    old_offset = _offset(zone, at)
    while at < _LAST:
        following = at + _STEP
        new_offset = _offset(zone, following)
        if new_offset != old_offset:
            low, high = at, following
            while high - low > timedelta(seconds=1):
                middle = low + timedelta(seconds=(high - low) // timedelta(seconds=2))
                if _offset(zone, middle) == old_offset:
                    low = middle
                else:
                    high = middle
            yield high, old_offset, new_offset
        at, old_offset = following, new_offset


class OldClock:
    """The clocks of one time zone before 1900, as Java's old classes suppose them, without local mean time.

    Spark 2, and every Spark that writes ORC, stores times by these. Such a timestamp was computed with the
    zone's modern offset: it is converted to local time with that offset, then back with the historical one.

    Args:
        name: of the zone, as Java calls it.

    Raises:
        ValueError: there is no such zone.
    """

    def __init__(self, name: str) -> None:
        zone = zone_of(name)
        offsets = offsets_of(name)
        if zone is None or offsets is None:
            raise ValueError(f"there is no time zone {name!r}")
        self.supposed_us = _without_summer_time(zone) // _MICROSECOND
        """How far Java's old classes suppose that these clocks were ahead of UTC."""
        until, self._offsets = offsets
        # Where clocks were set back, Spark takes the second of two equal times.
        self._until = until.copy()
        self._until[:-1] += np.minimum(0, np.diff(self._offsets))

    def ahead_us(self, local: Any) -> Any:
        """Return how far clocks were ahead of UTC that showed these times."""
        clock_us = local.fill_null(0).to_numpy(zero_copy_only=False)
        return pa.array(self._offsets[np.searchsorted(self._until, clock_us, side="right")])


def _without_summer_time(zone: tzinfo) -> timedelta:
    moments = (datetime(_NOW, month, 1, tzinfo=zone).utcoffset() for month in range(1, 13))
    return min(moment or timedelta() for moment in moments)
