"""Offsets of time zones as tables, for the kernel: a zone's rules are looked up once, not for each value."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo

import numpy as np

from headwater.readers.formats.json.layout import CYCLE, CYCLE_FROM
from headwater.readers.kernels.arrays import Int64Array

_SHORT = {
    "ACT": "Australia/Darwin", "AET": "Australia/Sydney", "AGT": "America/Argentina/Buenos_Aires",
    "ART": "Africa/Cairo", "AST": "America/Anchorage", "BET": "America/Sao_Paulo", "BST": "Asia/Dhaka",
    "CAT": "Africa/Harare", "CNT": "America/St_Johns", "CST": "America/Chicago", "CTT": "Asia/Shanghai",
    "EAT": "Africa/Addis_Ababa", "ECT": "Europe/Paris", "EST": "-05:00", "HST": "-10:00",
    "IET": "America/Indiana/Indianapolis", "IST": "Asia/Kolkata", "JST": "Asia/Tokyo", "MIT": "Pacific/Apia",
    "MST": "-07:00", "NET": "Asia/Yerevan", "NST": "Pacific/Auckland", "PLT": "Asia/Karachi",
    "PNT": "America/Phoenix", "PRT": "America/Puerto_Rico", "PST": "America/Los_Angeles",
    "SST": "Pacific/Guadalcanal", "VST": "Asia/Ho_Chi_Minh",
}  # fmt: skip
"""Java's `ZoneId.SHORT_IDS`."""
_OFFSET = re.compile(r"([+-])(?:(\d{1,2})|(\d\d):(\d\d)(?::(\d\d))?|(\d\d)(\d\d)(\d\d)?)", re.ASCII)
_REGION = re.compile(r"[A-Za-z][A-Za-z0-9~/._+-]+")
_NO_REGIONS = re.compile(r"posix/|right/|localtime$|posixrules$|Factory$|leap")
_MOST_OFFSET = timedelta(hours=18)
_FIRST = datetime(1800, 1, 1, tzinfo=UTC)
_LAST = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=CYCLE_FROM + CYCLE)
_STEP = timedelta(days=5)
"""No zone has changed its offset twice within such a time, but for good."""
_MICROSECOND = timedelta(microseconds=1)
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
    for change, before, after in _changes(zone):
        local = change.replace(tzinfo=None) - _EPOCH + max(before, after)
        until.append(local // _MICROSECOND)
        offsets.append(before // _MICROSECOND)
    until.append(np.iinfo(np.int64).max)
    offsets.append(_offset(zone, _LAST) // _MICROSECOND)
    return np.array(until, np.int64), np.array(offsets, np.int64)


def zone_of(name: str) -> tzinfo | None:
    """Return a zone by its name, as Spark takes it; None if there is no such zone."""
    name = re.sub(r"([+-])(\d):", r"\g<1>0\2:", name, count=1, flags=re.ASCII)
    name = re.sub(r"([+-])(\d\d):(\d)$", r"\1\2:0\3", name, count=1, flags=re.ASCII)
    name = _SHORT.get(name, name)
    if name in {"Z", "UTC", "GMT", "UT"}:
        return UTC
    for prefix in ("", "UTC", "GMT", "UT"):
        if name.startswith((f"{prefix}+", f"{prefix}-")):
            return _fixed(name.removeprefix(prefix))
    if not _REGION.fullmatch(name) or _NO_REGIONS.match(name):
        return None
    try:
        return ZoneInfo(name)
    except (OSError, ValueError):  # ZoneInfoNotFoundError is a KeyError
        return None
    except KeyError:
        return None


def _fixed(text: str) -> tzinfo | None:
    found = _OFFSET.fullmatch(text)
    if found is None:
        return None
    sign, only, *parts = found.groups()
    hours, minutes, seconds = (
        (int(parts[i] or parts[i + 3] or 0) for i in range(3)) if only is None else (int(only), 0, 0)
    )
    offset = timedelta(hours=hours, minutes=minutes, seconds=seconds)
    if minutes > 59 or seconds > 59 or offset > _MOST_OFFSET:
        return None
    return timezone(-offset if sign == "-" else offset)


def _offset(zone: tzinfo, moment: datetime) -> timedelta:
    return moment.astimezone(zone).utcoffset() or timedelta()


def _changes(zone: tzinfo) -> Iterator[tuple[datetime, timedelta, timedelta]]:
    """Yield when a zone changes its offset, and the offsets before and after."""
    if isinstance(zone, timezone):
        return
    at = _FIRST
    before = _offset(zone, at)
    while at < _LAST:
        following = at + _STEP
        after = _offset(zone, following)
        if after != before:
            low, high = at, following
            while high - low > timedelta(seconds=1):
                middle = low + timedelta(seconds=(high - low) // timedelta(seconds=2))
                if _offset(zone, middle) == before:
                    low = middle
                else:
                    high = middle
            yield high, before, after
        at, before = following, after
