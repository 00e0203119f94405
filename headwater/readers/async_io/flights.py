"""What is known already, and what is being asked already.

The cache, and one call for equal keys (single flight).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, Generic, TypeVar

from headwater.readers.async_io.cache import MISSING, ResultCache
from headwater.readers.async_io.call import Failure

__all__ = ["Flights"]

Follower = TypeVar("Follower")


class Flights(Generic[Follower]):
    """Who asks first for a key *leads* its flight and lands it; whoever comes meanwhile follows.

    Owned by the loop's thread.
    """

    def __init__(self, cache: ResultCache) -> None:
        self._cache = cache
        self._followers: dict[Hashable, list[Follower]] = {}

    def known(self, key: Hashable, now: float) -> Any:
        """Return the result that is remembered for a key, or MISSING."""
        return self._cache.get(key, now)

    def join(self, key: Hashable, follower: Follower) -> bool:
        """Return whether there is a flight for the key, which is then followed.

        If not, one begins, and whoever asked leads it.
        """
        followers = self._followers.get(key)
        if followers is None:
            self._followers[key] = []
            return False
        followers.append(follower)
        return True

    def land(self, key: Hashable, result: Any, now: float) -> Sequence[Follower]:
        """End a flight, remember its result if it is one (neither MISSING nor a `Failure`), and return those that followed. Once, by the leader."""
        if result is not MISSING and not isinstance(result, Failure):
            self._cache.put(key, result, now)
        return self._followers.pop(key)
