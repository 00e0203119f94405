"""The asynchronous calls of one task of an epoch: the operator that DataFrames have, inside barrier mode."""

from __future__ import annotations

import time
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from itertools import chain
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from headwater.connector.async_io.arrow_task import ArrowWaitTask
from headwater.connector.async_io.carried_rows import CarriedRows
from headwater.connector.async_io.task import AsyncWait, AsyncWaitTask
from headwater.readers.async_io.settings import OutputMode
from headwater.readers.async_io.stream_element_queue import Watermark
from headwater.readers.async_io.wait_policy import WaitPolicy
from headwater.readers.runtime.batches import times_ms
from headwater.readers.runtime.epoch.calls import AsyncCalls, CallPace
from headwater.readers.runtime.epoch.event_time import TaskAlignment, time_span

_MOST_DOUBLINGS = 20


class EpochCalls(AsyncCalls):
    """See `AsyncCalls`.

    Rows that are stored come with the number of epochs in which they were unanswered. A row that was stored
    n times is waited for 2^n times as long as its epoch took: so a call that takes longer than an epoch ends
    all the same, by its answer or by its timeout. Each epoch asks with the whole timeout: time between
    epochs, and before a restart, does not count.

    Where splits are aligned by event time, watermarks go in between the rows: a row that comes
    out is no later than one that is stored, by the skew at most.

    Args:
        wait: the operator.
        schema: of the rows that go in.
    """

    def __init__(self, wait: AsyncWait, schema: pa.Schema) -> None:
        self._wait = wait
        self._rows = CarriedRows(schema)
        self._stored: list[pa.RecordBatch] = []
        self._task: AsyncWaitTask | ArrowWaitTask | None = None
        self._resources = ExitStack()

    @property
    def is_busy(self) -> bool:
        return bool(self._stored) or (self._task is not None and self._task.is_busy)

    def restore(self, batches: Sequence[pa.RecordBatch]) -> None:
        # Checked now, for columns that do not fit; kept as they are, for a reading that is left at once.
        for batch in batches:
            self._rows.taken_up(batch)
        self._stored = [batch for batch in batches if batch.num_rows]

    def process(self, batches: Iterable[pa.RecordBatch | None], pace: CallPace) -> Iterator[pa.RecordBatch]:
        restored = [self._rows.taken_up(batch) for batch in self._stored]
        parted = self._parting(pace.alignment())
        self._task = self._resources.enter_context(self._wait.opened())
        # Together: rows of several tasks are parted by time too.
        for part in chain.from_iterable(map(parted, _joined(restored))):
            if isinstance(part, Watermark):
                self._task.restore_watermark(part)
            else:
                self._task.restore(part)
        self._stored = []
        new = (None if batch is None else self._rows.new(batch) for batch in batches)
        rows = chain.from_iterable((None,) if batch is None else parted(batch) for batch in new)
        yield from self._task.process(rows, _EpochWaitPolicy(pace, self._rows, self._rows.rounds(restored)))

    def unanswered(self) -> list[pa.RecordBatch]:
        if self._task is None:
            return self._stored
        return [self._rows.carried(rows) for rows in self._task.unfinished()]

    def close(self) -> None:
        self._resources.close()

    def _parting(
        self, alignment: TaskAlignment | None
    ) -> Callable[[pa.RecordBatch], Iterable[pa.RecordBatch | Watermark]]:
        """Return a function that puts watermarks between rows that must stay together in event time."""
        if alignment is None or self._wait.settings.mode is OutputMode.ORDERED:
            return lambda batch: (batch,)
        return EventTimeSegments(alignment.column, alignment.max_skew_ms).parted


class _EpochWaitPolicy(WaitPolicy):
    """The pace of an epoch, and longer where rows were stored before.

    Args:
        pace: of the epoch.
        rows: knows how often a row was stored.
        rounds: how often the row was that was so most often.
    """

    def __init__(self, pace: CallPace, rows: CarriedRows, rounds: int) -> None:
        self._pace = pace
        self._rows = rows
        self._factor = 2 ** min(rounds, _MOST_DOUBLINGS) if rounds else 0
        self._began = time.monotonic()
        self._until = 0.0

    def waits_for_room(self) -> bool:
        return self._pace.waits_for_room()

    def seconds(self) -> float | None:
        patience_ms = self._pace.patience_ms()
        now = time.monotonic()
        self._until = now + (now - self._began) * self._factor
        return None if patience_ms is None else patience_ms / 1000

    def may_leave(self, unfinished: pa.RecordBatch) -> bool:
        return time.monotonic() >= self._until or not self._rows.rounds([unfinished])


def _joined(batches: Sequence[pa.RecordBatch]) -> list[pa.RecordBatch]:
    return pa.Table.from_batches(batches).combine_chunks().to_batches() if batches else []


class EventTimeSegments:
    """Puts a watermark before each row that is later, by more than a width, than one since the last one.

    No row passes a watermark. So none comes out that is later, by more than the width, than one that went in
    before it and is not out.

    Owned by the task's thread.

    Args:
        column: which has the times.
        width_ms: of a segment.
    """

    def __init__(self, column: str, width_ms: int) -> None:
        self._column = column
        self._width_ms = width_ms
        # The earliest time since the last watermark.
        self._earliest_ms: int | None = None

    def parted(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch | Watermark]:
        """Yield the rows of a batch, and the watermarks between them.

        In their order, where no watermark comes between them; else by time. Rows without a time come first.
        """
        span = time_span([batch], self._column)
        if span is None:
            yield batch
            return
        if self._earliest_ms is None or span.first_ms < self._earliest_ms:
            self._earliest_ms = span.first_ms
        if span.last_ms <= self._earliest_ms + self._width_ms:
            yield batch
            return
        times: pa.Array[Any] = times_ms(batch.column(self._column)).fill_null(span.first_ms)
        order = pc.sort_indices(times)
        yield from self._cut(batch.take(order), times.take(order).to_pylist(), self._earliest_ms)

    def _cut(self, batch: pa.RecordBatch, times: list[Any], earliest_ms: int) -> Iterator[Any]:
        """Yield the rows of a batch, whose times are sorted, and watermarks."""
        first = 0
        while first < len(times):
            end = bisect_right(times, earliest_ms + self._width_ms, first)
            if end > first:
                yield batch.slice(first, end - first)
            if end < len(times):
                earliest_ms = times[end]
                yield Watermark(earliest_ms)
            first = end
        self._earliest_ms = earliest_ms
