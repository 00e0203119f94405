"""Losses that tasks reported, until an offset counts them. Loads nothing of the readers: a plan needs it."""

from __future__ import annotations

import threading
from collections.abc import Iterable

from headwater.core.jsons import JsonObject
from headwater.core.losses import LostRange


class TaskLosses:
    """Holds the losses that tasks reported until an offset that counts them is committed.

    In memory only: a loss that is not logged when the driver dies is not counted.
    """

    def __init__(self) -> None:
        # Guards both fields: reports come on a thread of their own, plans on the coordinator's callers'.
        self._lock = threading.Lock()
        self._waiting: list[LostRange] = []
        self._planned: tuple[JsonObject, int] | None = None

    def add(self, losses: Iterable[LostRange]) -> None:
        """Take a report. Any thread."""
        with self._lock:
            self._waiting += losses

    def waiting(self, start: JsonObject) -> list[LostRange]:
        """Return the losses that no committed offset counts yet.

        Args:
            start: the committed offset. If it is the one that was planned last, its losses are dropped here;
                otherwise that plan was given up, and its losses are counted again.
        """
        with self._lock:
            if self._planned is not None and self._planned[0] == start:
                del self._waiting[: self._planned[1]]
            self._planned = None
            return list(self._waiting)

    def planned(self, end: JsonObject, count: int) -> None:
        """Note that an offset counts the first ``count`` losses that wait."""
        with self._lock:
            self._planned = (end, count)
