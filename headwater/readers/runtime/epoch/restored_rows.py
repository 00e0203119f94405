"""Rows that one epoch fetched and did not emit, at the beginning of the next one."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator, Sequence

import pyarrow as pa

from headwater.core.epoch import InFlight
from headwater.readers.runtime.epoch.event_time import time_span
from headwater.readers.runtime.partitions.ipc import read_batches, write_batches


class RestoredRows:
    """Rows that the last epoch fetched and did not emit: they come first.

    Emits them batch by batch, and knows what is left. Belongs to the task's thread.

    Those of a split come in its order. The splits come one after the other; where they are aligned by event
    time, the batch that is earliest comes first: what comes after it may have to wait for its calls.

    Args:
        restored: what was in flight.
        column: which has the times, where splits are aligned by event time.
    """

    def __init__(self, restored: Sequence[InFlight], column: str | None) -> None:
        self._left = [(held, batches) for held in restored if (batches := read_batches(held.rows))]
        self._column = column

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the rows. A batch counts as emitted when it is yielded."""
        turns = [(self._time(batches[0]), number) for number, (_, batches) in enumerate(self._left)]
        heapq.heapify(turns)
        while turns:
            _, number = turns[0]
            batches = self._left[number][1]
            yield batches.pop(0)
            if batches:
                heapq.heapreplace(turns, (self._time(batches[0]), number))
            else:
                heapq.heappop(turns)

    def left(self) -> list[InFlight]:
        """Return what was not emitted."""
        return [
            InFlight(held.path, held.start, write_batches(batches)) for held, batches in self._left if batches
        ]

    def _time(self, batch: pa.RecordBatch) -> float:
        """Return the earliest time of a batch; the same for all that have none."""
        span = None if self._column is None else time_span([batch], self._column)
        return -math.inf if span is None else span.first_ms
