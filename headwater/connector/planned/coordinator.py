"""The coordinator of planned mode: decides where a batch ends before it is read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Generic

from headwater.connector.coordination.coordinator import SourceCoordinator, check_logged_schema, described
from headwater.connector.coordination.coordinator_loop import CoordinatorLoop
from headwater.connector.coordination.enumerator_driver import EnumeratorDriver
from headwater.connector.coordination.round_context import PlannedRoundContext
from headwater.connector.planned.admission import ReadLimits
from headwater.connector.planned.next_batch import NextBatch
from headwater.connector.planned.offsets import (
    PlannedOffset,
    PlannedOffsetCodec,
    adopted_batch,
    within_limits,
)
from headwater.connector.planned.planning import PlanningHints, ReadTask, plan_tasks
from headwater.connector.planned.split_ends import SplitEnds
from headwater.connector.planned.task_count import TaskCounts
from headwater.connector.planned.task_notes import BatchNotes
from headwater.connector.planned.task_reports import TaskReports
from headwater.connector.time_column import check_time_column
from headwater.core.clock import Clock, SystemClock, wall_ms
from headwater.core.enumerator import KeptSplit, PlannedSplitEnumerator, SplitRequest
from headwater.core.jsons import JsonObject, JsonValue
from headwater.core.losses import NO_LOSSES, Losses, LostRange
from headwater.core.metrics import IDLE_TIME, RETRIES
from headwater.core.planned_source import PlannedSource
from headwater.core.retry import Backoff
from headwater.core.split import PositionT, SplitPath, SplitRange, SplitT

if TYPE_CHECKING:
    from headwater.connector.planned.event_time_options import WatchedColumn


class PlannedCoordinator(SourceCoordinator[ReadTask[SplitT, PositionT]], Generic[SplitT, PositionT]):
    """Plans the batches of one query in planned mode.

    The life of a split:

    1. `SplitEnumerator.refresh` finds it and assigns it, with its first position. In memory only.
    2. The next offset logs its definition, the position before the batch (``starts``) and after it. Spark
       writes the offset before any task runs. From here on the position belongs to the checkpoint.
    3. Each further offset moves the position, as far as heads and limits allow.
    4. When Spark asks for the batch after an offset, that offset is committed: the enumerator is notified.
    5. It becomes unavailable: the next offset keeps its position, and no batch reads it, until the enumerator
       assigns it there again.
    6. The enumerator retires it: it is missing from the next offset.
    7. A record has ended it (`PlannedSource.end_condition`): the next offset moves its position back to right
       behind that record, where it stays.

    Args:
        source: the source.
        limits: of one batch.
        hints: for the cutting into tasks.
        backoff: how long to go on asking an outside that is away.
        clock: time.
        wall_ms: the wall-clock time in ms since 1970.
        watched: the column of the query's watermark; None if it is not watched.
    """

    def __init__(
        self,
        source: PlannedSource[Any, SplitT, PositionT],
        limits: ReadLimits,
        hints: PlanningHints,
        backoff: Backoff,
        clock: Clock | None = None,
        *,
        wall_ms: Callable[[], int] = wall_ms,
        watched: WatchedColumn | None = None,
    ) -> None:
        clock = clock or SystemClock()
        loop = CoordinatorLoop(backoff, clock)
        context: PlannedRoundContext[SplitT, PositionT] = PlannedRoundContext(loop)
        self._loop = loop
        self._source = source
        self._hints = hints
        self._codec: PlannedOffsetCodec[SplitT, PositionT] = PlannedOffsetCodec(source)
        self._context = context
        self._wall_ms = wall_ms
        self._split_ends = SplitEnds(source)
        self._notes = BatchNotes(source)
        self._reports = TaskReports(source, self._split_ends, watched, wall_ms)
        if watched is not None:
            check_time_column(source, watched.name)
        self._driver: EnumeratorDriver[PlannedSplitEnumerator[SplitT, PositionT]] = EnumeratorDriver(
            loop,
            context,
            create=lambda: source.create_enumerator(context),
            restore=lambda checkpoint: source.restore_enumerator(context, checkpoint),
        )
        self._next = NextBatch(source, limits, context, clock, wall_ms)
        self._task_counts = TaskCounts(clock)

    def initial_offset(self) -> JsonObject:
        return self._codec.genesis()

    def prepare_for_available_now(self) -> None:
        """From now on nothing is read beyond the heads that the next `plan_next` captures."""
        self._next.available_now.begin()

    def plan_next(self, start: JsonObject, *, limited: bool) -> JsonObject:
        """See `SourceCoordinator.plan_next`.

        Nothing to do: no record to read, no split that is new, leaves, is replaced or begins elsewhere, no
        loss, and none that ended at a record. A new split without records is logged, since from now on its
        lost records are a loss; but one that is read once and whole is not, since it has no positions. A
        split that is unavailable, or available again, waits for the next batch: the next discovery finds
        the same.
        """
        self._task_counts.committed(start)
        self._next.committed(start)
        logged_offset = self._decoded(start)
        start_offset, moved = self._split_ends.settled(logged_offset) if logged_offset else (None, {})
        task_losses = self._reports.losses.waiting(start)
        request = self._next.request(limited=limited)
        self._look(start, start_offset, request)
        offset, rows = self._driver.ask(
            lambda enumerator: self._next.offset(enumerator, start_offset, request)
        )
        losses = self._losses(start_offset.losses if start_offset else NO_LOSSES, task_losses)
        # An adopted offset is followed by one of ours in any case: only ours name the definitions of splits.
        # Losses of tasks do not wait for records: they are in memory only, and the query may stop.
        if (
            not rows
            and start_offset
            and not start_offset.adopted
            and not moved
            and losses == start_offset.losses
            and not self._context.changes(start_offset.checkpoint())
            and (self._source.bounded_splits or not self._context.finds(start_offset.checkpoint()))
        ):
            if self._next.available_now.is_on:
                self._driver.request(lambda enumerator: enumerator.notify_end_of_input())
            return start
        assigned = [offset.splits[path] for path in offset.starts]
        # One that ended and leaves at once has no place in the offset.
        ended = {path: position for path, position in moved.items() if path in offset.splits}
        offset = replace(
            offset,
            starts={**ended, **offset.starts},
            kept=self._kept(start_offset),
            losses=losses,
            schema=self._source.logged_schema,
            notes=self._notes.query_of(start_offset),
        )
        offset = replace(
            offset, ends=self._split_ends.logged(start_offset, offset, self._next.ended(start_offset))
        )
        end = self._codec.encode(offset)
        self._reports.losses.planned(end, len(task_losses))
        self._driver.record_plan(end, assigned)
        self._next.planned(end, offset.splits, rows)
        return end

    def plan_all(self) -> list[ReadTask[SplitT, PositionT]]:
        """Return the tasks of a batch read: from the first position of every split to its head.

        A source may leave ends open, which its tasks find (`PlannedSource.leave_open`). So a split without
        records may have a task: there may be some when the task runs.
        """
        genesis = self._codec.genesis()
        request = SplitRequest(limited=False, ends=True)
        self._look(genesis, None, request)
        offset, _ = self._driver.ask(lambda enumerator: self._next.offset(enumerator, None, request))
        self._codec.encode(offset)  # a source that breaks its promises fails here, as it would in a stream
        wholes = {
            path: SplitRange(split, offset.starts[path], offset.positions[path])
            for path, split in sorted(offset.splits.items())
        }
        ranges = [
            whole
            for whole in wholes.values()
            if whole.start != whole.stop or self._source.leave_open(whole, whole) != whole
        ]
        planned = plan_tasks(self._source, ranges, self._row_bytes(ranges, offset.state), self._hints)
        return [
            ReadTask(
                tuple(
                    self._source.leave_open(split_range, wholes[split_range.split.path])
                    for split_range in task.ranges
                ),
                ends_by=self._source.end_condition,
            )
            for task in planned
        ]

    def tasks(self, start: JsonObject, end: JsonObject) -> list[ReadTask[SplitT, PositionT]]:
        end_offset = self._decoded(end)
        if end_offset is None:
            return []
        start_offset = self._decoded(start)
        if end_offset.adopted:
            end_offset = adopted_batch(self._source, start_offset, end_offset)
        ranges = end_offset.ranges_since(start_offset)
        row_bytes = self._row_bytes(ranges, end_offset.state)
        self._reports.begin_batch(ranges, row_bytes)
        ends_by = end_offset.ends.condition if end_offset.ends is not None else None
        notes = self._notes.folder(end_offset)
        tasks = plan_tasks(
            self._source.ending_at(ends_by),
            ranges,
            row_bytes,
            self._hints,
            partial(self._task_counts.choose, end),
            reports_to=self._reports.address(),
            times=self._reports.times,
        )
        if ends_by is None and notes is None:
            return tasks
        self._notes.check_whole(tasks, end_offset)
        return [replace(task, ends_by=ends_by, notes=notes) for task in tasks]

    def latest(self) -> JsonObject | None:
        """Return the heads of the last discovery as an offset, and the fields of `SourceCoordinator`.

        Also the event-time frontiers, where they are known, and ``unit`` if all positions count bytes.
        """
        if self._next.backlog is None:
            return None
        metrics = {**self._next.backlog, RETRIES: self._loop.retries, IDLE_TIME: self._next.idle_ms()}
        report = self._codec.encode_report(self._next.heads, self._next.fronts_ms)
        if self._next.counts_bytes:
            report["unit"] = "bytes"
        return report | described(self._source, self._reports.metrics(metrics))

    def commit(self, end: JsonObject) -> None:
        end_offset = self._codec.decode(end)
        # Where splits may end or leave notes, what is known then is known by the next plan only, which tells
        # the enumerator first.
        if end_offset is not None and end_offset.ends is None and end_offset.notes is None:
            self._driver.notify_complete(end, end_offset.checkpoint())

    def close(self) -> None:
        self._reports.close()
        self._driver.close()

    def _decoded(self, logged: JsonObject) -> PlannedOffset[SplitT, PositionT] | None:
        """Return the offset that Spark logged; None for the genesis.

        Raises:
            OffsetError: it cannot be read, or its schema is another than that of the query.
        """
        offset = self._codec.decode(logged)
        if offset is not None:
            check_logged_schema(self._source, offset.schema)
        return offset

    def _row_bytes(self, ranges: Sequence[SplitRange[SplitT, PositionT]], state: JsonValue) -> list[int]:
        return [self._source.row_bytes(split_range.split, state) for split_range in ranges]

    def _look(
        self, start: JsonObject, start_offset: PlannedOffset[SplitT, PositionT] | None, request: SplitRequest
    ) -> None:
        """Let the enumerator look at the outside and assign splits, and wait until it has."""
        notes = self._notes.committed(start, start_offset)
        self._driver.look(
            start,
            start_offset.checkpoint() if start_offset else None,
            lambda enumerator: enumerator.handle_task_notes(notes) if notes else None,
        )
        paced = self._next.paced(request, start_offset.splits if start_offset else {})
        self._driver.request(lambda enumerator: enumerator.handle_split_request(paced))

    def _kept(
        self, start_offset: PlannedOffset[SplitT, PositionT] | None
    ) -> Mapping[SplitPath, KeptSplit[SplitT, PositionT]]:
        """Return the unavailable splits of the next offset. On Spark's thread, after the round."""
        now_ms = self._wall_ms()
        unavailable = self._context.unavailable(start_offset.checkpoint() if start_offset else None, now_ms)
        return within_limits(
            unavailable, now_ms, source=self._source.name, forgets=self._source.forgets_kept_splits
        )

    def _losses(self, losses_before: Losses, task_losses: Sequence[LostRange]) -> Losses:
        """Return the losses up to the next offset. On Spark's thread, after the round."""
        now_ms = self._wall_ms()
        planned = [
            LostRange("-".join(path), first, until, "planning", now_ms)
            for path, first, until in self._context.losses()
        ]
        losses = losses_before.plus([*task_losses, *planned], self._source.rows_between)
        return losses.plus_splits(self._context.lost_splits(), now_ms)
