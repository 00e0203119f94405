"""The limits of each batch of a query that wants its batches to take a certain time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from headwater.connector.planned.batch_duration import FIRST_BATCH_BYTES, BatchSize, TargetDuration
from headwater.connector.planned.batch_times import BatchTimes, LoggedTimes, TimesBetweenPlans
from headwater.core.clock import Clock
from headwater.core.enumerator import SplitRequest
from headwater.core.jsons import JsonObject


class BatchPace:
    """Joins the size of batches with the times that they take. Called by Spark's one thread.

    Args:
        target: what the user asks for.
        clock: time.
        wall_ms: the wall-clock time in ms since 1970.
    """

    def __init__(self, target: TargetDuration, clock: Clock, wall_ms: Callable[[], int]) -> None:
        self._size = BatchSize(target.target_ms)
        self._times: BatchTimes = (
            LoggedTimes(target.checkpoint)
            if target.checkpoint is not None
            else TimesBetweenPlans(target.trigger_interval_ms or 0, clock, wall_ms)
        )
        self._planned: tuple[JsonObject, int] | None = None

    def committed(self, end: JsonObject) -> None:
        """Spark asks for the batch after this offset: if it is that of the last batch, learn from it."""
        if self._planned is None or self._planned[0] != end:
            return
        rows = self._planned[1]
        # Spark asks again and again while there is nothing new.
        self._planned = None
        took = self._times.took(end)
        if took is not None:
            self._size.learn(rows, took)

    def limited(self, request: SplitRequest) -> SplitRequest:
        """Return what the next batch may have; the limits of the user stay hard."""
        rows = self._size.rows
        if rows is None:
            most_bytes = min(FIRST_BATCH_BYTES, request.max_bytes or FIRST_BATCH_BYTES)
            return replace(request, max_bytes=most_bytes)
        return replace(request, max_rows=min(rows, request.max_rows or rows))

    def planned(self, end: JsonObject, rows: int) -> None:
        """A batch has been planned."""
        if rows:
            self._planned = end, rows
            self._times.planned()
