"""URLs as pages and users write them, their servers, and which of these asked to be left alone."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from typing import Any, Final, TypeGuard
from urllib.parse import parse_qsl, quote, urlencode, urljoin, urlsplit, urlunsplit

from headwater.core.clock import Clock
from headwater.core.jsons import JsonObject, JsonValue
from headwater.core.options import names

_PORTS: Final = {"http": 80, "https": 443}
_ORIGIN: Final = "leaveAlone"
_WAIT: Final = "forMs"
_SAID_AGAIN_MS: Final = 60_000


def origin(url: str) -> str:
    """Return scheme, host and port of a URL: credentials belong to these.

    Raises:
        ValueError: it is no http:// or https:// URL with a host.
    """
    parts = urlsplit(url)
    if parts.scheme not in _PORTS or not parts.hostname:
        raise ValueError(f"{url[:200]!r} is no http:// or https:// URL")
    return f"{parts.scheme}://{parts.hostname}:{parts.port or _PORTS[parts.scheme]}"


def urls(raw: str) -> tuple[str, ...]:
    """Parse URLs with commas between them.

    Raises:
        ValueError: one of them is not a URL, or holds a user.
    """
    values = names(raw)
    for url in values:
        try:
            origin(url)
        except ValueError as error:
            raise ValueError(f"must be http:// or https:// URLs with commas between them: {error}") from error
        if urlsplit(url).username is not None:
            raise ValueError("must hold no user and password: give the options username and password")
    return values


def as_written(value: Any) -> str:
    """Return a value of JSON as it stands in a query or a form."""
    return value if isinstance(value, str) else json.dumps(value)


class OriginWaits:
    """Origins that asked to be left alone, and for how long still. One thread.

    As source events they go both ways: a reader tells the enumerator what its server said, and the enumerator
    tells the readers of other lists of that server.

    Args:
        clock: monotonic time. Events tell durations, since clocks differ.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._until_ms: dict[str, int] = {}
        self._said_ms: dict[str, int] = {}

    @staticmethod
    def is_event(event: JsonValue) -> TypeGuard[JsonObject]:
        """Whether an event is one of these."""
        return isinstance(event, dict) and _ORIGIN in event

    @staticmethod
    def event(server: str, wait_ms: int) -> JsonObject:
        """Return an origin as it is shown."""
        return {_ORIGIN: server, _WAIT: wait_ms}

    @staticmethod
    def text(event: JsonObject) -> str:
        """Return an event in words."""
        return f"{event[_ORIGIN]} asks to be left alone for {event[_WAIT]} ms"

    def take(self, event: JsonObject) -> bool:
        """Take an event. The later end of two waits counts.

        Returns:
            Whether this is worth a word: it was not said within the last minute.
        """
        server = str(event[_ORIGIN])
        now_ms = self._clock.monotonic_ms()
        until_ms = now_ms + int(str(event[_WAIT]))
        self._until_ms[server] = max(until_ms, self._until_ms.get(server, 0))
        is_news = now_ms >= self._said_ms.get(server, now_ms - _SAID_AGAIN_MS) + _SAID_AGAIN_MS
        if is_news:
            self._said_ms[server] = now_ms
        return is_news

    def left_ms(self, server: str) -> int:
        """Return for how long an origin is to be left alone; 0 if it may be asked."""
        left_ms = self._until_ms.get(server, 0) - self._clock.monotonic_ms()
        if left_ms <= 0:
            self._until_ms.pop(server, None)
        return max(0, left_ms)


_LEGAL: Final = "!#$%&'()*+,/:;=?@[]~-._"
"""Characters that stay in a URL: all others are percent-encoded."""
_MOST_CHARACTERS: Final = 16_384


def absolute(base: str, link: str) -> str:
    """Return where a link leads that stands in the answer of a URL.

    Raises:
        ValueError: it leads nowhere.
    """
    if len(link) > _MOST_CHARACTERS:
        raise ValueError(f"a link has {len(link)} characters: {link[:200]!r}...")
    url = quote(urljoin(base, link.strip()), safe=_LEGAL)
    origin(url)
    return url


def with_parameters(url: str, parameters: Mapping[str, str | tuple[str, ...]]) -> str:
    """Return a URL whose query has these parameters, in place of others of their names.

    One with several values comes as often.
    """
    if not parameters:
        return url
    parts = urlsplit(without_parameters(url, parameters))
    query = "&".join(filter(None, (parts.query, urlencode(parameters, doseq=True))))
    return urlunsplit(parts._replace(query=query))


def without_parameters(url: str, names: Collection[str]) -> str:
    """Return a URL without some parameters of its query. The others stay as they are written."""
    if not names:
        return url
    parts = urlsplit(url)
    pieces = [each for each in parts.query.split("&") if _name(each) not in names]
    return urlunsplit(parts._replace(query="&".join(pieces)))


def parameter(url: str, name: str) -> str | None:
    """Return a parameter of a URL's query, None if it has none of that name."""
    return dict(parse_qsl(urlsplit(url).query, keep_blank_values=True)).get(name)


def hidden(text: str, names: Collection[str]) -> str:
    """Return a text without parameters of these names in the URLs that stand in it."""
    if not names:
        return text
    return re.sub(r"https?://\S+", lambda match: without_parameters(match.group(), names), text)


def _name(text: str) -> str:
    return next((name for name, _ in parse_qsl(text, keep_blank_values=True)), "")
