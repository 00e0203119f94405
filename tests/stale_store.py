"""A store whose listings are ten seconds old, as those of some object stores may be."""

from __future__ import annotations

from bisect import bisect_right

from headwater.core.clock import Clock
from headwater.core.state_store import MemoryStateStore

__all__ = ["STALE_MS", "StaleStore"]

STALE_MS = 10_000


class StaleStore(MemoryStateStore):
    """Objects are there at once; names come into listings, and leave them, ten seconds later.

    Args:
        clock: time.
    """

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self._clock = clock
        self._times: list[int] = []
        self._listed: list[tuple[str, ...]] = []

    def put_if_absent(self, name: str, data: bytes, *, durable: bool = True) -> bytes:
        try:
            return super().put_if_absent(name, data, durable=durable)
        finally:
            self._note()

    def put(self, name: str, data: bytes) -> None:
        super().put(name, data)
        self._note()

    def delete_folder(self, folder: str) -> None:
        super().delete_folder(folder)
        self._note()

    def delete(self, name: str) -> None:
        super().delete(name)
        self._note()

    def list(self, folder: str) -> list[str]:
        at = bisect_right(self._times, self._clock.monotonic_ms() - STALE_MS)
        names = self._listed[at - 1] if at else ()
        below = [name.removeprefix(f"{folder}/") for name in names if name.startswith(f"{folder}/")]
        return sorted({name.partition("/")[0] for name in below})

    def forget_listings(self) -> None:
        """Let nothing be listed that there is now."""
        self._listed = [()] * len(self._listed)

    def _note(self) -> None:
        self._times.append(self._clock.monotonic_ms())
        self._listed.append(tuple(self._objects))
