"""What is known already, and what is being asked already: the cache, and one call for equal keys (single flight)."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from readers.async_io.cache import MISSING, ResultCache
from readers.async_io.call import Call, Failure

__all__ = ["Flights"]


class Flights:
    """A call *leads* the flight of its key, or joins it. Owned by the loop's thread."""

    def __init__(self, cache: ResultCache) -> None:
        self._cache = cache
        self._followers: dict[Hashable, list[Call]] = {}

    def admit(self, call: Call, now: float) -> Any:
        """Return the known result of a call's key, or MISSING: the call then leads (``call.leads``), or is settled with the one that leads."""
        result = self._cache.get(call.cache_key, now)
        if result is MISSING:
            followers = self._followers.get(call.cache_key)
            if followers is None:
                self._followers[call.cache_key] = []
                call.leads = True
            else:
                followers.append(call)
        return result

    def land(self, call: Call, result: Any = MISSING, now: float = 0.0) -> Sequence[Call]:
        """End the flight that a call leads, remember its result if it is one, and return those that joined."""
        if not call.leads:
            return ()
        call.leads = False
        if result is not MISSING and not isinstance(result, Failure):
            self._cache.put(call.cache_key, result, now)
        return self._followers.pop(call.cache_key)
