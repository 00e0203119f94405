"""Results that are known already: in this process, and in a store that many processes share."""

from __future__ import annotations

import enum
from collections import OrderedDict
from collections.abc import Hashable
from typing import Any, Final, Literal

from readers.async_io.settings import CacheSettings

__all__ = ["MISSING", "Missing", "ResultCache"]


class Missing(enum.Enum):
    """Says that there is no entry, which "no rows" is not."""

    MISSING = "missing"


MISSING: Final = Missing.MISSING


class ResultCache:
    """The most recently used results, each for a while (LRU with TTL). Owned by the loop's thread; knows no clock, is told the time."""

    def __init__(self, settings: CacheSettings) -> None:
        self._size = settings.size
        self._ttl_s = _seconds(settings.ttl_ms)
        self._negative_ttl_s = self._ttl_s if settings.negative_ttl_ms is None else _seconds(settings.negative_ttl_ms)
        self._entries: OrderedDict[Hashable, tuple[Any, float]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, key: Hashable, now: float) -> Any | Literal[Missing.MISSING]:
        """Return the result of a key, or MISSING."""
        entry = self._entries.get(key)
        if entry is None:
            return MISSING
        result, expires = entry
        if now >= expires:
            del self._entries[key]
            return MISSING
        self._entries.move_to_end(key)
        return result

    def put(self, key: Hashable, result: Any, now: float) -> None:
        """Remember a result."""
        ttl_s = self._negative_ttl_s if result is None or result == [] else self._ttl_s
        if self._size and ttl_s > 0:
            self._entries[key] = result, now + ttl_s
            self._entries.move_to_end(key)
            if len(self._entries) > self._size:
                self._entries.popitem(last=False)


def _seconds(ms: int | None) -> float:
    return float("inf") if ms is None else ms / 1000
