"""Where records become rows: the only place in barrier mode where a position moves."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from headwater.core.clock import Clock
from headwater.core.epoch import SplitStatus
from headwater.core.errors import ContractError
from headwater.core.jsons import JsonValue, dumps
from headwater.core.source import Source
from headwater.core.split import Path, SplitRange
from headwater.readers.runtime.epoch.feedback import FeedbackLoop
from headwater.readers.runtime.epoch.progress import EpochProgress
from headwater.readers.runtime.epoch.replay import Replay
from headwater.readers.runtime.fetchers.events import Fetched, SourceEvents, SplitsDone
from headwater.readers.runtime.partitions.events import Event
from headwater.readers.runtime.source_reader import check_schema

__all__ = ["EmitterNode"]


class EmitterNode:
    """Emits record after record, whole or not at all, and takes down what each says about splits.

    The task's thread.

    Args:
        source: makes the emitter.
        starts: the splits that the task reads.
        loop: takes what is found.
        replay: where to stop, if the epoch is read again.
        clock: time.
        schema: of what the emitter yields; None if those are requests of asynchronous calls.
    """

    def __init__(
        self,
        source: Source[Any, Any, Any],
        starts: list[SplitRange[Any, Any]],
        loop: FeedbackLoop,
        replay: Replay | None,
        clock: Clock,
        *,
        schema: pa.Schema | None,
    ) -> None:
        self.progress = EpochProgress(starts, clock)
        self._source, self._loop, self._replay, self._schema = source, loop, replay, schema
        self._emitter = source.create_emitter()
        self.stopped: list[Path] = []

    def emit(self, fetched: Fetched) -> pa.RecordBatch | None:
        """Return the rows of one record, with the state advanced past all of it.

        None if it has none, or its split is done.

        Splits that have come to their stop are added to ``stopped``: they are not to be fetched from any
        more.
        """
        state = self.progress.state(fetched.path)
        if state is None:
            return None
        before, record = state.position, fetched.record
        batches = [
            batch for batch in (*self._emitter.emit(record, state), *self._emitter.flush()) if batch.num_rows
        ]
        if self._schema is not None:
            for batch in batches:
                check_schema(self._source, self._schema, batch, fetched.path)
        self._check(before, state.position, fetched.path, has_rows=bool(batches))
        for found in record.found:
            to_read, stop = (True, None) if self._replay is None else self._replay.stop_of(found)
            piece = self.progress.add_found(found, stop)
            if piece is not None and to_read:
                self._loop.put(piece)
            elif piece is not None:
                self.progress.done(found.split.path, SplitStatus.MORE)
        if self._replay is not None and self._replay.is_at_stop(fetched.path, state.position):
            self.progress.done(fetched.path, SplitStatus.MORE)
            self.stopped.append(fetched.path)
        return _whole(batches)

    def take(self, event: Event) -> None:
        """Take down an event in its place among the records."""
        if isinstance(event, SplitsDone):
            for path in event.finished:
                self._done(path, SplitStatus.FINISHED, None)
            for path, delay_ms in event.caught_up.items():
                self._done(path, SplitStatus.CAUGHT_UP, delay_ms)
            for path in event.removed:
                self.progress.done(path, SplitStatus.MORE)
        elif isinstance(event, SourceEvents):
            self.progress.add_events(event.events)

    def _done(self, path: Path, status: SplitStatus, delay_ms: int | None) -> None:
        state = self.progress.state(path)
        if state is not None and self._replay is not None:
            self._replay.check_end(path, state.position, finished=status is SplitStatus.FINISHED)
        self.progress.done(path, status, delay_ms)

    def _check(self, before: JsonValue, after: JsonValue, path: Path, *, has_rows: bool) -> None:
        goes_back = isinstance(before, int) and isinstance(after, int) and after < before
        if goes_back or (has_rows and after == before):
            raise ContractError(
                f"source {self._source.name} returned rows of split {'-'.join(path)} from position {dumps(before)}, and the position after them as "
                f"{dumps(after)}, which is not behind it: they would come again"
            )


def _whole(batches: list[pa.RecordBatch]) -> pa.RecordBatch | None:
    if len(batches) > 1:
        return pa.Table.from_batches(batches).combine_chunks().to_batches()[0]
    return batches[0] if batches else None
