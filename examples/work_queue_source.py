"""A queue that forgets what was acknowledged, staged: a table of jobs from which workers delete what is done.

``python examples/work_queue_source.py`` puts messages into two queues of an SQLite database, and reads them.

headwater takes messages, writes them into ``stateLocation``, and has them deleted here then. An epoch that is
read again comes from there. So the receiver may be killed between any two steps.
"""

from __future__ import annotations

import os
import secrets
import sqlite3
import tempfile
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import pyarrow as pa

import headwater as hw

if TYPE_CHECKING:  # the receiver imports this module too, and needs no Spark
    from pyspark.sql import SparkSession

SCHEMA = pa.schema((("queue", pa.string()), ("body", pa.string())))
TABLES = """
CREATE TABLE IF NOT EXISTS messages (id INTEGER PRIMARY KEY AUTOINCREMENT, queue TEXT, body TEXT);
CREATE TABLE IF NOT EXISTS holders (queue TEXT PRIMARY KEY, holder TEXT);
"""
LOOK_S = 0.05


class QueueClient(hw.contracts.StagedClient[int]):
    """A connection to one queue. The token of a message is its id, and so is its key."""

    def __init__(self, database: str) -> None:
        self._path = database
        self._woken = threading.Event()
        self._holder = secrets.token_hex(8)
        self._last = 0

    def open(self, split: hw.contracts.Split) -> None:
        """Take the queue away from whoever had it, and begin with the first message that is there."""
        self._queue = split.split_id
        self._database = sqlite3.connect(self._path, timeout=30)
        with self._database:
            self._database.execute("REPLACE INTO holders VALUES (?, ?)", (self._queue, self._holder))

    def poll(self, timeout_ms: int, most: int) -> hw.contracts.Delivery[int] | None:
        until_s = time.monotonic() + timeout_ms / 1000
        while not (messages := self._next(most)):
            left_s = until_s - time.monotonic()
            if left_s <= 0 or self._woken.wait(min(LOOK_S, left_s)):
                self._woken.clear()
                return None
        ids = [number for number, _ in messages]
        self._last = ids[-1]
        rows = pa.RecordBatch.from_pylist(
            [{"queue": self._queue, "body": body} for _, body in messages], schema=SCHEMA
        )
        return hw.contracts.Delivery(rows, [str(number).encode() for number in ids], ids)

    def acknowledge(self, tokens: Sequence[int]) -> None:
        """Delete messages, if this connection has the queue still."""
        delete = "DELETE FROM messages WHERE id = ? AND ? = (SELECT holder FROM holders WHERE queue = ?)"
        with self._database:
            self._database.executemany(delete, [(token, self._holder, self._queue) for token in tokens])

    def wake_up(self) -> None:
        self._woken.set()

    def close(self) -> None:
        self._database.close()

    def _next(self, most: int) -> list[tuple[int, str]]:
        query = "SELECT holder FROM holders WHERE queue = ?"
        if self._database.execute(query, (self._queue,)).fetchone() != (self._holder,):
            raise hw.errors.QueueTakenError(f"another connection has the queue {self._queue}")
        query = "SELECT id, body FROM messages WHERE queue = ? AND id > ? ORDER BY id LIMIT ?"
        return self._database.execute(query, (self._queue, self._last, most)).fetchall()


class Queues(hw.contracts.BarrierSplitEnumerator[hw.NamedSplit, int]):
    """Each queue that a message is for is a split. The checkpoint says which are known."""

    def __init__(
        self, context: hw.contracts.BarrierSplitEnumeratorContext[hw.NamedSplit, int], path: str
    ) -> None:
        self._context = context
        self._path = path

    def start(self) -> None:
        """Nothing to begin with."""

    def refresh(self, checkpoint: hw.contracts.Checkpoint[hw.NamedSplit, int] | None) -> None:
        known = checkpoint.splits if checkpoint else {}

        def assign(splits: list[hw.NamedSplit]) -> None:
            self._context.assign_splits(
                {split.path: (split, 0) for split in splits if split.path not in known}
            )

        self._context.call_async(self._names, assign, what="the names of the queues")

    def _names(self) -> list[hw.NamedSplit]:
        with closing(sqlite3.connect(self._path)) as database:
            names = database.execute("SELECT DISTINCT queue FROM messages ORDER BY queue").fetchall()
        return [hw.NamedSplit(name) for (name,) in names]


@dataclass(frozen=True, kw_only=True)
class WorkQueues(hw.contracts.StagedSource[hw.NamedSplit]):
    """The queues of one database."""

    name = "work-queues"
    OPTIONS = (hw.options.Option("database", hw.options.text, None, "The file.", required=True),)

    database: str

    @classmethod
    def from_options(
        cls,
        options: Mapping[str, Any],
        boundedness: hw.contracts.Boundedness | None,  # noqa: ARG003 - both modes have the same options
    ) -> Self:
        return cls(database=options["database"])

    def schema(self) -> pa.Schema:
        return SCHEMA

    def queue(self, split: hw.NamedSplit) -> str:
        return f"{self.database}/{split.name}"

    def create_client(self, split: hw.NamedSplit) -> QueueClient:
        return QueueClient(self.database)

    def create_enumerator(
        self, context: hw.contracts.BarrierSplitEnumeratorContext[hw.NamedSplit, int]
    ) -> Queues:
        return Queues(context, self.database)

    def restore_enumerator(
        self,
        context: hw.contracts.BarrierSplitEnumeratorContext[hw.NamedSplit, int],
        checkpoint: hw.contracts.Checkpoint[hw.NamedSplit, int],
    ) -> Queues:
        return Queues(context, self.database)

    def serialize_splits(self, splits: Iterable[hw.NamedSplit]) -> hw.contracts.JsonValue:
        return None

    def deserialize_splits(
        self, paths: Iterable[hw.contracts.SplitPath], definitions: hw.contracts.JsonValue
    ) -> Mapping[hw.contracts.SplitPath, hw.NamedSplit]:
        return {path: hw.NamedSplit(path[0]) for path in paths}


def put(database: str, queue: str, *bodies: str) -> None:
    with closing(sqlite3.connect(database)) as messages, messages:
        messages.executescript(TABLES)
        messages.executemany(
            "INSERT INTO messages (queue, body) VALUES (?, ?)", [(queue, body) for body in bodies]
        )


def left(database: str) -> int:
    with closing(sqlite3.connect(database)) as messages:
        (count,) = messages.execute("SELECT count(*) FROM messages").fetchone()
        return int(count)


def main(spark: SparkSession) -> None:
    folder = tempfile.mkdtemp()
    database = f"{folder}/queues.db"
    # The receiver is a process of its own: it imports this file as a module.
    module = Path(__file__).stem if __name__ == "__main__" else __name__
    for first in (0, 50):
        for queue in ("mail", "print"):
            put(database, queue, *(f"job {number}" for number in range(first, first + 50)))
        messages = (
            spark.readStream.format("headwater")
            .option("source", f"{module}:WorkQueues")
            .option("database", database)
            .option("stateLocation", f"{folder}/state")
            .option("receiverIdleTimeout", "5s")
            .load()
        )
        writer = messages.writeStream.format("parquet").option("checkpointLocation", f"{folder}/checkpoint")
        writer.trigger(availableNow=True).start(f"{folder}/rows").awaitTermination()
        print(f"{spark.read.parquet(f'{folder}/rows').count()} messages, {left(database)} left")


if __name__ == "__main__":
    # In place of installing it: Spark's Python processes look for modules there.
    os.environ["PYTHONPATH"] = os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
    main(hw.session("work_queue_source", master="local[2]", conf={"spark.log.level": "ERROR"}))
