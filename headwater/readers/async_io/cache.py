"""Results that are known already in this process."""

from __future__ import annotations

import enum
import threading
from collections import OrderedDict
from collections.abc import Hashable
from typing import Any, Final, Literal

from headwater.readers.async_io.settings import CacheSettings

__all__ = ["MISSING", "Missing", "ResultCache", "kept_cache"]


class Missing(enum.Enum):
    """Says that there is no entry, which "no rows" is not."""

    MISSING = "missing"


MISSING: Final = Missing.MISSING


class ResultCache:
    """The most recently used results, each for a while (LRU with TTL).

    Owned by the loop's thread; knows no clock, is told the time.
    """

    def __init__(self, settings: CacheSettings) -> None:
        self._size = settings.size
        self._ttl_s = _seconds(settings.ttl_ms)
        self._negative_ttl_s = (
            self._ttl_s if settings.negative_ttl_ms is None else _seconds(settings.negative_ttl_ms)
        )
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


_KEPT = 8
_kept: OrderedDict[Hashable, ResultCache] = OrderedDict()
_lock = threading.Lock()


def kept_cache(share_id: Hashable, settings: CacheSettings) -> ResultCache:
    """Return the cache that the tasks of a job share in this process, one after the other.

    It lives until so many others were asked for since.
    """
    with _lock:
        cache = _kept.get(share_id)
        if cache is None:
            cache = _kept[share_id] = ResultCache(settings)
        _kept.move_to_end(share_id)
        while len(_kept) > _KEPT:
            _kept.popitem(last=False)
        return cache


def _seconds(ms: int | None) -> float:
    return float("inf") if ms is None else ms / 1000
