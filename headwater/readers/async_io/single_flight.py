"""Single flight: one call for all rows with equal keys, beside the results that are known already."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, Generic, TypeVar

from headwater.readers.async_io.call import Failure
from headwater.readers.async_io.result_cache import MISSING, ResultCache

Follower = TypeVar("Follower")


class SingleFlight(Generic[Follower]):
    """Which keys are being asked for, and who waits for them besides the caller.

    The first to ask for a key *leads* its flight: it makes the call and lands the flight. Those that ask for
    the same key before that *follow* it: they make no call.

    Owned by the loop's thread.

    Args:
        cache: where results of flights are remembered.
    """

    def __init__(self, cache: ResultCache) -> None:
        self._cache = cache
        self._followers: dict[Hashable, list[Follower]] = {}

    def known(self, key: Hashable, now: float) -> Any:
        """Return the result that is remembered for a key, or MISSING."""
        return self._cache.get(key, now)

    def join(self, key: Hashable, follower: Follower) -> bool:
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

    def land(self, key: Hashable, result: Any, now: float) -> Sequence[Follower]:
        """End a flight and return its followers. Once per flight, by its leader.

        Args:
            key: of the flight.
            result: remembered, unless it is MISSING or a `Failure`.
            now: the time in seconds.
        """
        if result is not MISSING and not isinstance(result, Failure):
            self._cache.put(key, result, now)
        return self._followers.pop(key)
