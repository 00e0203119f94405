"""The SourceCoordinator: drives the enumerator and plans batches.

Knows offsets and splits, and nothing of Spark's classes.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, TypeVar

from headwater.connector.assignment import AssignmentTracker
from headwater.connector.coordinator_loop import CoordinatorLoop
from headwater.connector.planned.admission import Admission, ReadLimits
from headwater.connector.planned.offsets import OffsetCodec, SourceOffset
from headwater.connector.planned.planning import PlanningHints, ReadTask, plan_tasks
from headwater.core.clock import Clock, SystemClock
from headwater.core.enumerator import SplitEnumeratorContext
from headwater.core.errors import ContractError
from headwater.core.jsons import JsonObject
from headwater.core.planned_enumerator import PlannedSplitEnumerator, SplitRequest
from headwater.core.planned_source import PlannedSource
from headwater.core.retry import Backoff
from headwater.core.split import Path, PositionT, SplitT

__all__ = ["SourceCoordinator"]

T = TypeVar("T")
log = logging.getLogger(__name__)


class SourceCoordinator(Generic[SplitT, PositionT]):
    """Plans the batches of one query (Flink's ``SourceCoordinator``).

    In Spark's source runner, or in the planner for a batch read.

    The life of a split:

    1. `SplitEnumerator.refresh` finds it and assigns it, with its first position. In memory only.
    2. The next offset logs its definition, the position before the batch (``starts``) and after it. Spark
       writes the offset before any task
       runs: the barrier. From here on the position belongs to the checkpoint.
    3. Each further offset moves the position, as far as heads and limits allow.
    4. When Spark asks for the batch after an offset, that offset is committed: the enumerator is notified.
    5. The enumerator retires it: it is missing from the next offset.

    Public methods are called by Spark's one thread; whatever they do to the enumerator happens on the
    coordinator thread. An offset goes in and comes out as Spark's JSON; nothing that matters lives between
    two calls in memory only, except the target of an AvailableNow run.

    Args:
        source: what to read.
        limits: of one batch.
        hints: for the cutting into tasks.
        backoff: how long to go on asking an outside that is away.
        clock: time.
    """

    def __init__(
        self,
        source: PlannedSource[Any, SplitT, PositionT],
        limits: ReadLimits,
        hints: PlanningHints,
        backoff: Backoff,
        clock: Clock | None = None,
    ) -> None:
        clock = clock or SystemClock()
        self._source, self._hints = source, hints
        self._codec = OffsetCodec(source)
        self._loop = CoordinatorLoop(backoff, clock)
        self._context: _Context[SplitT, PositionT] = _Context(self._loop)
        self._admission = Admission(limits, clock)
        self._tracker: AssignmentTracker[SplitT] = AssignmentTracker()
        self._enumerator: PlannedSplitEnumerator[SplitT, PositionT] | None = None
        self._notified: JsonObject | None = None
        self._available_now = False
        self._target: dict[SplitT, PositionT] | None = None

    def initial_offset(self) -> JsonObject:
        """Return the genesis. No I/O."""
        return self._codec.genesis()

    def prepare_for_available_now(self) -> None:
        """From now on nothing is read beyond what is there at the next `plan_next`.

        No I/O: the target is captured there.
        """
        self._available_now, self._target = True, None

    def plan_next(self, start: JsonObject, *, limited: bool) -> JsonObject:
        """Return where the batch after ``start`` ends; ``start`` itself if there is nothing to do.

        No record to read, no split that leaves or moves.

        That Spark asks proves that ``start`` is committed. The first answer of a query is never the genesis:
        what "latest" means is resolved here and logged, even if the batch is empty.

        Args:
            start: the last logged offset, or the genesis.
            limited: whether the limits of one batch count.

        Raises:
            OffsetError: the checkpoint is not ours.
            SourceError: what the outside said, after all retries.
        """
        before = self._codec.decode(start)
        self._look(start, before, SplitRequest(limited, self._available_now or not limited))
        return self._loop.run(lambda: self._plan(start, before, limited=limited))

    def plan_all(self) -> list[ReadTask[SplitT, PositionT]]:
        """Return the tasks of a batch read.

        From the first position of every split to its head, without limits.
        """
        self._look(self._codec.genesis(), None, SplitRequest(limited=False, ends=True))
        end = self._loop.run(
            lambda: self._codec.encode(self._next_offset(None, limited=False, wait_for_more=False)[0])
        )
        return self.tasks(self._codec.genesis(), end)

    def tasks(self, start: JsonObject, end: JsonObject) -> list[ReadTask[SplitT, PositionT]]:
        """Return the tasks that read a logged batch: a pure function of its two offsets and the options.

        No I/O.
        """
        after = self._codec.decode(end)
        if after is None:
            return []
        ranges = after.ranges_since(self._codec.decode(start))
        row_bytes = {piece.split.path: self._source.row_bytes(piece.split, after.state) for piece in ranges}
        return plan_tasks(self._source, ranges, row_bytes, self._hints)

    def latest(self) -> JsonObject | None:
        """Return the heads as of the last look, in the form of an offset; None before the first. No I/O."""
        heads = self._context.heads
        return self._codec.encode_positions(heads) if heads else None

    def commit(self, end: JsonObject) -> None:
        """Spark says that a batch is committed (one batch late, and never for the last one)."""
        after = self._codec.decode(end)
        if after is not None:
            self._loop.run(lambda: self._notify_complete(end, after))

    def close(self) -> None:
        """End the threads and close the enumerator, as far as there is time."""
        enumerator, self._enumerator = self._enumerator, None
        self._loop.close(enumerator.close if enumerator else lambda: None)

    def _look(
        self, start: JsonObject, before: SourceOffset[SplitT, PositionT] | None, request: SplitRequest
    ) -> None:
        """Let the enumerator look at the outside and assign splits, and wait until it has."""
        self._loop.run(lambda: self._begin_round(start, before))
        self._loop.wait_idle()
        self._loop.run(lambda: self._request_splits(request))
        self._loop.wait_idle()

    def _begin_round(self, start: JsonObject, before: SourceOffset[SplitT, PositionT] | None) -> None:
        if self._enumerator is None:
            self._enumerator = self._make_enumerator(before)
            self._enumerator.start()
        if unlogged := self._tracker.resolve(start):
            self._enumerator.add_splits_back(unlogged)
        if before is not None:
            self._notify_complete(start, before)
        self._context.begin_round()
        self._enumerator.refresh(before.checkpoint() if before else None)

    def _request_splits(self, request: SplitRequest) -> None:
        assert self._enumerator is not None
        self._enumerator.handle_split_request(request)

    def _make_enumerator(
        self, before: SourceOffset[SplitT, PositionT] | None
    ) -> PlannedSplitEnumerator[SplitT, PositionT]:
        if before is None:
            return self._source.create_enumerator(self._context)
        return self._source.restore_enumerator(self._context, before.checkpoint())

    def _notify_complete(self, offset: JsonObject, decoded: SourceOffset[SplitT, PositionT]) -> None:
        if offset != self._notified and self._enumerator is not None:
            self._enumerator.notify_checkpoint_complete(decoded.checkpoint())
            self._notified = offset

    def _plan(
        self, start: JsonObject, before: SourceOffset[SplitT, PositionT] | None, *, limited: bool
    ) -> JsonObject:
        offset, rows = self._next_offset(
            before, limited=limited, wait_for_more=limited and not self._available_now
        )
        if rows == 0 and before is not None and not self._context.changes(before):
            return start
        end = self._codec.encode(offset)
        self._tracker.record(end, [offset.splits[path] for path in offset.starts])
        return end

    def _next_offset(
        self, before: SourceOffset[SplitT, PositionT] | None, *, limited: bool, wait_for_more: bool
    ) -> tuple[SourceOffset[SplitT, PositionT], int]:
        """Return the next offset and how many records the batch up to it reads."""
        assert self._enumerator is not None
        splits, positions, starts = self._context.live(before)
        heads = self._enumerator.heads()
        self._context.heads = heads
        state = self._enumerator.snapshot_state()
        bounded = self._bounded(splits, heads)
        behind = [path for path in sorted(positions) if path in bounded]
        backlog = [self._source.rows_between(positions[path], bounded[path]) for path in behind]
        row_bytes = [self._source.row_bytes(splits[path], state) for path in behind]
        taken = (
            backlog
            if self._source.bounded_splits
            else self._admission.admit(backlog, row_bytes, limited=limited, wait_for_more=wait_for_more)
        )
        for path, rows in zip(behind, taken, strict=True):
            if rows:
                positions[path] = self._advance(path, positions[path], rows, bounded[path])
        return SourceOffset(splits, positions, starts, state), sum(taken)

    def _advance(self, path: Path, position: PositionT, rows: int, head: PositionT) -> PositionT:
        after = self._source.position_after(position, rows, head)
        if self._source.rows_between(position, after) <= 0:
            raise ContractError(
                f"Source.position_after of {self._source.name!r} must move forward: split {'-'.join(path)} went from {position} to {after} "
                f"for {rows} rows"
            )
        return after

    def _bounded(
        self, splits: Mapping[Path, SplitT], heads: Mapping[Path, PositionT]
    ) -> Mapping[Path, PositionT]:
        """Return the heads, and under AvailableNow none beyond what was there when the run began."""
        if not self._available_now or self._source.bounded_splits:
            return heads
        if self._target is None:
            self._target = {splits[path]: head for path, head in heads.items() if path in splits}
        bounded = {}
        for path, split in splits.items():
            if split in self._target and path in heads:
                target, head = self._target[split], heads[path]
                bounded[path] = target if self._source.rows_between(target, head) > 0 else head
        return bounded


class _Context(SplitEnumeratorContext[SplitT, PositionT]):
    """What the enumerator said since the round began."""

    def __init__(self, loop: CoordinatorLoop) -> None:
        self._loop = loop
        self._assigned: dict[Path, tuple[SplitT, PositionT]] = {}
        self._retired: dict[Path, str] = {}
        self.heads: Mapping[Path, PositionT] = {}

    def begin_round(self) -> None:
        self._assigned, self._retired = {}, {}

    def call_async(self, call: Callable[[], T], handler: Callable[[T], None], *, what: str) -> None:
        self._loop.call_async(call, handler, what=what)

    def assign_splits(self, starts: Mapping[Path, tuple[SplitT, PositionT]]) -> None:
        for path, (split, start) in starts.items():
            if split.path != path:
                raise ContractError(
                    f"SplitEnumeratorContext.assign_splits: split {split.split_id} was assigned under the path {path}"
                )
            self._assigned[path] = (split, start)
            self._retired.pop(path, None)

    def retire_splits(self, paths: Sequence[Path], reason: str) -> None:
        for path in paths:
            self._assigned.pop(path, None)
            self._retired[path] = reason
            log.info("split %s leaves the query: %s", "-".join(path), reason)

    def changes(self, before: SourceOffset[SplitT, PositionT]) -> bool:
        """Whether a split of the offset before leaves, or begins elsewhere.

        That is work even if there is nothing to read: it must be logged.
        """
        moved = any(
            path in before.splits and before.splits[path] != split
            for path, (split, _) in self._assigned.items()
        )
        reset = any(
            path in before.positions and before.positions[path] != start
            for path, (_, start) in self._assigned.items()
        )
        return moved or reset or any(path in before.splits for path in self._retired)

    def live(
        self, before: SourceOffset[SplitT, PositionT] | None
    ) -> tuple[dict[Path, SplitT], dict[Path, PositionT], dict[Path, PositionT]]:
        """Return the splits of the next offset, their positions, and the first positions of those that are new in it."""
        splits = dict(before.splits) if before else {}
        positions = dict(before.positions) if before else {}
        for path in self._retired:
            splits.pop(path, None)
            positions.pop(path, None)
        starts = {path: start for path, (_, start) in self._assigned.items()}
        splits.update((path, split) for path, (split, _) in self._assigned.items())
        return splits, {**positions, **starts}, starts
