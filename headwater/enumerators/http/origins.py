"""Origins: the servers behind URLs, and which of them asked to be left alone."""

from __future__ import annotations

from typing import Final, TypeGuard
from urllib.parse import urlsplit

from headwater.core.clock import Clock
from headwater.core.jsons import JsonObject, JsonValue

_PORTS: Final = {"http": 80, "https": 443}
_ORIGIN: Final = "leaveAlone"
_WAIT: Final = "forMs"
_SAID_AGAIN_MS: Final = 60_000


def origin(url: str) -> str:
    """Return scheme, host and port of a URL: what credentials are given for.

    Raises:
        ValueError: it is no http:// or https:// URL with a host.
    """
    parts = urlsplit(url)
    if parts.scheme not in _PORTS or not parts.hostname:
        raise ValueError(f"{url[:200]!r} is no http:// or https:// URL")
    return f"{parts.scheme}://{parts.hostname}:{parts.port or _PORTS[parts.scheme]}"


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
        """Return what is told of an origin."""
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
