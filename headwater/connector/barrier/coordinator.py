"""The coordinator of barrier mode: opens an epoch when a split is due, and takes up its results."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from typing import Any, Final

from headwater.connector.barrier.checkpoints import CheckpointCoordinator, CompletedCheckpoint
from headwater.connector.barrier.due import DueSplits
from headwater.connector.barrier.event_time import EpochAlignment
from headwater.connector.barrier.offsets import EpochId, EpochOffset, EpochOffsetCodec
from headwater.connector.barrier.options import EpochSettings
from headwater.connector.barrier.releasing import release_staged
from headwater.connector.barrier.settlement import Settlement, settle, warn_of_failing
from headwater.connector.barrier.tasks import deal_splits, deal_waiting, epoch_tasks, merged
from headwater.connector.coordination.coordinator import SourceCoordinator, check_logged_schema, described
from headwater.connector.coordination.coordinator_loop import CoordinatorLoop
from headwater.connector.coordination.dealing import SplitTimes
from headwater.connector.coordination.enumerator_driver import EnumeratorDriver
from headwater.connector.coordination.offset_codec import nest
from headwater.connector.coordination.round_context import BarrierRoundContext
from headwater.core.barrier_source import BarrierSource
from headwater.core.clock import Clock, SystemClock, wall_ms
from headwater.core.enumerator import BarrierSplitEnumerator
from headwater.core.epoch import Barrier, WaitingSplits
from headwater.core.jsons import JsonObject
from headwater.core.metrics import (
    BACKLOG,
    IDLE_TIME,
    PENDING_RECORDS,
    RETRIES,
    UNASSIGNED_SPLITS,
    ReportedMetrics,
)
from headwater.core.retry import Backoff
from headwater.core.split import SplitPath
from headwater.core.state_location import check_state_store
from headwater.readers.runtime.epoch.event_time import OTHERS
from headwater.readers.runtime.epoch.task import EpochTask

_ID_BYTES: Final = 8


class BarrierCoordinator(SourceCoordinator[EpochTask]):
    """Plans the epochs of one query.

    That Spark asks for the epoch after n proves that n is committed. Then, and in this order: manifests are
    collected, splits that no task read are sealed and go back to the enumerator, positions, found splits
    and events are taken up in one step, the enumerator is notified, and epoch n + 1 is opened, if any split
    is due. Old epochs are deleted meanwhile. A crash between any two of these steps changes nothing: they are
    repeated, and come to the same.

    Args:
        source: the source.
        epochs: how to go from epoch to epoch.
        backoff: how long to go on asking an outside that is away.
        clock: monotonic time.
        wall_ms: the wall-clock time in ms since 1970.
    """

    def __init__(
        self,
        source: BarrierSource[Any, Any],
        epochs: EpochSettings,
        backoff: Backoff,
        *,
        clock: Clock | None = None,
        wall_ms: Callable[[], int] = wall_ms,
    ) -> None:
        clock = clock or SystemClock()
        loop = CoordinatorLoop(backoff, clock)
        context: BarrierRoundContext[Any, Any] = BarrierRoundContext(loop)
        self._loop = loop
        self._source = source
        self._epochs = epochs
        self._clock = clock
        self._wall_ms = wall_ms
        self._codec = EpochOffsetCodec(source)
        self._context = context
        self._driver: EnumeratorDriver[BarrierSplitEnumerator[Any, Any]] = EnumeratorDriver(
            loop,
            context,
            create=lambda: source.create_enumerator(context),
            restore=lambda checkpoint: source.restore_enumerator(context, checkpoint),
        )
        self._times = SplitTimes()
        self._due = DueSplits(epochs.poll_interval_ms, clock, wall_ms)
        self._alignment = None
        if epochs.event_time is not None:
            epochs.event_time.check(source)
            self._alignment = EpochAlignment(epochs.event_time, clock)
        self._checkpoints: CheckpointCoordinator | None = None
        self._metrics = ReportedMetrics()
        # Of the splits of which it is known: how many records wait, as of the last epoch that read them.
        self._pending: dict[SplitPath, int] = {}
        self._busy_ms = clock.monotonic_ms()
        self._settled: tuple[EpochId, Settlement] | None = None
        # As of the last check for due splits.
        self._fronts: Mapping[SplitPath, int | None] | None = None
        self._opened: EpochId | None = None
        self._opened_ms = 0
        self._retry_deadline_ms = backoff.deadline_ms
        # Set by `close`, on another thread than the one that waits in `plan_next`.
        self._closing = threading.Event()
        # Deletes old epochs while the next one is planned and read.
        self._pruner = ThreadPoolExecutor(1, "headwater-pruner")
        self._pruning: Future[None] | None = None

    def initial_offset(self) -> JsonObject:
        return self._codec.genesis()

    def prepare_for_available_now(self) -> None:
        """From now on read until every split has been caught up once.

        A split that must not be asked yet is waited for.
        """
        self._due.begin_run()

    def plan_next(self, start: JsonObject, *, limited: bool) -> JsonObject:
        """See `SourceCoordinator.plan_next`: the offset names the next epoch.

        Nothing to do: no split is due. Under AvailableNow and Once this blocks until one is, as long as one
        will be. Under Once the one epoch has no barrier: it ends when everything is caught up.
        """
        start_offset = self._decoded(start)
        if not limited:
            self._due.begin_run()
        settled = self._take_up(start_offset)
        self._look(start_offset, settled)
        while True:
            plan = self._driver.ask(
                lambda enumerator: self._next_epoch(enumerator, start_offset, settled, limited=limited)
            )
            if plan is not None:
                return self._open(plan, start_offset)
            live, _ = self._context.live(settled.checkpoint() if settled else None)
            wait_ms = self._due.wait_ms(live, settled)
            if wait_ms is None or self._clock.wait(self._closing, wait_ms):
                return start

    def plan_all(self) -> list[EpochTask]:
        """Return the tasks of a batch read: one epoch to the end, splits discovered on the way included."""
        self._look(None, None)
        plan = self._driver.ask(lambda enumerator: self._next_epoch(enumerator, None, None, limited=False))
        assert plan is not None
        if self._epochs.store is not None:
            self._open(plan, None)
        return epoch_tasks(plan, self._epochs, self._retry_deadline_ms)

    def tasks(self, start: JsonObject, end: JsonObject) -> list[EpochTask]:
        offset = self._decoded(end)
        if offset is None:
            return []
        tasks = epoch_tasks(offset, self._epochs, self._retry_deadline_ms)
        return [replace(task, may_be_read=offset.epoch != self._opened) for task in tasks]

    def latest(self) -> JsonObject | None:
        """Return the statistics of the last completed checkpoint, in the form of an offset.

        Also the fields of `SourceCoordinator`, those of tasks as of complete epochs; and ``lags``: how many
        records wait in each split of which it is known.
        With `maxEventTimeSkew` also ``fronts_ms``: up to which event time those splits are read that hold
        others back; null of one that was never read.
        """
        stats = self._checkpoints.stats if self._checkpoints else None
        if stats is None or self._settled is None:
            return None
        settled = self._settled[1]
        metrics = {
            RETRIES: self._loop.retries,
            IDLE_TIME: self._clock.monotonic_ms() - self._busy_ms,
            UNASSIGNED_SPLITS: sum(map(len, settled.waiting)),
            BACKLOG: int(bool(settled.waiting or settled.turns)),
        }
        if not settled.waiting and self._pending.keys() >= settled.splits.keys():
            metrics[PENDING_RECORDS] = sum(self._pending.values())
        report: JsonObject = {
            **self._codec.genesis(),
            "checkpoint": stats,
            **described(self._source, self._metrics.report(metrics)),
        }
        if self._pending:
            report["lags"] = nest(self._pending)
        fronts = {path: front_ms for path, front_ms in (self._fronts or {}).items() if path != OTHERS}
        if fronts:
            report["fronts_ms"] = nest(fronts)
        return report

    def commit(self, end: JsonObject) -> None:
        """Nothing: `plan_next` takes up a committed epoch, and Spark calls it before this."""

    def close(self) -> None:
        # First, so that a `plan_next` that waits for a split to become due returns.
        self._closing.set()
        self._driver.close()
        self._pruner.shutdown()

    def _decoded(self, raw: JsonObject) -> EpochOffset | None:
        """Return the offset that Spark logged; None for the genesis.

        Raises:
            OffsetError: it cannot be read, or its schema is another than that of the query.
        """
        offset = self._codec.decode(raw)
        if offset is not None:
            check_logged_schema(self._source, offset.schema)
        return offset

    def _take_up(self, start_offset: EpochOffset | None) -> Settlement | None:
        """Complete the committed epoch, once; return the state after it."""
        checkpoints = self._coordinator()
        if start_offset is None:
            return None
        if self._settled is None or self._settled[0] != start_offset.epoch:
            completed = checkpoints.complete(start_offset.epoch, len(start_offset.tasks))
            self._times.add(completed.took_ms)
            opened_ms = self._opened_ms if start_offset.epoch == self._opened else None
            running_ms = 0 if opened_ms is None else self._clock.monotonic_ms() - opened_ms
            settled = settle(self._source, start_offset, completed, self._wall_ms(), running_ms)
            warn_of_failing(start_offset.epoch, settled.failing, self._retry_deadline_ms)
            settled = replace(settled, waiting=self._merge(start_offset.epoch, settled.waiting))
            self._due.take_up(settled, opened_ms=opened_ms)
            self._driver.notify_complete(
                start_offset.epoch, settled.checkpoint(), lambda enumerator: _give_back(enumerator, settled)
            )
            self._measure(completed, settled)
            self._settled = start_offset.epoch, settled
            self._prune(checkpoints, start_offset, settled)
        return self._settled[1]

    def _measure(self, completed: CompletedCheckpoint, settled: Settlement) -> None:
        """Take the metrics of a complete epoch. Of a split that is caught up it is known that none waits."""
        self._metrics.begin_batch()
        for values in completed.source_metrics:
            self._metrics.add(values)
        if completed.rows:
            self._busy_ms = self._clock.monotonic_ms()
        # Of the others the last count has passed: they were read on, and nothing was told.
        unknown = set(settled.turns)
        pending = {path: records for path, records in self._pending.items() if path not in unknown}
        pending |= completed.pending | dict.fromkeys(settled.at_end, 0)
        self._pending = {path: records for path, records in pending.items() if path in settled.splits}

    def _merge(self, epoch: EpochId, waiting: tuple[WaitingSplits, ...]) -> tuple[WaitingSplits, ...]:
        assert self._epochs.store is not None
        return merged(self._source, self._epochs.store, epoch, waiting, 2 * self._epochs.parallelism)

    def _prune(
        self, checkpoints: CheckpointCoordinator, start_offset: EpochOffset, settled: Settlement
    ) -> None:
        """Delete old epochs, and the data that the source staged for them only; mostly on another thread.

        Raises:
            StateLocationError: of the last time.
        """
        if self._pruning is not None:
            self._pruning.result()
        self._pruning = self._pruner.submit(self._delete_old, checkpoints, start_offset, settled)
        if self._source.is_staged:
            # Not beside the planning: a split that is gone, and found again meanwhile, begins anew, and what
            # is deleted here must not be what its readers write already.
            self._pruning.result()

    def _delete_old(
        self, checkpoints: CheckpointCoordinator, start_offset: EpochOffset, settled: Settlement
    ) -> None:
        oldest_needed = min([start_offset.epoch.number, *(ref.epoch_number for ref in settled.restored)])
        outdated = checkpoints.outdated(start_offset.epoch, oldest_needed)
        if outdated is None:
            return
        # The epochs last: after a crash they are listed again, and with them the data to be released.
        if self._source.is_staged:
            release_staged(self._source, checkpoints, outdated, {*start_offset.starts, *settled.splits})
        checkpoints.prune(outdated)

    def _coordinator(self) -> CheckpointCoordinator:
        if self._checkpoints is None:
            assert self._epochs.store is not None
            check_state_store(self._epochs.store)
            self._checkpoints = CheckpointCoordinator(
                self._epochs.store,
                self._source,
                timeout_ms=self._epochs.checkpoint_timeout_ms,
                retained=self._epochs.retained_epochs,
                clock=self._clock,
            )
        return self._checkpoints

    def _look(self, start_offset: EpochOffset | None, settled: Settlement | None) -> None:
        """Let the enumerator look at the outside, and wait until it has."""
        self._driver.look(
            start_offset.epoch if start_offset else None, settled.checkpoint() if settled else None
        )

    def _next_epoch(
        self,
        enumerator: BarrierSplitEnumerator[Any, Any],
        start_offset: EpochOffset | None,
        settled: Settlement | None,
        *,
        limited: bool,
    ) -> EpochOffset | None:
        """Return the next epoch; None if nothing is due. On the coordinator thread."""
        splits, positions = self._context.live(settled.checkpoint() if settled else None)
        due = self._due.due(splits, settled)
        fronts = None
        if self._alignment is not None:
            fronts = self._alignment.fronts(positions, settled, ends_are_final=self._due.is_run)
            due = self._alignment.admitted(due, fronts) if limited else due
        self._fronts = fronts
        restored = settled.restored if settled and not self._due.is_over else ()
        waiting = settled.waiting if settled and not self._due.is_over else ()
        if start_offset is not None and not due and not restored and not waiting:
            return None
        # Rows in flight need one task that emits them, also where there is no split to read.
        most_tasks = len(due) + sum(map(len, waiting)) or min(1, len(restored))
        tasks = deal_splits(due, min(self._epochs.parallelism, most_tasks), self._times)
        due_ms = settled.due_ms if settled else {}
        failed = settled.failing if settled else {}
        return EpochOffset(
            epoch=EpochId(
                query=start_offset.epoch.query if start_offset else secrets.token_hex(_ID_BYTES),
                number=start_offset.epoch.number + 1 if start_offset else 1,
                nonce=secrets.token_hex(_ID_BYTES),
            ),
            barrier=self._epochs.barrier if limited else Barrier(),
            splits=splits,
            starts=positions,
            tasks=tasks,
            restored=[tuple(restored[number :: len(tasks)]) for number in range(len(tasks))],
            waiting=deal_waiting(waiting, len(tasks)),
            events=[self._context.events_for(paths) for paths in tasks],
            failing={path: replace(failing, reason="") for path, failing in failed.items() if path in splits},
            due_ms={path: at_ms for path, at_ms in due_ms.items() if path in splits and path not in due},
            fronts=fronts,
            state=enumerator.snapshot_state(),
            schema=self._source.logged_schema,
        )

    def _open(self, plan: EpochOffset, start_offset: EpochOffset | None) -> JsonObject:
        """Open an epoch in the state location, and return the offset that names it."""
        # Encoded first: an offset that the source cannot write is refused before anything is opened.
        encoded = self._codec.encode(plan)
        # Opened before the offset is returned, so before Spark logs it: the tasks of a logged epoch find it.
        waiting = {part.segment for pieces in plan.waiting for part in pieces}
        self._coordinator().trigger(plan.epoch, len(plan.tasks), nest(plan.starts), waiting)
        self._opened = plan.epoch
        self._opened_ms = self._clock.monotonic_ms()
        logged_splits = start_offset.splits if start_offset else {}
        self._driver.record_plan(
            plan.epoch, [split for path, split in plan.splits.items() if path not in logged_splits]
        )
        return encoded


def _give_back(enumerator: BarrierSplitEnumerator[Any, Any], settled: Settlement) -> None:
    """Hand the results of an epoch to an enumerator, before it is notified that the epoch is complete."""
    if settled.not_run:
        enumerator.add_splits_back(settled.not_run)
    for event in settled.events:
        enumerator.handle_source_event(event)
