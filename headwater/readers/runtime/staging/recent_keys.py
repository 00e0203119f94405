"""The keys of the last messages, by which a second delivery of one of them is told."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


class RecentKeys:
    """A window over the keys in the order in which they came.

    Args:
        most: how many keys are kept.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._keys: dict[bytes, None] = {}

    def add(self, keys: Iterable[bytes | None]) -> None:
        """Note the keys of messages that are durable."""
        for key in keys:
            if key is not None:
                self._keys.pop(key, None)
                self._keys[key] = None
        while len(self._keys) > self._most:
            del self._keys[next(iter(self._keys))]

    def first_deliveries(self, keys: Sequence[bytes | None]) -> list[int]:
        """Return the indices of the messages that are new.

        The key of a new message is neither in the window nor earlier in the same list. A message without a
        key is always new.
        """
        seen: set[bytes] = set()
        fresh = []
        for at, key in enumerate(keys):
            if key is None or (key not in self._keys and key not in seen):
                fresh.append(at)
            if key is not None:
                seen.add(key)
        return fresh
