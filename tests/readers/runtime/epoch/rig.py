"""What the tests of an epoch share: readers at a known point."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

from headwater.core.epoch import AlignmentMode, Barrier, EpochState, InFlight
from headwater.core.jsons import JsonValue
from headwater.readers.runtime.epoch.calls import CreateCalls
from headwater.readers.runtime.epoch.epoch_reader import EpochReader
from tests.exactly_once.waiting import until
from tests.pages import Library, PageReader, PageSource, pages, rows_of, start_of
from tests.patience import PATIENCE_S
from tests.readings import epoch_task, read_task

THREADS = [1, 2]
each_number_of_threads = pytest.mark.parametrize("threads", THREADS)
ALIGNED = AlignmentMode.ALIGNED
UNALIGNED = AlignmentMode.UNALIGNED


def reading(
    library: Library,
    labels: str,
    barrier: Barrier | None = None,
    *,
    threads: int = 1,
    calls: CreateCalls | None = None,
    position: JsonValue = 0,
    **settings: Any,
) -> EpochReader:
    """A reading of these labels. Settings are those of the attempt, or of the task."""
    attempt = {name: settings.pop(name) for name in ("stop_at", "restored", "clock") if name in settings}
    task = epoch_task([start_of(label, position) for label in labels], barrier, **settings)
    return read_task(PageSource(library, threads), task, calls, **attempt)


def backlog(reader: EpochReader) -> int:
    return sum(channel.backlog for channel in reader._flow.partition._pipelined)


def is_cut(reader: EpochReader) -> bool:
    return all(fetcher._is_cut for fetcher in reader._flow.manager._fetchers)


def positions(state: EpochState) -> dict[str, JsonValue]:
    return {progress.split.split_id: progress.position for progress in state.progress}


def prepared(mode: AlignmentMode, **settings: Any) -> tuple[EpochReader, Iterator[pa.RecordBatch]]:
    """A reader at its first batch, with four more before the barrier in its only channel."""
    go = threading.Event()

    def wait(_: PageReader) -> None:
        assert not library.fetched or go.wait(PATIENCE_S)

    library = Library({"a": pages(9)}, before_fetch=wait)
    reader = reading(library, "a", Barrier(rows=5), mode=mode, **settings)
    batches = iter(reader)
    assert rows_of([next(batches)]) == [("a", 0)]
    go.set()
    until(lambda: backlog(reader) == 4, "four batches in the channel")
    until(lambda: is_cut(reader), "all barriers in their channels")
    return reader, batches


def reading_in_flight() -> tuple[InFlight, ...]:
    reader, batches = prepared(UNALIGNED)
    list(batches)
    return reader.state().in_flight
