"""Rows on their way into an operator, parted by watermarks: what comes out stays together in event time."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from headwater.readers.async_io.stream_element_queue import Watermark
from headwater.readers.runtime.batches import times_ms
from headwater.readers.runtime.epoch.event_time import time_span


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
