"""What was in flight at a cut, told apart: rows of splits, and rows that were with asynchronous calls."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import pyarrow as pa

from headwater.core.epoch import InFlight
from headwater.readers.runtime.epoch.calls import BOOKKEEPING
from headwater.readers.runtime.partitions.ipc import read_batches


def rows_of_splits(in_flight: Iterable[InFlight]) -> list[InFlight]:
    """Return what was fetched and not emitted."""
    return [held for held in in_flight if held.path]


def batches_with_calls(in_flight: Iterable[InFlight]) -> list[pa.RecordBatch]:
    """Return the rows that were emitted, and whose calls had no answer yet."""
    return [batch for held in in_flight if not held.path for batch in read_batches(held.rows)]


class UnansweredRows:
    """The rows that a first reading left unanswered: a second one must not ask about them.

    The order of rows differs from reading to reading, so they are told apart by their values. Equal rows are
    the same.

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
