#!/usr/bin/env python3
"""Measures what handing over through a PIPELINED partition would cost the Kafka reader.

``python benchmarks/handover_kafka.py``.

Reader and emitter take turns on one thread, as in a task of the planned mode: once directly, once with each
answer of a fetch put into a partition and taken out again. Fetches come from memory; variants take turns, and
medians of CPU time are shown.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.decode import record_sets
from headwater.core.emitter import SplitState
from headwater.core.reader import RecordsWithSplitIds
from headwater.core.split import SplitRange
from headwater.enumerators.kafka.split import KafkaPartitionSplit
from headwater.readers.kafka.columns import KAFKA_COLUMNS
from headwater.readers.kafka.emitter import KafkaRecordEmitter
from headwater.readers.kafka.record_set import RecordSet
from headwater.readers.runtime.partitions.pipelined import PipelinedResultPartition
from headwater.readers.runtime.partitions.subpartition import BufferPool, PartitionBuffer

__all__ = ["main"]

_SPLIT = KafkaPartitionSplit("benchmark", 0)
_SIZES = {"1 MB": 1 << 20, "16 KB": 16 << 10, "9 rows": 1_000}
Fetched = RecordsWithSplitIds[RecordSet]


class Loop:
    """One task's loop, and the partition that lies in between, or not."""

    def __init__(self, sets: Sequence[bytes], columns: Sequence[str]) -> None:
        self._sets = sets
        self._columns = columns
        self._partition: PipelinedResultPartition[Fetched] = PipelinedResultPartition(1, BufferPool(1 << 26))
        self._view = self._partition.create_view(0, lambda: None)

    def direct(self) -> float:
        """Return the CPU seconds per fetch."""
        return self._run(self._emit)

    def through_a_partition(self) -> float:
        """Return the CPU seconds per fetch."""
        return self._run(self._hand_over)

    def _run(self, take: Callable[[Fetched], None]) -> float:
        self._state = SplitState(SplitRange(_SPLIT, 0, 1 << 62))
        self._emitter = KafkaRecordEmitter(self._columns)
        began = time.thread_time()
        for data in self._sets:
            take(RecordsWithSplitIds({_SPLIT.path: [RecordSet(data)]}))
        for _ in self._emitter.flush():
            pass
        return (time.thread_time() - began) / len(self._sets)

    def _hand_over(self, fetched: Fetched) -> None:
        self._partition.add(0, fetched, 1)
        element = self._view.next()
        assert isinstance(element, PartitionBuffer)
        self._emit(element.payload)
        element.recycle()

    def _emit(self, fetched: Fetched) -> None:
        for records in fetched.records.values():
            for record in records:
                for _ in self._emitter.emit(record, self._state):
                    pass


def main(arguments: Sequence[str] | None = None) -> int:
    """Print microseconds per fetch, directly and through a partition."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=150)
    rounds = parser.parse_args(arguments).rounds
    rng = random.Random(1)
    for name, size in _SIZES.items():
        loop = Loop(record_sets(lambda _: rng.randbytes(100), size), KAFKA_COLUMNS[:-1])
        loop.direct()
        samples = [(loop.direct(), loop.through_a_partition()) for _ in range(rounds)]
        direct, through = (statistics.median(sample[kind] for sample in samples) * 1e6 for kind in (0, 1))
        partition = f"through a partition{through:8.1f} us ({through / direct - 1:+.1%})"
        print(f"record sets of {name:8}{direct:8.1f} us per fetch, {partition}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
