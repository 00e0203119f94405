"""Names of time zones, as Spark takes them."""

from __future__ import annotations

import re
from datetime import UTC, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo

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
    match = _OFFSET.fullmatch(text)
    if match is None:
        return None
    sign, only, *parts = match.groups()
    hours, minutes, seconds = (
        (int(parts[i] or parts[i + 3] or 0) for i in range(3)) if only is None else (int(only), 0, 0)
    )
    offset = timedelta(hours=hours, minutes=minutes, seconds=seconds)
    if minutes > 59 or seconds > 59 or offset > _MOST_OFFSET:
        return None
    return timezone(-offset if sign == "-" else offset)
