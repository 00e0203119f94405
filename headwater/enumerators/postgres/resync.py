"""The enumerator of a stream that goes on where its slot is lost: it reads the rows of its tables again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from headwater.core.enumerator import (
    Checkpoint,
    PlannedSplitEnumerator,
    PlannedSplitEnumeratorContext,
    SplitRequest,
    UnassignedSplits,
)
from headwater.core.errors import LostSlotError
from headwater.core.jsons import JsonValue
from headwater.core.metrics import MetricValues
from headwater.core.redaction import logger_of
from headwater.core.split import SplitPath
from headwater.enumerators.postgres.initial import InitialEnumerator
from headwater.enumerators.postgres.initial_questions import LostLog
from headwater.enumerators.postgres.initial_state import InitialState, TableSplits
from headwater.enumerators.postgres.split import WAL_PATH, WalSplit

log = logger_of(__name__)

T = TypeVar("T")


class ResyncingEnumerator(PlannedSplitEnumerator[TableSplits, int]):
    """Lets an enumerator read tables and their log, and begins again with another one if the slot is lost.

    Nothing is remembered but by the offset. Until one says that rows are read again, every look finds the
    slot missing, or beyond the position: so a driver that is killed anywhere begins again once more.

    Args:
        context: the coordinator's.
        make: makes the enumerator of tables and log, with nothing opened.
    """

    def __init__(
        self,
        context: PlannedSplitEnumeratorContext[TableSplits, int],
        make: Callable[[PlannedSplitEnumeratorContext[TableSplits, int]], InitialEnumerator],
    ) -> None:
        self._context = context
        self._make = make
        self._checkpoint: Checkpoint[TableSplits, int] | None = None
        self._has_begun_again = False
        self._watched = _WatchedContext(context, self._begin_again)
        self._inner = make(self._watched)

    def start(self) -> None:
        self._inner.start()

    def handle_task_notes(self, notes: Mapping[SplitPath, JsonValue]) -> None:
        self._inner.handle_task_notes(notes)

    def refresh(self, checkpoint: Checkpoint[TableSplits, int] | None) -> None:
        self._checkpoint = checkpoint
        self._has_begun_again = False
        self._watch(lambda: self._inner.refresh(checkpoint))

    def handle_split_request(self, request: SplitRequest) -> None:
        self._watch(lambda: self._inner.handle_split_request(request))

    def heads(self) -> Mapping[SplitPath, int]:
        return self._inner.heads()

    def bounds(self) -> Mapping[SplitPath, int] | None:
        return self._inner.bounds()

    def unassigned(self) -> UnassignedSplits:
        return self._inner.unassigned()

    def gauges(self) -> MetricValues:
        return self._inner.gauges()

    def snapshot_state(self) -> JsonValue:
        return self._inner.snapshot_state()

    def notify_checkpoint_complete(self, checkpoint: Checkpoint[TableSplits, int]) -> None:
        self._inner.notify_checkpoint_complete(checkpoint)

    def close(self) -> None:
        self._inner.close()

    def _watch(self, call: Callable[[], None]) -> None:
        try:
            call()
        except LostSlotError as error:
            self._begin_again(error)

    def _begin_again(self, error: LostSlotError) -> None:
        """Read the tables again. On the coordinator's thread.

        Raises:
            LostSlotError: the query has logged nothing yet that it could have lost; or a new slot does not
                help.
        """
        checkpoint = self._checkpoint
        if checkpoint is None or self._has_begun_again:
            raise error
        self._has_begun_again = True
        lost = _lost_log(checkpoint, error)
        log.warning("slot %r is lost, and the rows that are there are read again: %s", lost.wal.slot, error)
        self._watched.is_over = True
        self._inner.close()
        self._watched = _WatchedContext(self._context, self._begin_again)
        self._inner = self._make(self._watched)
        self._inner.start()
        self._inner.begin_again(lost)


def _lost_log(checkpoint: Checkpoint[TableSplits, int], error: LostSlotError) -> LostLog:
    state = InitialState.from_json(checkpoint.state)
    split = checkpoint.splits.get(WAL_PATH)
    if isinstance(split, WalSplit):
        return LostLog(split, checkpoint.positions[WAL_PATH], state.query, error)
    return LostLog(state.wal, state.start, state.query, error)


@dataclass(frozen=True, slots=True)
class _Lost:
    """The outcome of a question that found the slot lost."""

    error: LostSlotError


class _WatchedContext(PlannedSplitEnumeratorContext[TableSplits, int]):
    """A context that tells a lost slot, where the coordinator's would fail the query.

    Once it is over, answers on their way change nothing any more: another enumerator has its place.
    """

    def __init__(
        self,
        context: PlannedSplitEnumeratorContext[TableSplits, int],
        on_lost: Callable[[LostSlotError], None],
    ) -> None:
        self._context = context
        self._on_lost = on_lost
        self.is_over = False

    def call_async(self, call: Callable[[], T], handler: Callable[[T], None], *, what: str) -> None:
        def called() -> T | _Lost | None:
            try:
                return None if self.is_over else call()
            except LostSlotError as error:
                return _Lost(error)

        def handled(answer: T | _Lost | None) -> None:
            if self.is_over:
                return
            try:
                if isinstance(answer, _Lost):
                    raise answer.error
                handler(cast("T", answer))
            except LostSlotError as error:
                self._on_lost(error)

        self._context.call_async(called, handled, what=what)

    def assign_splits(self, starts: Mapping[SplitPath, tuple[TableSplits, int]]) -> None:
        self._context.assign_splits(starts)

    def retire_splits(self, paths: Sequence[SplitPath], reason: str) -> None:
        self._context.retire_splits(paths, reason)

    def keep_splits(self, paths: Sequence[SplitPath], reason: str) -> None:
        self._context.keep_splits(paths, reason)

    def positions(self) -> Mapping[SplitPath, int]:
        return self._context.positions()

    def report_losses(self, losses: Mapping[SplitPath, tuple[Any, Any]]) -> None:
        self._context.report_losses(losses)

    def report_lost_splits(self, split_ids: Sequence[str]) -> None:
        self._context.report_lost_splits(split_ids)
