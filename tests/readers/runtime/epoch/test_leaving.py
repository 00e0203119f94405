"""A reader that is left: nothing outlives it, and its state is what was emitted."""

from __future__ import annotations

import contextlib
import socket
import tempfile
import threading
from pathlib import Path
from typing import IO

import pyarrow as pa
import pytest

from headwater.core.barrier_reader import EpochRecords
from headwater.core.epoch import InFlight
from headwater.core.errors import ContractError, SourceError
from headwater.readers.runtime.batches import read_batches, write_batches
from headwater.readers.runtime.epoch.event_time import TaskAlignment
from tests.doubles import NUMBER_SCHEMA
from tests.pages import Library, PageReader, PageSource, pages, rows_of, start_of
from tests.patience import PATIENCE_S
from tests.readers.runtime.epoch.rig import (
    each_number_of_threads,
    positions,
    reading,
    reading_in_flight,
)
from tests.readings import epoch_task, read_task


class Holding(PageReader):
    """Holds a socket and a file from its first fetch on."""

    def __init__(self, library: Library) -> None:
        super().__init__(library)
        self.sockets: tuple[socket.socket, ...] = ()
        self.file: IO[bytes] | None = None

    def fetch(self) -> EpochRecords:
        if not self.sockets:
            # Closed in `close`.
            self.sockets = socket.socketpair()
            self.file = tempfile.TemporaryFile()  # noqa: SIM115
        return super().fetch()

    def close(self) -> None:
        super().close()
        for one in self.sockets:
            one.close()
        if self.file is not None:
            self.file.close()


def held() -> set[threading.Thread | tuple[str, str]]:
    """The threads, sockets and files of this process: what was there before may go while a test runs."""
    things: set[threading.Thread | tuple[str, str]] = set(threading.enumerate())
    for one in Path("/proc/self/fd").iterdir():
        # The listing's own descriptor is closed when its turn comes.
        with contextlib.suppress(FileNotFoundError):
            things.add((one.name, str(one.readlink())))
    return things


ENDINGS = [
    "to the end",
    "closed",
    "generator closed",
    "dropped",
    "failed",
    "full channel",
    "never begun",
    "blocked fetch",
]


@each_number_of_threads
@pytest.mark.parametrize("how", ENDINGS)
def test_no_thread_socket_or_file_outlives_a_reader(how: str, threads: int) -> None:
    def hook(reader: PageReader) -> None:
        if how == "failed" and len(library.fetched) == 3:
            raise SourceError("no")
        if how == "blocked fetch" and len(library.fetched) >= 2:
            assert reader.woken.wait(PATIENCE_S)

    library = Library({"a": pages(20), "b": pages(20)}, before_fetch=hook)
    source = PageSource(library, threads)
    source.create_reader = lambda: Holding(library)  # type: ignore[method-assign]
    before = held()
    budget_bytes = 1 if how == "full channel" else 1 << 20
    reader = read_task(source, epoch_task([start_of("a"), start_of("b")], budget_bytes=budget_bytes))
    batches = iter(reader)
    if how == "to the end":
        assert len(list(batches)) == 40
    elif how == "failed":
        with pytest.raises(SourceError):
            list(batches)
    elif how != "never begun":
        next(batches)
        next(batches)
        if how == "generator closed":
            batches.close()  # type: ignore[attr-defined]
    if how == "dropped":
        del batches, reader
    else:
        reader.close()
    assert held() <= before


def test_the_state_of_a_reader_that_never_began_is_where_it_would_have_begun() -> None:
    restored = reading_in_flight()
    reader = reading(Library({"a": pages(9)}), "a", position=5, restored=restored)
    reader.close()
    assert (positions(reader.state()), reader.state().in_flight) == ({"a": 5}, restored)


def test_restored_rows_that_were_not_emitted_are_in_flight_again() -> None:
    restored = reading_in_flight()
    reader = reading(Library({"a": pages(9)}), "a", position=5, restored=restored)
    rows = rows_of([next(iter(reader))])
    reader.close()
    [left] = reader.state().in_flight
    assert rows + rows_of(read_batches(left.rows)) == [("a", number) for number in (1, 2, 3, 4)]
    again = reading(Library({"a": pages(9)}), "a", position=5, restored=restored, stop_at=reader.state())
    assert rows_of(again) == rows


def test_restored_rows_of_splits_that_are_aligned_come_in_the_order_of_their_times() -> None:
    def row(label: str, number: int) -> pa.RecordBatch:
        return pa.RecordBatch.from_pylist([{"label": label, "number": number}], NUMBER_SCHEMA)

    restored = tuple(
        InFlight((label,), 0, write_batches([row(label, number) for number in numbers]))
        for label, numbers in (("b", (24, 33)), ("a", (22, 23, 40)))
    )
    aligned = TaskAlignment("number", 10, False, {})
    reader = reading(Library(), "", restored=restored, alignment=aligned)
    assert rows_of(reader) == [("a", 22), ("a", 23), ("b", 24), ("b", 33), ("a", 40)]


def test_the_state_is_not_known_while_reading() -> None:
    reader = reading(Library({"a": pages(2)}), "a")
    batches = iter(reader)
    next(batches)
    with pytest.raises(ContractError, match="known when its iteration has ended"):
        reader.state()
    reader.close()
