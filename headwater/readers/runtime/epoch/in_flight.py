"""Rows in flight at a cut: fetched and not emitted, or emitted and with an asynchronous call.

The next epoch begins with them.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa

from headwater.core.epoch import InFlight
from headwater.readers.runtime.batches import read_batches, write_batches
from headwater.readers.runtime.epoch.calls import BOOKKEEPING
from headwater.readers.runtime.epoch.event_time import time_span


def rows_of_splits(in_flight: Iterable[InFlight]) -> list[InFlight]:
    """Return the rows that were fetched and not emitted."""
    return [entry for entry in in_flight if entry.path]


def batches_with_calls(in_flight: Iterable[InFlight]) -> list[pa.RecordBatch]:
    """Return the rows that were emitted, and whose calls had no answer yet."""
    return [batch for entry in in_flight if not entry.path for batch in read_batches(entry.rows)]


class UnansweredRows:
    """The rows that a first reading left unanswered: a second one must not ask about them.

    The order of rows differs from reading to reading, so they are distinguished by their values. Equal rows
    are the same.

    Args:
        batches: as the calls stored them.
    """

    def __init__(self, batches: Sequence[pa.RecordBatch]) -> None:
        self._counts: Counter[str] = Counter()
        self._names: list[str] = []
        for batch in batches:
            self._names = [name for name in batch.schema.names if not name.startswith(BOOKKEEPING)]
            self._counts.update(self._keys(batch))

    def left_out(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return a batch without these rows; each is left out once."""
        if not self._counts:
            return batch
        return batch.filter(pa.array([not self._take(key) for key in self._keys(batch)], pa.bool_()))

    def _keys(self, batch: pa.RecordBatch) -> list[str]:
        return [repr(row) for row in batch.select(self._names).to_pylist()]

    def _take(self, key: str) -> bool:
        if key not in self._counts:
            return False
        self._counts[key] -= 1
        if not self._counts[key]:
            del self._counts[key]
        return True


class RestoredRows:
    """Rows that the last epoch fetched and did not emit: they come first.

    Emits them batch by batch, and knows the rest. Belongs to the task's thread.

    Those of a split come in its order. The splits come one after the other; where they are aligned by event
    time, the batch that is earliest comes first: later rows may have to wait for its calls.

    Args:
        restored: the rows in flight.
        column: which has the times, where splits are aligned by event time.
    """

    def __init__(self, restored: Sequence[InFlight], column: str | None) -> None:
        self._left = [(entry, batches) for entry in restored if (batches := read_batches(entry.rows))]
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
        """Return the rows that were not emitted."""
        return [
            InFlight(entry.path, entry.start, write_batches(batches))
            for entry, batches in self._left
            if batches
        ]

    def _time(self, batch: pa.RecordBatch) -> float:
        """Return the earliest time of a batch; the same for all that have none."""
        span = None if self._column is None else time_span([batch], self._column)
        return -math.inf if span is None else span.first_ms
