"""The SourceCoordinator of barrier mode: opens an epoch when a split is due, and takes up what came of it.

Knows nothing of Spark's classes.
"""

from __future__ import annotations

import logging
import secrets
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeVar

from headwater.connector.barrier.checkpoints import CheckpointCoordinator
from headwater.connector.barrier.due import DueSplits
from headwater.connector.barrier.offsets import EpochId, EpochOffset, EpochOffsetCodec
from headwater.connector.barrier.plan import BarrierHints, deal, epoch_tasks
from headwater.connector.barrier.settlement import Settlement, settle
from headwater.connector.coordinator_loop import CoordinatorLoop
from headwater.connector.planned.offsets import flatten, nest
from headwater.core.barrier_enumerator import BarrierSplitEnumerator, BarrierSplitEnumeratorContext
from headwater.core.barrier_source import BarrierSource
from headwater.core.clock import Clock, SystemClock
from headwater.core.epoch import Barrier
from headwater.core.errors import ContractError
from headwater.core.jsons import JsonObject, JsonValue
from headwater.core.retry import Backoff
from headwater.core.split import Path, Split
from headwater.core.state_location import check_state_store
from headwater.core.state_store import StateStore
from headwater.readers.runtime.epoch.task import EpochTask

__all__ = ["EpochCoordinator"]

T = TypeVar("T")
_ID_BYTES: Final = 8

log = logging.getLogger(__name__)


class EpochCoordinator:
    """Plans the epochs of one query. In Spark's source runner, or in the planner for a batch read.

    That Spark asks for the epoch after n proves that n is committed. Then, and in this order: manifests are
    collected, what nobody read is sealed and goes back to the enumerator, positions, found splits and events
    are taken up in one step, the enumerator is notified, old epochs are deleted, and epoch n + 1 is opened,
    if any split is due. A crash between any two of these steps changes nothing: they are repeated, and come
    to the same.

    Args:
        source: what to read.
        store: the state location; None for a batch read, which keeps nothing.
        hints: where epochs are cut, how many tasks there are, how long things are kept.
        backoff: how long to go on asking an outside that is away.
        clock: monotonic time.
        wall_ms: the wall-clock time in ms since 1970.
    """

    def __init__(
        self,
        source: BarrierSource[Any, Any],
        store: StateStore | None,
        hints: BarrierHints,
        backoff: Backoff,
        *,
        clock: Clock | None = None,
        wall_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
    ) -> None:
        self._clock, self._wall_ms = clock or SystemClock(), wall_ms
        self._source, self._store, self._hints = source, store, hints
        self._codec = EpochOffsetCodec(source)
        self._loop = CoordinatorLoop(backoff, self._clock)
        self._context = _Context(self._loop)
        self._checkpoints: CheckpointCoordinator | None = None
        self._enumerator: BarrierSplitEnumerator[Any, Any] | None = None
        self._due = DueSplits(hints.poll_interval_ms, self._clock, wall_ms)
        self._settled: tuple[EpochId, Settlement] | None = None
        self._opened: set[EpochId] = set()
        self._planned: tuple[EpochId, tuple[Split, ...]] | None = None
        self._closing = threading.Event()

    def initial_offset(self) -> JsonObject:
        """Return the genesis. No I/O."""
        return self._codec.genesis()

    def prepare_for_available_now(self) -> None:
        """From now on read until every split has been caught up once, and wait where one must not be asked yet. No I/O."""
        self._due.begin_run()

    def plan_next(self, start: JsonObject, *, limited: bool) -> JsonObject:
        """Return the offset that names the next epoch; ``start`` itself, byte for byte, if no split is due.

        Under AvailableNow and Once this blocks until one is, as long as one will be.

        Args:
            start: the last logged offset, whose epoch is committed, or the genesis.
            limited: whether the barrier's limits count; they do not under Once, where the one epoch ends when
                everything is caught up.

        Raises:
            OffsetError: the checkpoint is not ours.
            StateLocationError: the state location cannot be used, or does not hold what the checkpoint names.
            ContractError: the source broke a promise; nothing was changed.
            SourceError: what the outside said, after all retries.
        """
        before = self._codec.decode(start)
        if not limited:
            self._due.begin_run()
        settled = self._take_up(before)
        self._look(before, settled)
        while True:
            plan = self._loop.run(lambda: self._plan(before, settled, limited=limited))
            if plan is not None:
                return self._open(plan, before)
            live = self._loop.run(lambda: self._context.live(settled)[0])
            wait_ms = self._due.wait_ms(live, settled)
            if wait_ms is None or self._clock.wait(self._closing, wait_ms):
                return start

    def plan_all(self) -> list[EpochTask]:
        """Return the tasks of a batch read: one epoch to the end, what is found on the way included."""
        self._look(None, None)
        plan = self._loop.run(lambda: self._plan(None, None, limited=False))
        assert plan is not None
        if self._store is not None:
            self._open(plan, None)
        return epoch_tasks(plan, self._hints)

    def tasks(self, start: JsonObject, end: JsonObject) -> list[EpochTask]:
        """Return the tasks of a logged epoch: a pure function of its offset and the options. No I/O."""
        offset = self._codec.decode(end)
        return epoch_tasks(offset, self._hints) if offset is not None else []

    def latest(self) -> JsonObject | None:
        """Return the statistics of the last completed checkpoint, in the form of an offset.

        None before the first. No I/O.
        """
        stats = self._checkpoints.stats if self._checkpoints else None
        return {**self._codec.genesis(), "checkpoint": stats.to_json()} if stats else None

    def commit(self, end: JsonObject) -> None:
        """Spark says that a batch is committed: it always says so later than by asking for the next one."""

    def close(self) -> None:
        """End the threads and close the enumerator, as far as there is time."""
        self._closing.set()
        enumerator, self._enumerator = self._enumerator, None
        self._loop.close(enumerator.close if enumerator else lambda: None)

    def _take_up(self, before: EpochOffset | None) -> Settlement | None:
        """Complete the committed epoch; once an epoch."""
        checkpoints = self._coordinator()
        if before is None:
            return None
        if self._settled is None or self._settled[0] != before.epoch:
            completed = checkpoints.complete(before.epoch, len(before.places))
            settled = settle(self._source, before, completed, self._wall_ms())
            self._due.take_up(settled, opened_here=before.epoch in self._opened)
            self._loop.run(lambda: self._notify(before, settled))
            self._settled = before.epoch, settled
            oldest = min([before.epoch.number, *(ref.epoch_number for ref in settled.restored)])
            if checkpoints.prune(before.epoch, oldest):
                kept = flatten(checkpoints.oldest_starts(before.epoch.query), self._source)
                self._source.release_before(before.epoch.query, kept)
        return self._settled[1]

    def _coordinator(self) -> CheckpointCoordinator:
        if self._checkpoints is None:
            assert self._store is not None
            check_state_store(self._store)
            hints = self._hints
            self._checkpoints = CheckpointCoordinator(
                self._store,
                self._source,
                timeout_ms=hints.checkpoint_timeout_ms,
                retained=hints.retained_epochs,
                clock=self._clock,
            )
        return self._checkpoints

    def _notify(self, before: EpochOffset, settled: Settlement) -> None:
        """Tell the enumerator what an epoch came to, in the order that its contract promises.

        On the coordinator thread.
        """
        if self._enumerator is None:
            self._enumerator = self._source.restore_enumerator(self._context, settled.checkpoint())
            self._enumerator.start()
        if settled.not_run:
            self._enumerator.add_splits_back(settled.not_run)
        for event in settled.events:
            self._enumerator.handle_source_event(event)
        self._enumerator.notify_checkpoint_complete(settled.checkpoint())

    def _look(self, before: EpochOffset | None, settled: Settlement | None) -> None:
        """Let the enumerator look at the outside, and wait until it has."""
        self._loop.run(lambda: self._begin_round(before, settled))
        self._loop.wait_idle()

    def _begin_round(self, before: EpochOffset | None, settled: Settlement | None) -> None:
        if self._enumerator is None:
            self._enumerator = self._source.create_enumerator(self._context)
            self._enumerator.start()
        if self._planned is not None and (before is None or self._planned[0] != before.epoch):
            self._enumerator.add_splits_back(self._planned[1])
        self._planned = None
        self._context.begin_round()
        self._enumerator.refresh(settled.checkpoint() if settled else None)

    def _plan(
        self, before: EpochOffset | None, settled: Settlement | None, *, limited: bool
    ) -> EpochOffset | None:
        """Return the next epoch; None if nothing is due. On the coordinator thread."""
        assert self._enumerator is not None
        splits, positions = self._context.live(settled)
        due = self._due.due(splits, settled)
        restored = settled.restored if settled else ()
        if before is not None and not due and not (restored and not self._due.is_over):
            return None
        places: list[tuple[Path, ...]] = deal(due, self._hints.parallelism) or ([()] if restored else [])
        query = before.epoch.query if before else secrets.token_hex(_ID_BYTES)
        return EpochOffset(
            EpochId(query, before.epoch.number + 1 if before else 1, secrets.token_hex(_ID_BYTES)),
            self._hints.barrier if limited else Barrier(),
            splits,
            positions,
            places,
            [tuple(restored[number :: len(places)]) for number in range(len(places))],
            [self._context.events_for(place) for place in places],
            {
                path: due_ms
                for path, due_ms in (settled.due_ms if settled else {}).items()
                if path in splits and path not in due
            },
            self._enumerator.snapshot_state(),
        )

    def _open(self, plan: EpochOffset, before: EpochOffset | None) -> JsonObject:
        encoded = self._codec.encode(plan)
        self._coordinator().trigger(plan.epoch, len(plan.places), nest(plan.starts))
        self._opened = {plan.epoch}
        new = [split for path, split in plan.splits.items() if before is None or path not in before.splits]
        self._planned = plan.epoch, tuple(new)
        return encoded


class _Context(BarrierSplitEnumeratorContext[Any, Any]):
    """What the enumerator said since the round began."""

    def __init__(self, loop: CoordinatorLoop) -> None:
        self._loop = loop
        self._assigned: dict[Path, tuple[Split, Any]] = {}
        self._retired: set[Path] = set()
        self._events: dict[Path, list[JsonValue]] = {}

    def begin_round(self) -> None:
        self._assigned, self._retired, self._events = {}, set(), {}

    def call_async(self, call: Callable[[], T], handler: Callable[[T], None], *, what: str) -> None:
        self._loop.call_async(call, handler, what=what)

    def assign_splits(self, starts: Mapping[Path, tuple[Split, Any]]) -> None:
        for path, (split, start) in starts.items():
            if split.path != path:
                raise ContractError(
                    f"SplitEnumeratorContext.assign_splits: split {split.split_id} was assigned under the path {path}"
                )
            self._assigned[path] = (split, start)
            self._retired.discard(path)

    def retire_splits(self, paths: Sequence[Path], reason: str) -> None:
        for path in paths:
            self._assigned.pop(path, None)
            self._retired.add(path)
            log.info("split %s leaves the query: %s", "-".join(path), reason)

    def send_event_to_source_reader(self, path: Path, event: JsonValue) -> None:
        self._events.setdefault(path, []).append(event)

    def events_for(self, place: tuple[Path, ...]) -> tuple[JsonValue, ...]:
        """Return what was sent to the reader of these splits."""
        return tuple(event for path in place for event in self._events.get(path, ()))

    def live(self, settled: Settlement | None) -> tuple[dict[Path, Split], dict[Path, Any]]:
        """Return the splits of the next epoch and their positions."""
        splits = {
            path: split
            for path, split in (settled.splits if settled else {}).items()
            if path not in self._retired
        }
        positions = {path: settled.positions[path] for path in splits} if settled else {}
        for path, (split, start) in self._assigned.items():
            splits[path], positions[path] = split, start
        return splits, positions
