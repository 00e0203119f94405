"""Times, as Spark's casts in ANSI mode make them of any value."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time, tzinfo
from decimal import Decimal, InvalidOperation
from typing import Any

from headwater.connector.async_io.misfit import misfit_of
from headwater.core.errors import OptionError
from headwater.readers.formats.time_zones import zone_of

_DATE = re.compile(r"(\d{4,6})(?:-(\d{1,2})(?:-(\d{1,2}))?)?")
_TIME = re.compile(r"(\d{1,2}):(\d{1,2})(?::(\d{1,2})(?:\.(\d{0,9}))?)?\s*(.*)")


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
    if isinstance(value, datetime):
        return value.replace(tzinfo=zone) if value.tzinfo is None else value
    if isinstance(value, date):
        return datetime.combine(value, time(), zone)
    try:
        if isinstance(value, int | float | Decimal) and not isinstance(value, bool):
            micros = int(value * 1_000_000)  # a double's own product, cut off, as Spark does it
            return datetime.fromtimestamp(micros // 1_000_000, UTC).replace(microsecond=micros % 1_000_000)
        if isinstance(value, str):
            return _parsed(value, zone)
    except (ValueError, OverflowError, OSError, InvalidOperation):
        pass
    raise misfit_of(value, "timestamp")


def to_local_timestamp(zone: tzinfo, value: Any) -> datetime:
    """Return a timestamp without a zone."""
    if isinstance(value, datetime):
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
            head = re.split("[ T]", value.strip(), maxsplit=1)[0]
            return _parsed_date(head)
        except ValueError:
            pass
    raise misfit_of(value, "date")


def time_text(zone: tzinfo, value: datetime) -> str:
    """Return a time as Spark writes it."""
    local = value if value.tzinfo is None else value.astimezone(zone).replace(tzinfo=None)
    text = local.isoformat(" ")
    return text.rstrip("0") if local.microsecond else text


def _parsed(text: str, zone: tzinfo) -> datetime:
    """Return the time that a text holds: a date, and perhaps a time of day and a zone."""
    text = text.strip()
    head, separator, rest = text.partition("T") if "T" in text else text.partition(" ")
    day = _parsed_date(head)
    if not separator:
        return datetime.combine(day, time(), zone)
    found = _TIME.fullmatch(rest.strip())
    if found is None:
        raise ValueError(text)
    hour, minute, second, fraction, zone_text = found.groups()
    micros = int((fraction or "").ljust(6, "0")[:6])
    return datetime.combine(
        day,
        time(int(hour), int(minute), int(second or 0), micros),
        _parsed_zone(zone_text) if zone_text else zone,
    )


def _parsed_date(text: str) -> date:
    found = _DATE.fullmatch(text)
    if found is None:
        raise ValueError(text)
    year, month, day = found.groups()
    return date(int(year), int(month or 1), int(day or 1))


def _parsed_zone(text: str) -> tzinfo:
    zone = zone_of(text)
    if zone is None:
        raise ValueError(text)
    return zone
