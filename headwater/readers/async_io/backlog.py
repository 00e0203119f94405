"""Calls that wait for a worker: first come, first served, or one after the other for each key.

Owned by the loop's thread.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterable, Iterator

from headwater.readers.async_io.call import Call

__all__ = ["Backlog", "KeyedBacklog"]


class Backlog:
    """First come, first served."""

    def __init__(self) -> None:
        self._ready: deque[Call] = deque()

    def __len__(self) -> int:
        """Return how many calls could start now."""
        return len(self._ready)

    def __iter__(self) -> Iterator[Call]:
        return iter(self._ready)

    def put(self, calls: Iterable[Call]) -> None:
        """Append new calls."""
        self._ready.extend(calls)

    def put_first(self, call: Call) -> None:
        """Let a call that is asked again go before those that were never asked."""
        self._ready.appendleft(call)

    def take(self) -> Call | None:
        """Remove and return the next call that may start, or None."""
        return self._ready.popleft() if self._ready else None

    def release(self, call: Call) -> bool:
        """A call is settled and does not run any longer: once per call.

        Return whether another may start for that reason.
        """
        return False


class KeyedBacklog(Backlog):
    """At most one call of a key is anywhere between `take` and `release`.

    The others of its key are parked and hold nobody else up.
    """

    def __init__(self) -> None:
        super().__init__()
        self._parked: dict[Hashable, deque[Call]] = {}

    def __iter__(self) -> Iterator[Call]:
        yield from self._ready
        for parked in self._parked.values():
            yield from parked

    def put(self, calls: Iterable[Call]) -> None:
        for call in calls:
            parked = self._parked.get(call.key)
            if parked is None:
                self._parked[call.key] = deque()
                self._ready.append(call)
            else:
                parked.append(call)

    def release(self, call: Call) -> bool:
        parked = self._parked[call.key]
        if not parked:
            del self._parked[call.key]
            return False
        self._ready.append(parked.popleft())
        return True
