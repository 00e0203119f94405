"""Where records become rows: the only node in barrier mode where a position moves."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa

from headwater.core.clock import Clock
from headwater.core.emitter import SplitState
from headwater.core.epoch import EpochState, FoundSplit, InFlight, SplitStatus
from headwater.core.errors import ContractError
from headwater.core.jsons import JsonValue, dumps
from headwater.core.source import Source
from headwater.core.split import SplitPath, SplitRange
from headwater.readers.runtime.batches import check_schema
from headwater.readers.runtime.epoch.dataflow import FeedbackLoop
from headwater.readers.runtime.epoch.progress import EpochProgress, SplitFailures
from headwater.readers.runtime.fetchers.events import (
    Fetched,
    NothingFetched,
    SourceEvents,
    SplitsDone,
    SplitsFailed,
    SplitsPaused,
)
from headwater.readers.runtime.partitions.subpartition import PartitionEvent
from headwater.readers.runtime.task_reports import EventTimeLags


class EmitterNode:
    """Emits record after record, whole or not at all, and notes events of splits.

    Belongs to the task's thread.

    Attributes:
        progress: the state of the splits.
        failures: of the splits.
        pending: how many records wait in splits, as far as the outside told it.
        lags: of the emitted records. Behind asynchronous calls the column may be gone.

    Args:
        source: makes the emitter.
        starts: the splits that the task reads.
        loop: takes found splits.
        clock: time.
        schema: of the emitter's rows.
        failures: of the splits, those of earlier epochs included.
    """

    def __init__(
        self,
        source: Source[Any, Any, Any],
        *,
        starts: Sequence[SplitRange[Any, Any]],
        loop: FeedbackLoop,
        clock: Clock,
        schema: pa.Schema,
        failures: SplitFailures,
    ) -> None:
        self.failures = failures
        self.progress = EpochProgress(starts, clock, failures)
        self.pending: dict[SplitPath, int] = {}
        self.lags = EventTimeLags(source.time_column)
        self._source = source
        self._loop = loop
        self._schema = schema
        self._emitter = source.create_emitter()

    def emit(self, fetched: Fetched) -> pa.RecordBatch | None:
        """Return the rows of one record, with the state advanced past all of it.

        None if it has none, or its split is done: a fetch may have brought more than is wanted.
        """
        state = self.progress.state(fetched.path)
        if state is None:
            return None
        self.progress.had_turn(fetched.path)
        batches, position = self._decode(fetched, state)
        return self._advance(fetched, state, batches, position)

    def admitted(self) -> Iterator[pa.RecordBatch]:
        """Yield the rows of records that waited, and need to wait no longer. Here none ever waits."""
        return iter(())

    def snapshot(
        self, loop_log: Iterable[SplitPath], in_flight: Sequence[InFlight], taken: int
    ) -> EpochState:
        """See `EpochProgress.snapshot`."""
        return self.progress.snapshot(loop_log, in_flight, taken)

    def take(self, event: PartitionEvent) -> None:
        """Note an event in its place among the records."""
        if isinstance(event, SplitsDone | SplitsPaused | SourceEvents):
            self.progress.add_events(event.events)
        match event:
            case SplitsDone():
                self._take_done(event)
            case SplitsFailed():
                self._take_failures(event)
            case SplitsPaused():
                for path, pause_ms in event.paused.items():
                    self.progress.paused(path, pause_ms)
            case NothingFetched():
                self.progress.had_turn(event.path)

    def _decode(
        self, fetched: Fetched, state: SplitState[Any, Any]
    ) -> tuple[list[pa.RecordBatch], JsonValue]:
        """Return the rows of one record, and the position behind it; changes nothing."""
        state_behind = SplitState(SplitRange(state.split, state.position, state.stop))
        batches = [
            batch
            for batch in (*self._emitter.emit(fetched.record, state_behind), *self._emitter.flush())
            if batch.num_rows
        ]
        for batch in batches:
            check_schema(self._source, self._schema, batch, fetched.path)
        return batches, state_behind.position

    def _advance(
        self,
        fetched: Fetched,
        state: SplitState[Any, Any],
        batches: list[pa.RecordBatch],
        position: JsonValue,
    ) -> pa.RecordBatch | None:
        """Advance the state past a record, and return its rows."""
        self._check(state.position, position, fetched.path, has_rows=bool(batches))
        if position != state.position:
            self.failures.got_on(fetched.path)
        state.position = position
        if fetched.record.pending is not None:
            self.pending[fetched.path] = fetched.record.pending
        self.progress.add_events(fetched.record.events)
        for split in fetched.record.found:
            self.add_found(split)
        if fetched.record.is_end:
            # With the record, not with the reader's word behind it: the epoch may be cut between the two.
            self._end_at_record(fetched.path, position)
        batch = _whole(batches)
        if batch is not None:
            self.lags.emitted(batch, fetched.fetched_ms)
        return batch

    def _take_done(self, event: SplitsDone) -> None:
        for path in event.finished:
            self._done(path, SplitStatus.FINISHED, None)
        for path, delay_ms in event.caught_up.items():
            self._done(path, SplitStatus.CAUGHT_UP, delay_ms)
        for path in event.removed:
            self.progress.done(path, SplitStatus.MORE)

    def _take_failures(self, event: SplitsFailed) -> None:
        for path, error in event.failures.items():
            state = self.progress.state(path)
            if state is not None:
                self.failures.failed(path, state.position, error)

    def add_found(self, split: FoundSplit) -> None:
        """Send a found split to the fetchers. One that is known already changes nothing."""
        split_range = self.progress.add_found(split)
        if split_range is not None:
            self._loop.put(split_range)

    def _done(self, path: SplitPath, status: SplitStatus, delay_ms: int | None) -> None:
        self.progress.done(path, status, delay_ms)

    def _end_at_record(self, path: SplitPath, position: JsonValue) -> None:
        """Note that a record before this position ended its split."""
        self._done(path, SplitStatus.FINISHED, None)

    def _check(self, start: JsonValue, end: JsonValue, path: SplitPath, *, has_rows: bool) -> None:
        goes_back = isinstance(start, int) and isinstance(end, int) and end < start
        if goes_back or (has_rows and end == start):
            raise ContractError(
                f"source {self._source.name} returned rows of split {'-'.join(path)} from position "
                f"{dumps(start)}, and the position after them as {dumps(end)}, which is not behind it: "
                "they would come again"
            )


def _whole(batches: list[pa.RecordBatch]) -> pa.RecordBatch | None:
    """Return the rows of one record as one batch: a reader that is left stands before or after a record."""
    if len(batches) > 1:
        return pa.Table.from_batches(batches).combine_chunks().to_batches()[0]
    return batches[0] if batches else None
