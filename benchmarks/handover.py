#!/usr/bin/env python3
"""Measures the hand-over inside a task, without Spark and without an outside service.

``python benchmarks/handover.py``.

Three questions: what a PIPELINED partition costs per buffer, alone and between two threads; how much memory
lies between fetchers and emitter when the consumer is slow; and what a snapshot adds to an epoch, aligned and
unaligned. Medians of some rounds count.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import pyarrow as pa

from headwater.core.barrier_reader import BarrierSplitReader, EpochRecord, EpochRecords
from headwater.core.epoch import AlignmentMode, Barrier
from headwater.core.epoch_json import state_to_json
from headwater.core.jsons import JsonValue, dumps
from headwater.core.split import SplitPath, SplitRange
from headwater.core.state_store import MemoryStateStore
from headwater.readers.runtime.epoch.epoch_reader import EpochReader
from headwater.readers.runtime.epoch.state_parts import StateParts
from headwater.readers.runtime.partitions.pipelined import PipelinedResultPartition
from headwater.readers.runtime.partitions.subpartition import BufferPool, EndOfPartition, PartitionBuffer
from tests.doubles import NUMBER_SCHEMA, NumberSplit
from tests.pages import PageSource
from tests.readings import epoch_task, read_task

__all__ = ["main"]

_ROWS = 1_000
_BATCH = pa.RecordBatch.from_pydict(
    {"label": ["x" * 92] * _ROWS, "number": list(range(_ROWS))}, schema=NUMBER_SCHEMA
)


def one_thread(buffers: int) -> float:
    """Put and take one buffer after the other, as a task that fetches by itself."""
    partition: PipelinedResultPartition[pa.RecordBatch] = PipelinedResultPartition(1, BufferPool(1 << 26))
    view = partition.create_view(0, lambda: None)
    size_bytes = _BATCH.nbytes
    began = time.perf_counter()
    for _ in range(buffers):
        partition.add(0, _BATCH, size_bytes)
        element = view.next()
        assert isinstance(element, PartitionBuffer)
        element.recycle()
    return (time.perf_counter() - began) / buffers


def two_threads(buffers: int) -> float:
    """Put on one thread, take on another, through 1,000 buffers of room."""
    size_bytes = _BATCH.nbytes
    partition: PipelinedResultPartition[pa.RecordBatch] = PipelinedResultPartition(
        1, BufferPool(1_000 * size_bytes)
    )
    available = threading.Event()
    view = partition.create_view(0, available.set)

    def produce() -> None:
        for _ in range(buffers):
            partition.add(0, _BATCH, size_bytes)
        partition.finish_subpartition(0)

    began = time.perf_counter()
    thread = threading.Thread(target=produce)
    thread.start()
    while True:
        available.clear()
        element = view.next()
        if element is None:
            available.wait()
        elif isinstance(element, EndOfPartition):
            break
        else:
            assert isinstance(element, PartitionBuffer)
            element.recycle()
    thread.join()
    return (time.perf_counter() - began) / buffers


class PacedReader(BarrierSplitReader[NumberSplit, JsonValue]):
    """The same batch again and again, at most ``rows_per_s`` of it; 0: as fast as can be."""

    def __init__(self, batches: int, rows_per_s: float) -> None:
        self._batches = batches
        self._pause_s = _ROWS / rows_per_s if rows_per_s else 0.0
        self._at: dict[SplitPath, int] = {}
        self._due = 0.0

    def handle_splits_changes(self, added: Sequence[SplitRange[NumberSplit, JsonValue]]) -> None:
        self._at.update((piece.split.path, int(str(piece.start))) for piece in added)

    def handle_splits_removal(self, removed: Sequence[SplitPath]) -> None:
        for path in removed:
            del self._at[path]

    def pause_or_resume_splits(self, paused: Sequence[SplitPath], resumed: Sequence[SplitPath]) -> None:
        """Nothing: without a limit splits are read one after the other, and nothing pauses them."""

    def fetch(self) -> EpochRecords:
        path, at = next(iter(self._at.items()))
        del self._at[path]
        if self._pause_s:
            now = time.perf_counter()
            self._due = max(self._due, now - 0.01) + self._pause_s
            if self._due > now:
                time.sleep(self._due - now)
        record = EpochRecord(_BATCH, at + 1)
        if at + 1 < self._batches:
            self._at[path] = at + 1
            return EpochRecords({path: [record]})
        return EpochRecords({path: [record]}, frozenset([path]))

    def close(self) -> None:
        pass


class PacedSource(PageSource):
    """Splits of so many batches."""

    def __init__(self, batches: int, rows_per_s: float = 0.0, threads: int = 1) -> None:
        super().__init__(threads=threads)
        self._settings = batches, rows_per_s

    def create_reader(self) -> BarrierSplitReader[NumberSplit, JsonValue]:
        return PacedReader(*self._settings)


def epoch(
    batches: int, rows_per_s: float, splits: int = 1, threads: int = 1, **settings: Any
) -> tuple[float, EpochReader, PacedSource]:
    """Read one epoch; return its seconds, its reader and its source."""
    source = PacedSource(batches // splits, rows_per_s, threads)
    starts: list[SplitRange[Any, Any]] = [
        SplitRange(NumberSplit(str(index)), 0, None) for index in range(splits)
    ]
    began = time.perf_counter()
    reader = read_task(source, epoch_task(starts, Barrier(rows=batches * _ROWS), **settings))
    for _ in reader:
        pass
    return time.perf_counter() - began, reader, source


def peak(threads: int, budget_batches: int) -> tuple[float, float]:
    """Return the most that lay between fetchers and a slow consumer, and what is allowed, in batches."""
    starts: list[SplitRange[Any, Any]] = [
        SplitRange(NumberSplit(str(index)), 0, None) for index in range(threads)
    ]
    task = epoch_task(starts, budget_bytes=budget_batches * _BATCH.nbytes)
    reader = read_task(PacedSource(40, threads=threads), task)
    for _ in reader:
        time.sleep(0.0005)
    return reader.metrics.peak_buffered_bytes / _BATCH.nbytes, budget_batches + threads


class _CountingStore(MemoryStateStore):
    """Keeps what is put aside, and knows how much that is."""

    size_bytes = 0

    def put_if_absent(self, name: str, data: bytes, *, durable: bool = True) -> bytes:
        self.size_bytes += len(data)
        return super().put_if_absent(name, data, durable=durable)


def snapshot(mode: AlignmentMode, batches: int, splits: int) -> tuple[float, float, int]:
    """Read an epoch at a million rows a second, then write its snapshot.

    Returns:
        The seconds of the epoch, the seconds of the snapshot, and its bytes, with the rows in flight.
    """
    seconds, reader, source = epoch(batches, 1e6, splits, mode=mode)
    began = time.perf_counter()
    store = _CountingStore()
    state = StateParts(source, "benchmark/epoch-0000000000-a", 0).put_aside(reader.state(), store)
    size_bytes = len(dumps(state_to_json(state, source))) + store.size_bytes
    return seconds, time.perf_counter() - began + reader.metrics.snapshot_ms / 1000, size_bytes


def median(run: Callable[[], float], rounds: int) -> float:
    run()
    return statistics.median(run() for _ in range(rounds))


def epochs(batches: int, rounds: int) -> None:
    print("an epoch as fast as it can be, rows of 100 bytes in batches of 1,000:")
    for name, threads in (("one thread", 1), ("four threads", 4)):
        run = partial(epoch, batches, 0, threads, threads)
        seconds = median(lambda run=run: run()[0], rounds)  # type: ignore[misc]
        rate = f"{batches * _ROWS / seconds / 1e6:10.1f} M rows/s"
        print(f"  {name:32}{seconds / batches * 1e6:8.1f} us per batch{rate}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Print what was measured beside what is asked."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--buffers", type=int, default=20_000)
    parser.add_argument("--batches", type=int, default=1_000, help="of an epoch")
    settings = parser.parse_args(arguments)
    print("PIPELINED hand-over, asked: at most 20 us per buffer")
    for name, run in (("one thread", one_thread), ("two threads", two_threads)):
        seconds = median(partial(run, settings.buffers), settings.rounds)
        print(f"  {name:32}{seconds * 1e6:8.1f} us per buffer")
    epochs(settings.batches, settings.rounds)
    print("peak between fetchers and a slow consumer, asked: at most the budget and one batch per channel")
    for threads, budget in ((1, 4), (4, 4), (4, 16)):
        found, allowed = peak(threads, budget)
        print(
            f"  {f'{threads} channels, budget of {budget} batches':32}{found:8.1f} of {allowed:.0f} batches"
        )
    print("snapshot of an epoch at 1 M rows/s, asked: at most 10 % of its time")
    for mode, splits in (
        (AlignmentMode.ALIGNED, 1),
        (AlignmentMode.ALIGNED, settings.batches),
        (AlignmentMode.UNALIGNED, 1),
    ):
        found_rounds = [snapshot(mode, settings.batches, splits) for _ in range(settings.rounds)]
        seconds, cost, size_bytes = (
            statistics.median(each[kind] for each in found_rounds) for kind in range(3)
        )
        share = f"{cost * 1000:8.2f} ms of {seconds * 1000:.0f} ms ({cost / seconds:.2%})"
        print(f"  {f'{mode.value}, splits: {splits}':32}{share}, {size_bytes:,.0f} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
