"""The limits of each batch of a query that wants its batches to take a certain time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Generic

from headwater.connector.planned.batch_duration import FIRST_BATCH_BYTES, BatchSize, TargetDuration
from headwater.connector.planned.batch_times import BatchTimes, LoggedTimes, TimesBetweenPlans
from headwater.core.clock import Clock
from headwater.core.enumerator import SplitRequest
from headwater.core.jsons import JsonObject
from headwater.core.planned_source import PlannedSource
from headwater.core.split import SplitPath, SplitT


@dataclass(frozen=True)
class _Planned:
    """The last batch: its end, how much it reads, and how much its largest split has that is read whole."""

    end: JsonObject
    rows: int
    largest: int


class BatchPace(Generic[SplitT]):
    """Joins the size of batches with the times that they take. Called by one thread at a time.

    Each part of a chain is learned anew: what its rows cost, and what counts there, is another thing.

    Args:
        target: what the user asks for.
        source: counts records, or bytes.
        clock: time.
        wall_ms: the wall-clock time in ms since 1970.
    """

    def __init__(
        self,
        target: TargetDuration,
        source: PlannedSource[Any, SplitT, Any],
        clock: Clock,
        wall_ms: Callable[[], int],
    ) -> None:
        self._target_ms = target.target_ms
        self._source = source
        self._size = BatchSize(target.target_ms)
        self._times: BatchTimes = (
            LoggedTimes(target.checkpoint)
            if target.checkpoint is not None
            else TimesBetweenPlans(target.trigger_interval_ms or 0, clock, wall_ms)
        )
        # What the size is of: a part of a chain, in which bytes are counted or records.
        self._part = 0
        self._in_bytes = False
        self._planned: _Planned | None = None

    def committed(self, end: JsonObject) -> None:
        """Spark asks for the batch after this offset: if it is that of the last batch, learn from it."""
        planned = self._planned
        if planned is None or planned.end != end:
            return
        # Spark asks again and again while there is nothing new.
        self._planned = None
        took = self._times.took(end)
        if took is not None:
            self._size.learn(planned.rows, took, largest=planned.largest)

    def limited(self, request: SplitRequest, splits: Mapping[SplitPath, SplitT]) -> SplitRequest:
        """Return what the next batch may have; the limits of the user stay hard.

        Args:
            request: what the user allows.
            splits: those that are read now.
        """
        first = replace(request, max_bytes=_smaller(FIRST_BATCH_BYTES, request.max_bytes))
        most = self._size.rows
        if most is None or self._part_of(splits) != self._part:
            return first
        if self._in_bytes:
            return replace(request, max_bytes=_smaller(most, request.max_bytes), next_part=first)
        return replace(request, max_rows=_smaller(most, request.max_rows), next_part=first)

    def planned(
        self, end: JsonObject, splits: Mapping[SplitPath, SplitT], taken: Mapping[SplitPath, int]
    ) -> None:
        """A batch has been planned.

        Args:
            end: its offset.
            splits: of this offset.
            taken: how many records it reads, by split; none that are 0.
        """
        if not taken:
            return
        of_batch = {path: splits[path] for path in taken}
        part = self._part_of(of_batch)
        if part != self._part:
            self._part = part
            self._size = BatchSize(self._target_ms)
        self._in_bytes = all(map(self._source.counts_bytes, of_batch.values()))
        whole = (rows for path, rows in taken.items() if self._source.is_bounded(splits[path]))
        self._planned = _Planned(end, sum(taken.values()), max(whole, default=0))
        self._times.planned()

    def _part_of(self, splits: Mapping[SplitPath, SplitT]) -> int:
        """Return the part that is read. When it begins, splits of the one before may still be there."""
        return max(map(self._source.part_of, splits.values()), default=0)


def _smaller(one: int, other: int | None) -> int:
    return one if other is None else min(one, other)
