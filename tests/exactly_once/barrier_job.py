"""A query over a barrier source that is killed again and again, round after round, and then finished in this process."""

from __future__ import annotations

import itertools
import os
import random
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyspark

from tests.exactly_once.barrier_driver import start
from tests.exactly_once.processes import Program, members
from tests.exactly_once.watching import FolderWatch

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["BarrierJob"]

LIFE_S = 90
VICTIMS = ("pyspark.daemon", "CoarseGrainedExecutorBackend")
"""Whom to kill before the driver, in turn: a Python worker or their daemon, and the executor if it is a process of its own."""
ENVIRONMENT = {"SPARK_HOME": str(Path(pyspark.__file__).parent), "SPARK_SCALA_VERSION": "2.13", "SPARK_LOCAL_IP": "127.0.0.1"}
TIMEOUT_S = 90
MOST_EVENTS = 60
"""About what five batches write into the folders that are watched."""


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
    """

    spark: SparkSession
    conf: dict[str, Any]
    folder: Path
    options: dict[str, str]
    columns: list[str]
    master: str = "local[2,4]"

    def job(self, **trigger: Any) -> dict[str, Any]:
        """Return what a driver needs."""
        options = {**self.options, "stateLocation": f"{self.folder}/state"}
        return {
            "conf": self.conf,
            "master": "local[2,4]",
            "options": options,
            "columns": self.columns,
            "folder": str(self.folder),
            "trigger": trigger,
        }

    def kill_rounds(self, rounds: int, rng: random.Random) -> None:
        """Start the job and kill it so many times: the whole driver or its JVM alone, and before that perhaps a Python worker or an executor."""
        watched = [self.folder / name for name in ("checkpoint/offsets", "checkpoint/commits", "rows/_spark_metadata", "rows")]
        for folder in watched:
            folder.mkdir(parents=True, exist_ok=True)
        victims = rng.sample(VICTIMS, len(VICTIMS))
        for number in range(rounds):
            fatal = rng.randrange(MOST_EVENTS)
            victim = victims[number % len(victims)]
            with FolderWatch(watched) as watch, Program("barrier_driver.py", self.job(), self.folder / "driver.log", ENVIRONMENT) as driver:
                events = watch.files(LIFE_S, driver.check)
                next(itertools.islice(events, fatal // 2, None))
                pids = members(driver.session, victim)
                for pid in rng.sample(pids, min(1, len(pids))):
                    os.kill(pid, signal.SIGKILL)
                next(itertools.islice(events, fatal // 2, None))
                kill = rng.choice([driver.kill, driver.kill_jvm])
                kill()
            print(f"round {number + 1} of {rounds}: {kill.__name__} at file event {fatal}{f', {victim} before' if pids else ''}", flush=True)

    def finish(self) -> None:
        """Read the rest in this process."""
        query = start(self.spark, self.job(availableNow=True))
        try:
            assert query.awaitTermination(TIMEOUT_S), "the query does not end"
        finally:
            query.stop()

    def rows(self, *columns: str) -> list[tuple[Any, ...]]:
        """Return what was written, sorted; what was written twice is there twice."""
        return sorted(tuple(row) for row in self.spark.read.parquet(f"{self.folder}/rows").selectExpr(*columns).collect())
