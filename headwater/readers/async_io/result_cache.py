"""Results that this process knows already, and single flight: one call for all rows with equal keys."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Hashable, Sequence
from functools import partial
from typing import Any, Final

from headwater.readers.async_io.call import Failure
from headwater.readers.async_io.settings import CacheSettings
from headwater.readers.async_io.shared_functions import KeptByJob

MISSING: Final = object()
"""Says that there is no entry, which is not the same as the result "no rows"."""


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

    def get(self, key: Hashable, now: float) -> Any:
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


_kept: KeptByJob[ResultCache] = KeptByJob()


def kept_cache(share_id: Hashable, settings: CacheSettings) -> ResultCache:
    """Return the cache that the tasks of a job share in this process. From any thread."""
    return _kept.of(share_id, partial(ResultCache, settings))


def _seconds(ms: int | None) -> float:
    return math.inf if ms is None else ms / 1000


class SingleFlight:
    """Which keys are being asked for, and who waits for them besides the caller.

    The first to ask for a key *leads* its flight: it makes the call and lands the flight. Others that ask for
    the same key before that *follow* it: they make no call.

    Owned by the loop's thread.

    Args:
        cache: where results of flights are remembered.
    """

    def __init__(self, cache: ResultCache) -> None:
        self.cache = cache
        self._followers: dict[Hashable, list[Any]] = {}

    def join(self, key: Hashable, follower: Any) -> bool:
        """Follow the flight for a key, or begin one.

        Returns:
            True if there was one, which ``follower`` now follows; False if one begins, which ``follower``
            leads.
        """
        followers = self._followers.get(key)
        if followers is None:
            self._followers[key] = []
            return False
        followers.append(follower)
        return True

    def land(self, key: Hashable, result: Any, now: float) -> Sequence[Any]:
        """End a flight and return its followers. Once per flight, by its leader.

        Args:
            key: of the flight.
            result: remembered, unless it is MISSING or a `Failure`.
            now: the time in seconds.
        """
        if result is not MISSING and not isinstance(result, Failure):
            self.cache.put(key, result, now)
        return self._followers.pop(key)
