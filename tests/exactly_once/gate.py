"""A gate inside a task: the rows behind the first ones wait until a test opens it."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tests.exactly_once.waiting import until

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

__all__ = ["SMALL_BATCHES", "Gate"]

SMALL_BATCHES = {"spark.sql.execution.arrow.maxRecordsPerBatch": "100"}
"""What Spark needs, so that it does not gather 10,000 rows before it lets the first one come to the gate."""


@dataclass(frozen=True)
class Gate:
    """A folder in which each task that has come to the gate leaves a file.

    The file's name is ``<partition>-<attempt>``; it holds the id of the task's process.

    With `SMALL_BATCHES`, and if a task has more to read than fits between its reader and the gate (some MB),
    no reader ends before the gate is open.
    """

    folder: Path

    def through(self, frame: DataFrame) -> DataFrame:
        """Put the gate behind a frame: in the same task, in another Python worker."""
        return frame.mapInArrow(_waiting(str(self.folder)), frame.schema)

    def wait_for_tasks(self, count: int) -> dict[str, int]:
        """Wait until so many tasks have come to the gate.

        Return their processes, by ``<partition>-<attempt>``.
        """
        until(lambda: len(self.arrived()) >= count, f"{count} tasks to come to the gate")
        return self.arrived()

    def arrived(self) -> dict[str, int]:
        """Return the processes of the tasks that have come to the gate so far."""
        return {
            entry.name: int(entry.read_text())
            for entry in self.folder.glob("*-*")
            if not entry.name.startswith(".")
        }

    def open(self) -> None:
        """Let all tasks through, those that come later too."""
        (self.folder / "open").touch()


def _waiting(folder: str) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def wait(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        task = TaskContext.get()
        assert task is not None
        name = f"{task.partitionId()}-{task.attemptNumber()}"
        gate = Path(folder)
        never = threading.Event()
        for batch in batches:
            if not (gate / name).exists():
                (gate / f".{name}").write_text(str(os.getpid()))
                (gate / f".{name}").rename(gate / name)
            while not (gate / "open").exists():
                never.wait(0.01)
            yield batch

    return wait
