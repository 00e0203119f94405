"""What the tests of subpartitions share: a consumer, and buffers of a pool."""

from __future__ import annotations

import threading
from typing import Any

import pyarrow as pa

from headwater.readers.runtime.partitions.subpartition import (
    BufferPool,
    CheckpointBarrier,
    PartitionBuffer,
    PartitionEvent,
)

BARRIER = CheckpointBarrier(0)


class Told:
    """Counts how often a consumer was told."""

    def __init__(self) -> None:
        self.times = 0
        self.event = threading.Event()

    def __call__(self) -> None:
        self.times += 1
        self.event.set()


def rows(*numbers: int) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict({"n": list(numbers)})


def buffer(pool: BufferPool, *numbers: int) -> PartitionBuffer[pa.RecordBatch]:
    assert pool.request(100, lambda: True)
    return PartitionBuffer(rows(*numbers), 100, pool)


def read(view: Any) -> list[Any]:
    """All that is there: numbers of buffers, which are recycled, and events."""
    found: list[Any] = []
    while (element := view.next()) is not None:
        if isinstance(element, PartitionEvent):
            found.append(element)
        else:
            found.append([row["n"] for row in element.payload.to_pylist()])
            element.recycle()
    return found
