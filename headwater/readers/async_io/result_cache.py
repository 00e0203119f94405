"""Results that this process knows already."""

from __future__ import annotations

import enum
import math
import threading
from collections import OrderedDict
from collections.abc import Hashable
from typing import Any, Final, Literal

from headwater.readers.async_io.settings import CacheSettings


class Missing(enum.Enum):
    """Says that there is no entry, which is not the same as the result "no rows"."""

    MISSING = "missing"


MISSING: Final = Missing.MISSING


class ResultCache:
    """The most recently used results, each for a while (LRU with TTL).

    Owned by the loop's thread. Has no clock: callers pass the time.
    """

    def __init__(self, settings: CacheSettings) -> None:
        self._size = settings.size
        self._ttl_s = _seconds(settings.ttl_ms)
        self._negative_ttl_s = (
            self._ttl_s if settings.negative_ttl_ms is None else _seconds(settings.negative_ttl_ms)
        )
        self._entries: OrderedDict[Hashable, tuple[Any, float]] = OrderedDict()

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
        if self._size == 0 or ttl_s <= 0:
            return
        self._entries[key] = (result, now + ttl_s)
        self._entries.move_to_end(key)
        if len(self._entries) > self._size:
            self._entries.popitem(last=False)


_KEPT = 8
_kept: OrderedDict[Hashable, ResultCache] = OrderedDict()
# Tasks of one process may open operators on several threads at once.
_lock = threading.Lock()


def kept_cache(share_id: Hashable, settings: CacheSettings) -> ResultCache:
    """Return the cache that the tasks of a job share in this process. From any thread.

    It lives until so many other jobs (``_KEPT``) have asked for theirs since.
    """
    with _lock:
        cache = _kept.get(share_id)
        if cache is None:
            cache = ResultCache(settings)
            _kept[share_id] = cache
        _kept.move_to_end(share_id)
        while len(_kept) > _KEPT:
            _kept.popitem(last=False)
        return cache


def _seconds(ms: int | None) -> float:
    return math.inf if ms is None else ms / 1000
