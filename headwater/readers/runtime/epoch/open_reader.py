"""Makes the dataflow of an epoch's task."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import Any

import pyarrow as pa

from headwater.core.barrier_source import BarrierSource
from headwater.core.epoch import EpochState
from headwater.readers.runtime.epoch.calls import AsyncCalls
from headwater.readers.runtime.epoch.epoch_reader import EpochReader
from headwater.readers.runtime.epoch.shared_scan import SharedScans, SharingReader
from headwater.readers.runtime.epoch.task import EpochReading, EpochTask, ReadingContext
from headwater.readers.runtime.fetchers.shape import ThreadShape

__all__ = ["open_epoch_reader"]


def open_epoch_reader(
    source: BarrierSource[Any, Any], task: EpochTask, context: ReadingContext
) -> EpochReading:
    """Return the reader of one task. Opens nothing: that comes with the first batch."""
    stop_at = context.stop_at
    scans = SharedScans(task.folder, task.place) if task.share_scans else None
    if scans is not None and stop_at is not None and (rows := scans.find(source, stop_at)) is not None:
        return _Kept(rows, stop_at)
    function = source.create_async_function()
    reader = EpochReader(
        source.for_query(task.query),
        task.ranges,
        task.barrier,
        mode=task.mode,
        alignment_timeout_ms=task.alignment_timeout_ms,
        stop_at=stop_at,
        restored=context.restored,
        budget_bytes=task.budget_bytes,
        threads=ThreadShape(source.fetcher_threads, source.splits_per_thread),
        events=task.events,
        calls=None if function is None else AsyncCalls(*function, source.schema()),
        on_snapshot=context.on_snapshot,
        clock=context.clock,
        metrics=context.metrics,
    )
    return reader if scans is None or stop_at is not None else SharingReader(reader, source, scans)


class _Kept:
    """Rows that another task on this host has kept."""

    def __init__(self, rows: Generator[pa.RecordBatch, None, None], state: EpochState) -> None:
        self._rows, self._state = rows, state

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        return self._rows

    def close(self) -> None:
        self._rows.close()

    def state(self) -> EpochState:
        return self._state
