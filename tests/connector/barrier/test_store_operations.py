"""An epoch asks the state location few things in a row, for object stores answer late."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import pyarrow as pa
import pytest

from headwater.core.epoch import AlignmentMode, Barrier, EpochState, InFlight, SplitProgress
from headwater.core.state_store import MemoryStateStore
from headwater.readers.runtime.epoch.read_epoch import read_epoch
from headwater.readers.runtime.epoch.task import EpochReading, EpochTask, ReadingContext
from tests.connector.barrier.epoch_queries import Query
from tests.epoch_doubles import Logs, LogSource, open_plain_reader, rows_of

T = TypeVar("T")
ANSWER_S = 0.05


class LateStore(MemoryStateStore):
    """Counts operations in a row: those that begin while another one is under way count with it.

    What is deleted on another thread delays nothing.
    """

    def __init__(self) -> None:
        super().__init__()
        self.in_a_row = 0
        self._under_way = 0
        self._counting = threading.Lock()

    def put_if_absent(self, name: str, data: bytes, *, durable: bool = True) -> bytes:
        return self._late(lambda: super(LateStore, self).put_if_absent(name, data, durable=durable))

    def get(self, name: str) -> bytes | None:
        return self._late(lambda: super(LateStore, self).get(name))

    def list(self, folder: str) -> list[str]:
        return self._late(lambda: super(LateStore, self).list(folder))

    def delete_folder(self, folder: str) -> None:
        self._late(lambda: super(LateStore, self).delete_folder(folder))

    def _late(self, operation: Callable[[], T]) -> T:
        if threading.current_thread().name.startswith(("headwater-pruner", "headwater-epochs")):
            return operation()
        with self._counting:
            self.in_a_row += not self._under_way
            self._under_way += 1
        threading.Event().wait(ANSWER_S)
        result = operation()
        with self._counting:
            self._under_way -= 1
        return result


class Overtaken:
    """A reading that emits what an earlier epoch left, and leaves rows itself, one of them with a call."""

    def __init__(self, reading: EpochReading, task: EpochTask) -> None:
        self._reading = reading
        self._task = task
        self.close = reading.close

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        return iter(self._reading)

    def state(self) -> EpochState:
        state = self._reading.state()
        [first, *_] = self._task.ranges
        rows = (InFlight(first.split.path, first.start, b"rows"), InFlight((), None, b"calls"))
        return EpochState((SplitProgress(first.split, first.start), *state.progress[1:]), in_flight=rows)


@pytest.mark.parametrize("mode", AlignmentMode)
def test_an_epoch_has_at_most_six_operations_of_the_store_in_a_row(
    mode: AlignmentMode, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(LogSource, "is_staged", False)
    store = LateStore()
    query = Query(
        Logs({"a": 400}), store, mode=mode, parallelism=1, retained_epochs=1, barrier=Barrier(rows=9)
    )

    def opened(source: Any, task: EpochTask, context: ReadingContext) -> EpochReading:
        reading = open_plain_reader(source, task, context)
        return Overtaken(reading, task) if mode is AlignmentMode.UNALIGNED else reading

    for _ in range(6):
        store.in_a_row = 0
        query.plan()
        [task] = query.tasks()
        rows_of(read_epoch(query.source, task, store, opened, query.clock))
    assert bool(task.restored) == (mode is AlignmentMode.UNALIGNED)
    assert store.in_a_row <= 6
    query.coordinator.close()
    assert len(query.coordinator._checkpoints.epochs(task.query)) <= 4  # type: ignore[union-attr]
