"""The steps of a task in the state location: overtaken rows go there in time, and no crash loses any."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from headwater.core.epoch import AlignmentMode, Barrier
from headwater.core.errors import StateLocationError
from headwater.core.state_store import MemoryStateStore, StateStore
from headwater.readers.runtime.epoch.first_reading import FirstReading
from headwater.readers.runtime.epoch.open_reader import open_epoch_reader
from headwater.readers.runtime.epoch.read_epoch import read_epoch
from headwater.readers.runtime.epoch.task import EpochReading, EpochTask, ReadingContext
from headwater.readers.runtime.epoch.task_slot import TaskSlot, decode_manifest
from tests.connector.barrier.test_protocol import CrashError, Fragile
from tests.epoch_doubles import MainThreadClock
from tests.exactly_once.waiting import until
from tests.pages import Library, PageSource, as_starts, pages, rows_of, start_of
from tests.patience import PATIENCE_S
from tests.readers.runtime.epoch.rig import is_cut
from tests.readings import epoch_task

FOLDER = "query/epoch-0000000001-first"
NEXT_FOLDER = "query/epoch-0000000002-next"
SOURCE = PageSource()
"""Reads its positions and splits only."""


def overtaking() -> EpochTask:
    return epoch_task([start_of("a")], Barrier(rows=5), mode=AlignmentMode.UNALIGNED, folder=FOLDER)


def opened(source: Any, task: EpochTask, context: ReadingContext) -> EpochReading:
    """Make a reading whose first record is emitted when the epoch is cut: four rows are overtaken."""
    emitting = threading.Event()

    def wait(_: Any) -> None:
        assert not library.fetched or task.folder != FOLDER or emitting.wait(PATIENCE_S)

    library = Library({"a": pages(9)}, before_fetch=wait)
    reading = open_epoch_reader(PageSource(library), task, context)
    if not isinstance(reading, FirstReading):
        emitting.set()
    elif task.folder == FOLDER:
        emit = reading._node.emit

        def emit_behind_the_cut(fetched: Any) -> Any:
            emitting.set()
            until(lambda: is_cut(reading), "the barrier in the channel")
            return emit(fetched)

        reading._node.emit = emit_behind_the_cut  # type: ignore[method-assign]
    return reading


def read(task: EpochTask, store: StateStore) -> list[tuple[str, int]]:
    return rows_of(read_epoch(SOURCE, task, store, opened, MainThreadClock()))


class Announced(MemoryStateStore):
    """Says that rows are being uploaded, and perhaps fails then."""

    def __init__(self, error: Exception | None = None) -> None:
        super().__init__()
        self.uploading = threading.Event()
        self.error = error

    def put_if_absent(self, name: str, data: bytes, *, durable: bool = True) -> bytes:
        if ".rows-" in name:
            self.uploading.set()
            if self.error is not None:
                raise self.error
        return super().put_if_absent(name, data, durable=durable)


def test_overtaken_rows_are_uploaded_while_the_last_rows_are_handed_over_and_the_manifest_comes_behind() -> (
    None
):
    store = Announced()
    slot = TaskSlot(store, FOLDER, 0)
    batches = read_epoch(SOURCE, overtaking(), store, opened, MainThreadClock())
    assert rows_of([next(batches)]) == [("a", 0)]
    assert store.uploading.wait(PATIENCE_S)
    assert slot.manifest() is None
    assert list(batches) == []
    manifest = slot.manifest()
    assert manifest is not None
    state = decode_manifest(manifest, SOURCE, "").state
    assert state is not None
    [rows] = state.in_flight
    assert rows.stored is not None
    assert f"{FOLDER}/{rows.stored.name}" in store._objects


def test_a_task_whose_upload_fails_says_so_and_publishes_nothing() -> None:
    store = Announced(StateLocationError("full"))
    with pytest.raises(StateLocationError, match="full"):
        read(overtaking(), store)
    assert TaskSlot(store, FOLDER, 0).manifest() is None
    assert not [each for each in threading.enumerate() if each.name.startswith("headwater-parts")]


def test_a_task_that_dies_before_or_after_any_step_loses_no_row_and_doubles_none() -> None:
    died = 0
    while True:
        store = MemoryStateStore()
        fragile = Fragile(store, crash_in=died)
        try:
            rows = read(overtaking(), fragile)
        except CrashError:
            # Spark throws the rows of the attempt away, and runs the task again.
            rows = read(overtaking(), store)
        manifest = TaskSlot(store, FOLDER, 0).manifest()
        assert manifest is not None
        state = decode_manifest(manifest, SOURCE, "").state
        assert state is not None
        starts = as_starts((entry.split, entry.position) for entry in state.progress)
        following = epoch_task(starts, folder=NEXT_FOLDER, restored=((FOLDER, 0),))
        assert sorted(rows + read(following, store)) == [("a", number) for number in range(9)]
        if not fragile.dead:
            break
        died += 1
    assert died == 2 * len(["claim", "rows", "manifest"])
