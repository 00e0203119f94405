"""The answer of a server, the meaning of its status, and how long the server asks to be left alone."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final

from urllib3 import HTTPHeaderDict

from headwater.core.errors import (
    AuthenticationError,
    AuthorizationError,
    SourceError,
    UnknownSplitError,
)
from headwater.readers.http.settings import TRANSIENT, HttpSettings, StatusAction

_SHOWN_BYTES: Final = 4_096


@dataclass(frozen=True)
class HttpResponse:
    """An answer, read to its end.

    Attributes:
        url: which was answered, after redirects, without secrets.
        status: as a number.
        headers: of any case; several of one name are kept.
        body: decompressed.
    """

    url: str
    status: int
    headers: HTTPHeaderDict
    body: bytes

    @property
    def text(self) -> str:
        """The beginning of the body, for people."""
        return self.body[:_SHOWN_BYTES].decode(errors="replace")


_LIMITED: Final = frozenset({403, 429, 503})
"""Statuses of a server that does not want to be asked now, if it says until when."""
_RESETS: Final = ("x-ratelimit-reset", "x-rate-limit-reset", "ratelimit-reset")
_REMAINING: Final = ("x-ratelimit-remaining", "x-rate-limit-remaining", "ratelimit-remaining")
_LONGEST_MS: Final = 24 * 3_600_000
"""A server that names a later time is asked after a day."""
_SECONDS: Final = re.compile(r"\d+(\.\d*)?|\.\d+")
_LATEST_S: Final = 10**9
"""A reset below this is a number of seconds from now, not a time."""


def action_of(answer: HttpResponse, settings: HttpSettings) -> StatusAction:
    """Return the treatment of an answer: the user's, or the usual one."""
    status = answer.status
    action = settings.on_status.get(str(status)) or settings.on_status.get(f"{status // 100}xx")
    if action is not None:
        return action
    if 200 <= status < 300:
        return "read"
    is_limited = status in _LIMITED and wait_ms(answer) is not None
    return "retry" if status in TRANSIENT or is_limited else "fail"


def wait_ms(answer: HttpResponse) -> int | None:
    """Return how long a server asks to be left alone; None if it does not."""
    now = server_time(answer.headers) or datetime.now(UTC)
    wait = _retry_after_ms(answer.headers.get("retry-after", "").strip(), now)
    if wait is None and _first(answer.headers, _REMAINING) == 0:
        reset = _first(answer.headers, _RESETS)
        if reset is not None:
            seconds = reset / 1000 if reset > 100 * _LATEST_S else reset
            wait = int((seconds - (now.timestamp() if seconds > _LATEST_S else 0)) * 1000)
    return None if wait is None else min(max(0, wait), _LONGEST_MS)


def server_time(headers: HTTPHeaderDict) -> datetime | None:
    """Return the time by the server's clock; None if it does not say."""
    try:
        moment = parsedate_to_datetime(headers.get("date", ""))
    except (ValueError, OverflowError):
        return None
    return moment.replace(tzinfo=moment.tzinfo or UTC)


def refusal(answer: HttpResponse, hidden: Callable[[str], str]) -> SourceError:
    """Return the error that an answer is.

    Args:
        answer: which.
        hidden: takes secrets out of a text.
    """
    text = f"HTTP {answer.status}: {hidden(answer.text)[:200]!r}"
    if answer.status == 401:
        return AuthenticationError(
            f"{text}; set bearerToken, username, oauthTokenUrl or header.Authorization. Credentials go only "
            "to scheme, host and port of option 'url'",
            source="http",
            split=answer.url,
        )
    if answer.status == 403:
        return AuthorizationError(text, source="http", split=answer.url)
    hint = f"; option onStatus='{answer.status}=skip' (or finish, retry) lets a query go on"
    kind = UnknownSplitError if answer.status in {404, 410} else SourceError
    return kind(text + hint, source="http", split=answer.url)


def _retry_after_ms(raw: str, now: datetime) -> int | None:
    if raw.isascii() and _SECONDS.fullmatch(raw):
        # Rounded up: some servers write a fraction, which the RFC does not have.
        return math.ceil(float(raw[:12]) * 1000)
    try:
        moment = parsedate_to_datetime(raw)
    except (ValueError, OverflowError):
        return None
    return int((moment.replace(tzinfo=moment.tzinfo or UTC) - now).total_seconds() * 1000)


def _first(headers: HTTPHeaderDict, names: tuple[str, ...]) -> int | None:
    for name in names:
        raw = headers.get(name, "").strip().partition(".")[0]
        if raw.isascii() and raw.isdecimal():
            return int(raw[:16])
    return None
