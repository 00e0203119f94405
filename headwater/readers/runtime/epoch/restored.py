"""Rows that the last epoch fetched and did not emit: they come first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from headwater.core.epoch import InFlight
from headwater.readers.runtime.partitions.ipc import read_batches, write_batches


class RestoredRows:
    """Emits what was in flight, batch by batch, and knows what is left. Belongs to the task's thread.

    Args:
        restored: what was in flight.
    """

    def __init__(self, restored: Sequence[InFlight]) -> None:
        self._left = [(held, batches) for held in restored if (batches := read_batches(held.rows))]

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the rows. A batch counts as emitted when it is yielded."""
        for _, batches in self._left:
            while batches:
                yield batches.pop(0)

    def left(self) -> list[InFlight]:
        """Return what was not emitted."""
        return [
            InFlight(held.path, held.start, write_batches(batches)) for held, batches in self._left if batches
        ]
