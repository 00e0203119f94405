"""The next batch of a query in planned mode: how far it reads each split."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import Any, Generic

from headwater.connector.coordination.round_context import PlannedRoundContext
from headwater.connector.planned.admission import (
    Admission,
    AvailableNowTarget,
    ReadLimits,
    all_bounded,
    backlog_metrics,
)
from headwater.connector.planned.batch_sizing import BatchSizing
from headwater.connector.planned.offsets import PlannedOffset
from headwater.core.clock import Clock
from headwater.core.enumerator import PlannedSplitEnumerator, SplitRequest
from headwater.core.errors import ContractError
from headwater.core.identity_cache import IdentityCache
from headwater.core.jsons import JsonObject, JsonValue
from headwater.core.metrics import MetricValues
from headwater.core.planned_source import PlannedSource
from headwater.core.split import PositionT, SplitPath, SplitT


class NextBatch(Generic[SplitT, PositionT]):
    """Decides how far the next batch reads each split: by the heads, the limits and the enumerator's bounds.

    Args:
        source: the source.
        limits: of one batch.
        context: knows the splits of the round.
        clock: time.
        wall_ms: the wall-clock time in ms since 1970.

    Attributes:
        available_now: the end of such a run.
        heads: as of the last look.
        fronts_ms: the event-time frontiers of then, where they are known.
        backlog: the metrics of what was there then and is not planned. None before the first look.
        counts_bytes: whether all positions count bytes.
    """

    def __init__(
        self,
        source: PlannedSource[Any, SplitT, PositionT],
        limits: ReadLimits,
        context: PlannedRoundContext[SplitT, PositionT],
        clock: Clock,
        wall_ms: Callable[[], int],
    ) -> None:
        self._source = source
        self._limits = limits
        self._context = context
        self._clock = clock
        self._admission = Admission(limits, clock)
        self._sizing = (
            BatchSizing(limits.target, source, clock, wall_ms) if limits.target is not None else None
        )
        self._in_order: IdentityCache[[Mapping[SplitPath, SplitT]], list[SplitPath]] = IdentityCache(sorted)
        self.available_now = AvailableNowTarget(source)
        self.heads: Mapping[SplitPath, PositionT] = {}
        self.fronts_ms: Mapping[SplitPath, int] = {}
        self.backlog: MetricValues | None = None
        self.counts_bytes = False
        self._busy_ms = clock.monotonic_ms()

    def idle_ms(self) -> int:
        """Return how long ago a batch was planned that reads something."""
        return self._clock.monotonic_ms() - self._busy_ms

    def committed(self, end: JsonObject) -> None:
        """Spark asks for the batch after this offset."""
        if self._sizing is not None:
            self._sizing.committed(end)

    def planned(
        self, end: JsonObject, splits: Mapping[SplitPath, SplitT], admitted: Mapping[SplitPath, int]
    ) -> None:
        """A batch has been planned: see `BatchSizing.planned`."""
        if self._sizing is not None:
            self._sizing.planned(end, splits, admitted)

    def request(self, *, limited: bool) -> SplitRequest:
        """Return the request for the next batch; without limits where Spark does not want any."""
        request = SplitRequest(limited, ends=self.available_now.is_on or not limited)
        if not limited:
            return request
        limits = self._limits
        return replace(
            request, max_rows=limits.max_rows, max_bytes=limits.max_bytes, max_rows_of=limits.max_rows_of
        )

    def paced(self, request: SplitRequest, splits: Mapping[SplitPath, SplitT]) -> SplitRequest:
        """Return a request whose batch of these splits takes about as long as the user wants."""
        if self._sizing is None or not request.limited:
            return request
        return self._sizing.limited(request, splits)

    def offset(
        self,
        enumerator: PlannedSplitEnumerator[SplitT, PositionT],
        start_offset: PlannedOffset[SplitT, PositionT] | None,
        request: SplitRequest,
    ) -> tuple[PlannedOffset[SplitT, PositionT], Mapping[SplitPath, int]]:
        """Return the next offset, and how many records its batch reads of which split, none of them 0.

        On the coordinator thread.
        """
        splits, positions = self._context.live(start_offset.checkpoint() if start_offset else None)
        ended = self.ended(start_offset)
        heads = enumerator.heads()
        # Nothing of a split that ended at a record is behind it.
        self.heads = {path: head for path, head in heads.items() if path not in ended} if ended else heads
        state = enumerator.snapshot_state()
        ends = self.available_now.ends(self.heads, splits)
        bounds = enumerator.bounds()
        self.fronts_ms = enumerator.fronts_ms()
        behind = {
            path: self._source.rows_between(positions[path], ends[path])
            for path in self._in_order(splits)
            if path in ends
        }
        admitted = self._admitted(behind, splits, state, request, is_bound=bounds is not None)
        read = self._moved(positions, behind, admitted, ends, bounds)
        if read:
            self._busy_ms = self._clock.monotonic_ms()
        offset = PlannedOffset(splits, positions, self._context.starts(), state)
        self.backlog = backlog_metrics(
            self._source,
            offset,
            self.heads,
            enumerator.unassigned(),
            enumerator.gauges(),
            is_read=bool(read),
        )
        self.counts_bytes = bool(splits) and all(map(self._source.counts_bytes, splits.values()))
        return offset, read

    def _admitted(
        self,
        behind: Mapping[SplitPath, int],
        splits: Mapping[SplitPath, SplitT],
        state: JsonValue,
        request: SplitRequest,
        *,
        is_bound: bool,
    ) -> Collection[int]:
        """Return how many records the limits admit of each split that is behind."""
        # No split, or one that is not read whole: then none is, but where everything is read anyway.
        if self._source.bounded_splits or all_bounded(self._source, splits):
            return behind.values()
        return self._admission.admit(
            list(behind.values()),
            lambda: [self._source.row_bytes(splits[path], state) for path in behind],
            lambda: [self._source.group_of(path) for path in behind],
            # Bounds keep the limits already. Splits of the next part of a chain may have come.
            SplitRequest(limited=False, ends=request.ends) if is_bound else self.paced(request, splits),
            wait_for_more=request.limited and not self.available_now.is_on,
        )

    def _moved(
        self,
        positions: dict[SplitPath, PositionT],
        behind: Mapping[SplitPath, int],
        admitted: Collection[int],
        ends: Mapping[SplitPath, PositionT],
        bounds: Mapping[SplitPath, PositionT] | None,
    ) -> Mapping[SplitPath, int]:
        """Move the positions of the splits that are read, and return how many records of each."""
        rows_between = self._source.rows_between
        read = {}
        for (path, all_rows), rows in zip(behind.items(), admitted, strict=True):
            position = positions[path]
            bound = ends[path] if bounds is None else bounds.get(path, ends[path])
            moved = rows if bounds is None else min(rows, rows_between(position, bound))
            if not moved:
                continue
            read[path] = moved
            if moved == all_rows:
                positions[path] = ends[path]
            elif moved == rows_between(position, bound):
                positions[path] = bound
            else:
                positions[path] = self._advance(path, position, moved, ends[path])
        return read

    def ended(self, start_offset: PlannedOffset[SplitT, PositionT] | None) -> AbstractSet[SplitPath]:
        """Return the splits that have ended at a record, without those that another one replaces now."""
        ended = start_offset.ended if start_offset else frozenset()
        return ended - self._context.starts().keys() if ended else ended

    def _advance(self, path: SplitPath, position: PositionT, rows: int, head: PositionT) -> PositionT:
        next_position = self._source.position_after(position, rows, head)
        # A position that stands still would be planned again and again, each time as a batch of some rows.
        if self._source.rows_between(position, next_position) <= 0:
            raise ContractError(
                f"PlannedSource.position_after of {self._source.name!r} must move forward: "
                f"split {'-'.join(path)} went from {position} to {next_position} for {rows} rows"
            )
        return next_position
