"""A query over a barrier source that is killed in several rounds, and then finished in this process."""

from __future__ import annotations

import contextlib
import itertools
import os
import random
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyspark

from tests.exactly_once.barrier_driver import start
from tests.exactly_once.processes import Program, members, python_workers
from tests.exactly_once.waiting import until
from tests.exactly_once.watching import FolderWatch
from tests.patience import PATIENCE_S

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["BarrierJob"]

DRIVER = "org.apache.spark.deploy.SparkSubmit"
EXECUTOR = "CoarseGrainedExecutorBackend"
"""Parts of the command lines of JVMs."""
ENVIRONMENT = {
    "SPARK_HOME": str(Path(pyspark.__file__).resolve().parent),  # as in the archive of its classes
    "SPARK_SCALA_VERSION": "2.13",
    "SPARK_LOCAL_IP": "127.0.0.1",
}
TRACING = Path(__file__).resolve().parent / "tracing"
BATCH_EVENTS = 12
"""About what a batch writes into the folders that are watched."""


@dataclass(frozen=True)
class BarrierJob:
    """One checkpoint, one sink, one state location.

    Attributes:
        spark: reads what was written, and finishes the job.
        conf: of the drivers.
        folder: of everything.
        options: of the source.
        columns: what is written.
        master: of the drivers: in one process, or with an executor of its own.
        united: whether the stream is united with itself, so that each epoch is scanned twice.
        peeks: whether the first batch is left after its first rows, and nothing of it written.
        trace: a file for the names of the functions that the drivers and their workers call.
        state: the state location, if it is not in the folder.
        is_planned: whether the source is in planned mode, which has no state location.
    """

    spark: SparkSession
    conf: dict[str, Any]
    folder: Path
    options: dict[str, str]
    columns: list[str]
    master: str = "local[2,4]"
    united: bool = False
    peeks: bool = False
    trace: Path | None = None
    state: Path | None = None
    is_planned: bool = False

    @property
    def temporary(self) -> Path:
        """The folder for temporary files of the drivers and their workers."""
        return self.folder / "temporary"

    @property
    def victims(self) -> dict[str, Callable[[int], list[int]]]:
        """The kinds of processes that are killed before the driver, and how to find them in its session.

        Python workers are those that run tasks.
        """
        if self.master.startswith("local-cluster"):
            return {
                "executor": lambda session: members(session, EXECUTOR),
                "Python worker": lambda session: python_workers(session, EXECUTOR),
            }
        return {"Python worker": lambda session: python_workers(session, DRIVER)}

    def job(self, **trigger: Any) -> dict[str, Any]:
        """Return what a driver needs."""
        state = {} if self.is_planned else {"stateLocation": f"{self.state or self.folder / 'state'}"}
        options = {**self.options, **state}
        return {
            "conf": self.conf,
            "master": self.master,
            "options": options,
            "columns": self.columns,
            "folder": str(self.folder),
            "united": self.united,
            "peeks": self.peeks,
            "trigger": trigger,
        }

    def kill_rounds(self, rounds: int, rng: random.Random) -> Counter[str]:
        """Start the job this many times. In each round kill one process of each kind, and at last the driver.

        The driver is killed with all that belongs to it, or its JVM alone.

        Returns:
            How many of each kind were killed.
        """
        watched = [
            self.folder / name
            for name in ("checkpoint/offsets", "checkpoint/commits", "rows/_spark_metadata", "rows")
        ]
        for folder in watched:
            folder.mkdir(parents=True, exist_ok=True)
        killed: Counter[str] = Counter()
        for number in range(rounds):
            said = []
            with (
                FolderWatch(watched) as watch,
                Program(
                    "barrier_driver.py", self.job(), self.folder / "driver.log", self._environment
                ) as driver,
            ):
                events = watch.files(PATIENCE_S, driver.check)
                next(events)
                for victim in rng.sample([*self.victims], len(self.victims)):
                    said.append(_skip(events, rng.randrange(2 * BATCH_EVENTS)))
                    pid = _kill_one(self.victims[victim], driver.session, rng.random())
                    killed[victim] += 1
                    said.append(f"{victim} {pid}")
                said.append(_skip(events, rng.randrange(BATCH_EVENTS, 3 * BATCH_EVENTS)))
                kill = rng.choice([driver.kill, driver.kill_jvm])
                kill()
                killed["driver"] += 1
            print(f"round {number + 1} of {rounds}: {', '.join(said)}, {kill.__name__}", flush=True)
        return killed

    def kill_when(self, condition: Callable[[], object], what: str) -> None:
        """Start the job, and kill the driver with all that belongs to it as soon as the condition holds."""
        log = self.folder / "driver.log"
        with Program("barrier_driver.py", self.job(), log, self._environment) as driver:

            def holds() -> object:
                driver.check()
                return condition()

            until(holds, what)

    @property
    def _environment(self) -> dict[str, str]:
        self.temporary.mkdir(exist_ok=True)
        environment = {**ENVIRONMENT, "TMPDIR": str(self.temporary)}
        if self.trace is None:
            return environment
        folders = os.pathsep.join([str(TRACING), os.environ["PYTHONPATH"]])
        return {**environment, "PYTHONPATH": folders, "HEADWATER_TRACE": str(self.trace)}

    def fails(self) -> str:
        """Start a driver that ends by itself, and return what it said."""
        log = self.folder / "failed.log"
        with Program("barrier_driver.py", self.job(availableNow=True), log, self._environment) as driver:
            assert driver.ends_within(PATIENCE_S)
        return log.read_text()

    def finish(self) -> None:
        """Read the rest: in this process, or where calls are traced in a driver as before."""
        if self.trace is not None:
            log = self.folder / "driver.log"
            with Program("barrier_driver.py", self.job(availableNow=True), log, self._environment) as driver:
                driver.finish(PATIENCE_S)
            return
        query = start(self.spark, self.job(availableNow=True))
        try:
            assert query.awaitTermination(PATIENCE_S), "the query does not end"
        finally:
            query.stop()

    def rows(self, *columns: str) -> list[tuple[Any, ...]]:
        """Return what was written, sorted; a row that was written twice is there twice."""
        written = self.spark.read.parquet(f"{self.folder}/{'batches' if self.peeks else 'rows'}")
        return sorted(tuple(row) for row in written.selectExpr(*columns).collect())


def _skip(events: Iterator[Path], count: int) -> str:
    """Let so many events pass; return what to say about it."""
    assert sum(1 for _ in itertools.islice(events, count)) == count
    return f"{count} file events"


def _kill_one(find: Callable[[int], list[int]], session: int, at: float) -> int:
    """Kill one of the processes that are found, as soon as there is one; return its id when it is gone."""
    killed: list[int] = []

    def kill() -> bool:
        pids = find(session)
        with contextlib.suppress(ProcessLookupError):  # gone by itself meanwhile
            for pid in pids[int(at * len(pids)) :][:1]:
                os.kill(pid, signal.SIGKILL)
                killed.append(pid)
        return bool(killed)

    until(kill, "a process to kill")
    until(lambda: killed[0] not in members(session), "a killed process to be gone")
    return killed[0]
