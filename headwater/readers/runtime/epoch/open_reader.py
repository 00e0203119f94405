"""Chooses how an attempt reads its task."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import Any

import pyarrow as pa

from headwater.core.barrier_source import BarrierSource
from headwater.core.epoch import EpochState
from headwater.readers.runtime.epoch.first_reading import FirstReading
from headwater.readers.runtime.epoch.second_reading import SecondReading
from headwater.readers.runtime.epoch.shared_scan import SharedScans, SharingReader
from headwater.readers.runtime.epoch.task import EpochReading, EpochTask, ReadingContext


def open_epoch_reader(
    source: BarrierSource[Any, Any], task: EpochTask, context: ReadingContext
) -> EpochReading:
    """Return a reading of one task. Opens nothing: that comes with the first batch."""
    of_query = source.for_query(task.query)
    scans = SharedScans(task.folder, task.number) if task.share_scans else None
    if context.stop_at is None:
        reading = FirstReading(of_query, task, context)
        return reading if scans is None else SharingReader(reading, source, scans)
    rows = None if scans is None else scans.find(source, context.stop_at)
    if rows is not None:
        return _SharedReading(rows, context.stop_at)
    return SecondReading(of_query, task, context)


class _SharedReading:
    """Rows that another scan on this host has kept."""

    def __init__(self, rows: Generator[pa.RecordBatch, None, None], state: EpochState) -> None:
        self._rows = rows
        self._state = state

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        return self._rows

    def close(self) -> None:
        self._rows.close()

    def state(self) -> EpochState:
        return self._state
