"""Calls that wait for a worker: first come, first served, or one after the other for each key."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterable, Iterator

from headwater.readers.async_io.call import Call


class CallQueue:
    """First come, first served. Owned by the loop's thread."""

    def __init__(self) -> None:
        self._ready: deque[Call] = deque()

    def __len__(self) -> int:
        """Return how many calls could start now."""
        return len(self._ready)

    def __iter__(self) -> Iterator[Call]:
        """Yield all calls that wait, those that could not start now included."""
        return iter(self._ready)

    def put(self, calls: Iterable[Call]) -> None:
        """Append new calls."""
        self._ready.extend(calls)

    def put_first(self, call: Call) -> None:
        """Put a call that is asked again before those that were never asked."""
        self._ready.appendleft(call)

    def take(self) -> Call | None:
        """Remove and return the next call that may start, or None."""
        return self._ready.popleft() if self._ready else None

    def release(self, call: Call) -> bool:
        """Note that a call has its result and does not run any longer. Once per call.

        Returns:
            Whether another call may start for that reason.
        """
        return False


class KeyedCallQueue(CallQueue):
    """At most one call of a key is anywhere between `take` and `release`.

    The other calls of its key are blocked and hold up no other key.
    """

    def __init__(self) -> None:
        super().__init__()
        # A key is here from its first call's `put` to its last call's `release`.
        self._blocked: dict[Hashable, deque[Call]] = {}

    def __iter__(self) -> Iterator[Call]:
        yield from self._ready
        for blocked in self._blocked.values():
            yield from blocked

    def put(self, calls: Iterable[Call]) -> None:
        for call in calls:
            blocked = self._blocked.get(call.key)
            if blocked is None:
                self._blocked[call.key] = deque()
                self._ready.append(call)
            else:
                blocked.append(call)

    def release(self, call: Call) -> bool:
        blocked = self._blocked[call.key]
        if not blocked:
            del self._blocked[call.key]
            return False
        self._ready.append(blocked.popleft())
        return True
