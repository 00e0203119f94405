"""Losses that only tasks have found, on their way into the next offset."""

from __future__ import annotations

import threading
from collections.abc import Iterable

from headwater.core.jsons import JsonObject
from headwater.core.losses import LostRange


class TaskLosses:
    """Holds what tasks reported until an offset that counts it is committed.

    In memory only: what is not logged when the driver dies is not counted.
    """

    def __init__(self) -> None:
        # Guards both fields: reports come on a thread of their own, plans on the coordinator's callers'.
        self._lock = threading.Lock()
        self._waiting: list[LostRange] = []
        self._planned: tuple[JsonObject, int] | None = None

    def add(self, found: Iterable[LostRange]) -> None:
        """Take a report. Any thread."""
        with self._lock:
            self._waiting += found

    def waiting(self, start: JsonObject) -> list[LostRange]:
        """Return what no committed offset counts yet.

        Args:
            start: the committed offset. If it is the one that was planned last, what it counts is forgotten
                here; if it is not, that plan was given up, and what it counted is counted again.
        """
        with self._lock:
            if self._planned is not None and self._planned[0] == start:
                del self._waiting[: self._planned[1]]
            self._planned = None
            return list(self._waiting)

    def planned(self, end: JsonObject, count: int) -> None:
        """Note that an offset counts so many, the first ones, of what waits."""
        with self._lock:
            self._planned = (end, count)
