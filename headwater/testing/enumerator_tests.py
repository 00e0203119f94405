"""The promises of every enumerator (`headwater.core.enumerator.SplitEnumerator`).

And a coordinator's side of the conversation, for the test of an enumerator.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from typing import Any, TypeAlias, TypeVar

from headwater.core.abilities import OrdersSplits
from headwater.core.barrier_source import BarrierSource
from headwater.core.clock import ManualClock
from headwater.core.enumerator import (
    BarrierSplitEnumeratorContext,
    Checkpoint,
    PlannedSplitEnumerator,
    PlannedSplitEnumeratorContext,
    SplitEnumerator,
    SplitEnumeratorContext,
    SplitRequest,
)
from headwater.core.jsons import JsonValue, dumps
from headwater.core.outside import MOST_ENUMERATOR_STATE_BYTES
from headwater.core.planned_source import PlannedSource
from headwater.core.retry import Backoff, retrying
from headwater.core.simple_source import Finished
from headwater.core.source import Boundedness
from headwater.core.split import Split, SplitPath
from headwater.testing.contracts import keeps
from headwater.testing.subject import Subject

T = TypeVar("T")
_BACKOFF = Backoff(deadline_ms=30_000)


class RecordingContext(PlannedSplitEnumeratorContext[Any, Any], BarrierSplitEnumeratorContext[Any, Any]):
    """Runs calls at once, on the caller's thread, and remembers the calls of the enumerator.

    Failures that pass are repeated a few times.

    It serves enumerators of both modes.

    Attributes:
        assigned: the splits that are assigned, with their first positions.
        retired: the paths that left.
        out_of_sight: the paths that were set aside.
        losses: lost ranges, by path.
        lost_splits: the ids of whole splits that are not read.
        events: events for readers.
    """

    def __init__(self) -> None:
        self.assigned: dict[SplitPath, tuple[Split, Any]] = {}
        self.retired: set[SplitPath] = set()
        self.out_of_sight: set[SplitPath] = set()
        self.losses: dict[SplitPath, tuple[Any, Any]] = {}
        self.lost_splits: list[str] = []
        self.events: list[tuple[SplitPath, JsonValue]] = []

    def call_async(self, call: Callable[[], T], handler: Callable[[T], None], *, what: str) -> None:
        # By a clock that only counts: no test waits.
        answer = retrying(call, backoff=_BACKOFF, clock=ManualClock(), cancelled=threading.Event(), what=what)
        handler(answer)

    def assign_splits(self, starts: Mapping[SplitPath, tuple[Any, Any]]) -> None:
        self.assigned.update(starts)

    def send_event_to_source_reader(self, path: SplitPath, event: JsonValue) -> None:
        self.events.append((path, event))

    def retire_splits(self, paths: Sequence[SplitPath], reason: str) -> None:
        self.retired.update(paths)
        for path in paths:
            self.assigned.pop(path, None)

    def keep_splits(self, paths: Sequence[SplitPath], reason: str) -> None:
        self.out_of_sight.update(paths)

    def positions(self) -> Mapping[SplitPath, Any]:
        return {path: start for path, (_, start) in self.assigned.items()}

    def report_losses(self, losses: Mapping[SplitPath, tuple[Any, Any]]) -> None:
        self.losses.update(losses)

    def report_lost_splits(self, split_ids: Sequence[str]) -> None:
        self.lost_splits += split_ids


_AnySource: TypeAlias = PlannedSource[Any, Any, Any] | BarrierSource[Any, Any]


class EnumeratorTests(Subject):
    """Splits are found, found again after a crash, and not handed out twice."""

    def test_what_exists_is_assigned_each_split_under_its_own_path(self) -> None:
        with self._look() as (source, context, _):
            keeps(
                SplitEnumerator.refresh,
                context.assigned,
                "assigns what exists; nothing was assigned to a new query",
            )
            for path, (split, _) in context.assigned.items():
                keeps(
                    SplitEnumeratorContext.assign_splits,
                    split.path == path,
                    f"takes splits by path; {split!r} came under {path}",
                )
                keeps(
                    Split.path,
                    len(path) == source.path_depth,
                    f"has as many names as Source.path_depth says, {source.path_depth}; {path}",
                )

    def test_a_plan_that_was_not_logged_is_assigned_again(self) -> None:
        with self._look() as (_, context, enumerator):
            first = dict(context.assigned)
            enumerator.snapshot_state()
            context.assigned.clear()
            enumerator.add_splits_back([split for split, _ in first.values()])
            enumerator.refresh(None)
            _request_splits(enumerator)
            again = {path: split for path, (split, _) in context.assigned.items()}
            keeps(
                SplitEnumerator.add_splits_back,
                again == {path: split for path, (split, _) in first.items()},
                "splits must be assigned again",
            )

    def test_what_the_checkpoint_holds_is_neither_assigned_again_nor_dropped(self) -> None:
        with self._look() as (source, context, enumerator):
            checkpoint = self._checkpoint(source, context, enumerator)
            restored_context = RecordingContext()
            with closing(source.restore_enumerator(restored_context, checkpoint)) as restored:
                restored.start()
                for round_ in (1, 2):
                    restored.refresh(checkpoint)
                    _request_splits(restored)
                    again = sorted(set(restored_context.assigned) & set(checkpoint.splits))
                    keeps(
                        SplitEnumerator.refresh,
                        not again,
                        f"assigns what the checkpoint does not hold; {again} came again in round {round_}",
                    )
                    # Splits that are read once and whole leave the query once they were read.
                    drops_what_is_read = isinstance(source, PlannedSource) and source.bounded_splits
                    retired = [path for path in restored_context.retired if not drops_what_is_read]
                    keeps(
                        SplitEnumerator.refresh,
                        not retired,
                        f"retires what is gone; {retired} was retired, and still exists",
                    )

    def test_heads_are_those_of_live_splits_and_not_before_their_starts(self) -> None:
        with self._look() as (source, context, enumerator):
            if not isinstance(source, PlannedSource) or not isinstance(enumerator, PlannedSplitEnumerator):
                return
            for path, head in enumerator.heads().items():
                if path in context.assigned:
                    start = context.assigned[path][1]
                    keeps(
                        PlannedSplitEnumerator.heads,
                        source.rows_between(head, start) == 0,
                        f"split {path} ends at {head!r}, before its start {start!r}",
                    )

    def test_state_is_small_canonical_json_and_the_same_when_nothing_changed(self) -> None:
        with self._look() as (_, _, enumerator):
            first = dumps(enumerator.snapshot_state())
            keeps(
                SplitEnumerator.snapshot_state,
                len(first) <= MOST_ENUMERATOR_STATE_BYTES,
                f"is small; it has {len(first)} characters",
            )
            keeps(
                SplitEnumerator.snapshot_state,
                dumps(enumerator.snapshot_state()) == first,
                "is the same when nothing has changed",
            )

    def test_a_complete_checkpoint_may_be_told_twice(self) -> None:
        with self._look() as (source, context, enumerator):
            checkpoint = self._checkpoint(source, context, enumerator)
            state = dumps(enumerator.snapshot_state())
            enumerator.notify_checkpoint_complete(checkpoint)
            once = dumps(enumerator.snapshot_state())
            enumerator.notify_checkpoint_complete(checkpoint)
            keeps(
                SplitEnumerator.notify_checkpoint_complete,
                dumps(enumerator.snapshot_state()) == once,
                f"is idempotent; before: {state}",
            )

    def test_splits_that_follow_others_begin_when_these_have_ended(self) -> None:
        """Round for round all splits that have begun end, until none begins any more."""
        # It loads pyspark, which a test of an enumerator alone does without.
        from headwater.connector.sources.simple import BarrierSimpleSource

        with self._look() as (source, context, enumerator):
            if not isinstance(source, BarrierSimpleSource) or not isinstance(source.user, OrdersSplits):
                return
            user = source.user
            splits = {split.name: split for split in source.user.discover()}
            parents = {name: set(user.parents(split)) for name, split in splits.items()}
            left = {
                name
                for name, split in splits.items()
                if not isinstance(user.first_start(split, is_batch=False), Finished)
            }
            assert any(parents[name] & left for name in left), (
                "options() must make a split whose parent is there, and both to be read"
            )
            begun, state = _names(context), enumerator.snapshot_state()
        while begun:
            early = [name for name in begun if parents[name] & left]
            keeps(OrdersSplits, not early, f"begin where those before have ended; {early} did not wait")
            left -= begun
            checkpoint: Checkpoint[Any, Any] = Checkpoint({}, {}, state)
            later = RecordingContext()
            with closing(source.restore_enumerator(later, checkpoint)) as restored:
                restored.start()
                restored.refresh(checkpoint)
                begun, state = _names(later), restored.snapshot_state()
            again = begun - left
            keeps(SplitEnumerator.refresh, not again, f"{again} had ended, and began again")
        keeps(OrdersSplits.parents, not left, f"makes no circle; {sorted(left)} wait for ever")

    @contextmanager
    def _look(self) -> Iterator[tuple[_AnySource, RecordingContext, SplitEnumerator[Any, Any]]]:
        """Make a world, let a new enumerator look at it once, and close it afterwards."""
        with self.stream_options(self.options()) as options:
            source = self.configure(options, Boundedness.CONTINUOUS_UNBOUNDED).source
            assert isinstance(source, PlannedSource | BarrierSource)
            context = RecordingContext()
            with closing(source.create_enumerator(context)) as enumerator:
                enumerator.start()
                enumerator.refresh(None)
                _request_splits(enumerator)
                yield source, context, enumerator

    def _checkpoint(
        self, source: _AnySource, context: RecordingContext, enumerator: SplitEnumerator[Any, Any]
    ) -> Checkpoint[Any, Any]:
        """Return the checkpoint of a first batch that reads everything."""
        heads = enumerator.heads() if isinstance(enumerator, PlannedSplitEnumerator) else {}
        splits: dict[SplitPath, Any] = {path: split for path, (split, _) in context.assigned.items()}
        positions = {path: heads.get(path, start) for path, (_, start) in context.assigned.items()}
        return Checkpoint(splits, positions, enumerator.snapshot_state())


def _names(context: RecordingContext) -> set[str]:
    return {path[0] for path in context.assigned}


def _request_splits(enumerator: SplitEnumerator[Any, Any]) -> None:
    """Ask for the splits of a batch, as the coordinator of planned mode does after every `refresh`."""
    if isinstance(enumerator, PlannedSplitEnumerator):
        enumerator.handle_split_request(SplitRequest(limited=False, ends=False))
