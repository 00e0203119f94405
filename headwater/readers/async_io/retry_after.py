"""What a failure says about when to ask again."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Any


def retry_after_s(error: BaseException, now: datetime | None = None) -> float:
    """Return how many seconds a service wants to be left alone, as far as a failure says so; else 0.

    It says so by an attribute ``retry_after``, in seconds or a timedelta, or by the header ``Retry-After``,
    in seconds or as a date, of the exception or of its ``response``: so do aiohttp's, httpx's, requests' and
    urllib's.

    Args:
        error: what a call raised.
        now: the time; None: the clock's.
    """
    said: Any = getattr(error, "retry_after", None)
    if said is None:
        headers: Any = getattr(error, "headers", None) or getattr(
            getattr(error, "response", None), "headers", None
        )
        said = _header(headers) if hasattr(headers, "items") else None
    if isinstance(said, timedelta):
        said = said.total_seconds()
    try:
        seconds = float(said)
    except (TypeError, ValueError):
        seconds = _until(said, now or datetime.now(UTC)) if isinstance(said, str) else 0.0
    return seconds if math.isfinite(seconds) and seconds > 0 else 0.0


def _header(headers: Any) -> Any:
    return next((value for name, value in headers.items() if str(name).lower() == "retry-after"), None)


def _until(date: str, now: datetime) -> float:
    try:
        until = parsedate_to_datetime(date)
    except ValueError:
        return 0.0
    return (until if until.tzinfo else until.replace(tzinfo=UTC)).timestamp() - now.timestamp()
