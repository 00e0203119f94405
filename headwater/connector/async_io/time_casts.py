"""Times, as Spark's casts in ANSI mode make them of any value."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from decimal import Context, Decimal, InvalidOperation
from typing import Any

from headwater.connector.async_io.misfit import misfit_of
from headwater.connector.async_io.text_casts import trimmed
from headwater.core.errors import OptionError
from headwater.readers.formats.values.time_zones import zone_of

_DATE = r"(?P<year>[+-]?\d{4,%d})(?:-(?P<month>\d{1,2})(?:-(?P<day>\d{1,2})(?:[ T]%s)?)?)?"
_TIME = (
    r"(?P<hour>\d{1,2})(?::(?P<minute>\d{1,2})"
    r"(?::(?P<second>\d{1,2})(?:\.(?P<fraction>\d*))?(?P<zone>[^\d.].*)?)?)?"
)
_TIMESTAMP = re.compile(_DATE % (6, _TIME), re.ASCII | re.DOTALL)
# Of a day, what follows is not looked at.
_DAY = re.compile(_DATE % (7, ".*"), re.ASCII | re.DOTALL)
_EXACT = Context(prec=80)
_SECOND = timedelta(seconds=1)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def session_zone(name: str) -> tzinfo:
    """Return the zone of a session: a region, or an offset such as ``+02:00``.

    Raises:
        OptionError: this machine knows no such zone.
    """
    zone = zone_of(name)
    if zone is None:
        raise OptionError(f"{name!r} is no time zone here", option="spark.sql.session.timeZone")
    return zone


def to_timestamp(zone: tzinfo, value: Any) -> datetime:
    """Return an instant; what has no zone is in that of the session.

    Raises:
        Misfit: it is none.
    """
    if isinstance(value, datetime) and value == value:  # noqa: PLR0124 - pandas' NaT is a datetime
        return value.replace(tzinfo=zone) if value.tzinfo is None else value
    if isinstance(value, date):
        return datetime.combine(value, time(), zone)
    try:
        if isinstance(value, int | float | Decimal) and not isinstance(value, bool):
            # A double's own product, cut off, as Spark does it.
            micros = int(_EXACT.scaleb(value, 6) if isinstance(value, Decimal) else value * 1_000_000)
            return datetime.fromtimestamp(micros // 1_000_000, UTC).replace(microsecond=micros % 1_000_000)
        if isinstance(value, str):
            return _parsed(value, zone)
    except (ValueError, OverflowError, OSError, InvalidOperation):
        pass
    raise misfit_of(value, "timestamp")


def to_local_timestamp(zone: tzinfo, value: Any) -> datetime:
    """Return a timestamp without a zone."""
    if isinstance(value, datetime) and value == value:  # noqa: PLR0124 - as above
        return value if value.tzinfo is None else value.astimezone(zone).replace(tzinfo=None)
    if isinstance(value, date):
        return datetime.combine(value, time())
    if isinstance(value, str):
        try:
            return _parsed(value, UTC).replace(tzinfo=None)
        except ValueError:
            pass
    raise misfit_of(value, "timestamp_ntz")


def to_date(zone: tzinfo, value: Any) -> date:
    """Return a day; an instant is one in the session's zone.

    Raises:
        Misfit: it is none.
    """
    if isinstance(value, datetime):
        return (value if value.tzinfo is None else value.astimezone(zone)).date()
    if isinstance(value, date):
        return value
    if isinstance(value, str):
        try:
            return _day(_matched(_DAY, value))
        except ValueError:
            pass
    raise misfit_of(value, "date")


def time_text(zone: tzinfo, value: datetime) -> str:
    """Return a time as Spark writes it."""
    local = value if value.tzinfo is None else value.astimezone(zone).replace(tzinfo=None)
    text = local.isoformat(" ")
    return text.rstrip("0") if local.microsecond else text


def since_epoch(value: datetime) -> tuple[int, int]:
    """Return the whole seconds since 1970 and the microseconds beyond, of a time with a zone."""
    seconds, rest = divmod(value - _EPOCH, _SECOND)
    return seconds, rest.microseconds


def _parsed(text: str, zone: tzinfo) -> datetime:
    """Return the time that a text holds: a date, and perhaps a time of day and a zone."""
    found = _matched(_TIMESTAMP, text)
    hour, minute, second = (int(found[name] or 0) for name in ("hour", "minute", "second"))
    micros = int((found["fraction"] or "").ljust(6, "0")[:6])
    own_zone = _parsed_zone(found["zone"]) if found["zone"] else zone
    return datetime.combine(_day(found), time(hour, minute, second, micros), own_zone)


def _matched(pattern: re.Pattern[str], text: str) -> re.Match[str]:
    found = pattern.fullmatch(trimmed(text))
    if found is None:
        raise ValueError(text)
    return found


def _day(found: re.Match[str]) -> date:
    return date(int(found["year"]), int(found["month"] or 1), int(found["day"] or 1))


def _parsed_zone(text: str) -> tzinfo:
    zone = zone_of(text.strip())
    if zone is None:
        raise ValueError(text)
    return zone
