"""What the tests of an epoch share: readers at a known point."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

from headwater.core.epoch import AlignmentMode, Barrier, EpochState, InFlight
from headwater.core.jsons import JsonValue
from headwater.readers.runtime.epoch.epoch_reader import EpochReader
from headwater.readers.runtime.fetchers.shape import INLINE, ONE_AFTER_THE_OTHER, ONE_THREAD, thread_per_split
from tests.exactly_once.waiting import until
from tests.pages import Library, PageReader, PageSource, pages, rows_of, start_of

SHAPES = [INLINE, ONE_THREAD, ONE_AFTER_THE_OTHER, thread_per_split(2)]
each_shape = pytest.mark.parametrize(
    "shape", SHAPES, ids=["inline", "one thread", "one after the other", "thread per split"]
)
ALIGNED, UNALIGNED, AT_LEAST_ONCE = (
    AlignmentMode.ALIGNED,
    AlignmentMode.UNALIGNED,
    AlignmentMode.AT_LEAST_ONCE,
)


def reading(library: Library, labels: str, barrier: Barrier | None = None, **settings: Any) -> EpochReader:
    return EpochReader(
        PageSource(library), [start_of(label) for label in labels], barrier or Barrier(), **settings
    )


def backlog(reader: EpochReader) -> int:
    return sum(channel.backlog for channel in reader._partition._pipelined)


def is_cut(reader: EpochReader) -> bool:
    return all(fetcher._is_cut for fetcher in reader._manager._fetchers)


def positions(state: EpochState) -> dict[str, JsonValue]:
    return {progress.split.split_id: progress.position for progress in state.progress}


def prepared(mode: AlignmentMode, **settings: Any) -> tuple[EpochReader, Iterator[pa.RecordBatch]]:
    """A reader at its first batch, with four more before the barrier in its only channel."""
    go = threading.Event()

    def wait(_: PageReader) -> None:
        assert not library.fetched or go.wait(10)

    library = Library({"a": pages(9)}, before_fetch=wait)
    reader = reading(library, "a", Barrier(rows=5), mode=mode, threads=ONE_THREAD, **settings)
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
