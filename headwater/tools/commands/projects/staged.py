"""The project of a staged source: a queue that forgets what was acknowledged, and cannot be read again."""

from __future__ import annotations

from typing import Final

from headwater.tools.commands.projects.shared import Project

__all__ = ["STAGED"]

_SOURCE: Final = '''\
"""The source $name: messages of queues, which are deleted when they are acknowledged.

Replace the parts that know SQLite by your own system. A receiver is a process of its own that imports this
module: keep imports of Spark out of its top.
"""

import secrets
import sqlite3
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any, Self

import pyarrow as pa

import headwater as hw

SCHEMA = pa.schema((("queue", pa.string()), ("body", pa.string())))
TABLES = """
CREATE TABLE IF NOT EXISTS messages (id INTEGER PRIMARY KEY AUTOINCREMENT, queue TEXT, body TEXT);
CREATE TABLE IF NOT EXISTS holders (queue TEXT PRIMARY KEY, holder TEXT);
"""
LOOK_S = 0.05


class Client(hw.contracts.StagedClient[int]):
    """A connection to one queue. The token of a message is its id, and so is its key."""

    def __init__(self, database: str) -> None:
        self._path = database
        self._holder = secrets.token_hex(8)
        self._woken = threading.Event()
        self._last = 0

    def open(self, split: hw.contracts.Split) -> None:
        """Take the queue away from whoever had it, and begin with the first message that is there."""
        self._queue = split.split_id
        self._database = sqlite3.connect(self._path, timeout=30)
        with self._database:
            self._database.execute("REPLACE INTO holders VALUES (?, ?)", (self._queue, self._holder))

    def poll(self, timeout_ms: int, most: int) -> hw.contracts.Delivery[int] | None:
        """Wait for messages, which stay in the queue."""
        until_s = time.monotonic() + timeout_ms / 1000
        while not (messages := self._next(most)):
            left_s = until_s - time.monotonic()
            if left_s <= 0 or self._woken.wait(min(LOOK_S, left_s)):
                self._woken.clear()
                return None
        ids = [number for number, _ in messages]
        self._last = ids[-1]
        rows = [{"queue": self._queue, "body": body} for _, body in messages]
        keys = [str(number).encode() for number in ids]
        return hw.contracts.Delivery(pa.RecordBatch.from_pylist(rows, schema=SCHEMA), keys, ids)

    def acknowledge(self, tokens: Sequence[int]) -> None:
        """Delete messages, if this connection has the queue still."""
        delete = "DELETE FROM messages WHERE id = ? AND ? = (SELECT holder FROM holders WHERE queue = ?)"
        with self._database:
            self._database.executemany(delete, [(token, self._holder, self._queue) for token in tokens])

    def wake_up(self) -> None:
        """End a poll that waits; called on another thread."""
        self._woken.set()

    def close(self) -> None:
        """Close the connection. What was not acknowledged is delivered again, to the next one."""
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
        """Assign the queues that are new."""
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
class $cls(hw.contracts.StagedSource[hw.NamedSplit]):
    """The queues of one database."""

    name = "$name"
    OPTIONS = (hw.options.Option("database", hw.options.text, None, "The file.", required=True),)

    database: str

    @classmethod
    def from_options(
        cls, options: Mapping[str, Any], boundedness: hw.contracts.Boundedness | None
    ) -> Self:
        """Make the source of a query."""
        return cls(database=options["database"])

    def schema(self) -> pa.Schema:
        """Return the columns."""
        return SCHEMA

    def queue(self, split: hw.NamedSplit) -> str:
        """Name a queue among all queues: each is for one query."""
        return f"{self.database}/{split.name}"

    def create_client(self, split: hw.NamedSplit) -> Client:
        """Make a connection, which is opened later."""
        return Client(self.database)

    def create_enumerator(
        self, context: hw.contracts.BarrierSplitEnumeratorContext[hw.NamedSplit, int]
    ) -> Queues:
        """Make the enumerator of a new query."""
        return Queues(context, self.database)

    def restore_enumerator(
        self,
        context: hw.contracts.BarrierSplitEnumeratorContext[hw.NamedSplit, int],
        checkpoint: hw.contracts.Checkpoint[hw.NamedSplit, int],
    ) -> Queues:
        """Make the enumerator of a query that goes on."""
        return Queues(context, self.database)

    def serialize_splits(self, splits: Iterable[hw.NamedSplit]) -> hw.contracts.JsonValue:
        """Return what an offset holds of splits beside their names: nothing."""
        return None

    def deserialize_splits(
        self, paths: Iterable[hw.contracts.SplitPath], definitions: hw.contracts.JsonValue
    ) -> Mapping[hw.contracts.SplitPath, hw.NamedSplit]:
        """Return the splits of an offset."""
        return {path: hw.NamedSplit(path[0]) for path in paths}
'''

_TEST: Final = '''\
"""The source $name keeps its contracts, and its queues theirs."""

import sqlite3
import tempfile
from collections.abc import Mapping
from contextlib import closing
from typing import Any

from headwater import testing
from $module import TABLES, $cls


def put(database: str, *messages: tuple[str, str]) -> None:
    with closing(sqlite3.connect(database)) as queues, queues:
        queues.executescript(TABLES)
        queues.executemany("INSERT INTO messages (queue, body) VALUES (?, ?)", messages)


class Test$cls(testing.SourceTests, testing.StagedTests):
    source = $cls

    def options(self) -> Mapping[str, str]:
        database = f"{tempfile.mkdtemp()}/queues.db"
        self.put = [("mail", f"message {number}") for number in range(9)]
        put(database, *self.put)
        return {"database": database, "idleTimeout": "20ms", "receiverIdleTimeout": "10s"}

    def grow(self, options: Mapping[str, str]) -> None:
        more = [("mail", "one more"), ("later", "first")]
        put(options["database"], *more)
        self.put += more

    def due(self, options: Mapping[str, str]) -> list[dict[str, Any]]:
        """Return the rows that the world has: reading would take them away."""
        return [{"queue": queue, "body": body} for queue, body in self.put]
'''

STAGED: Final = Project(
    about="messages of queues, which are deleted when they are acknowledged",
    mode="""\
It is staged: a queue cannot be read again, so headwater takes messages, writes them into `stateLocation`,
and has them acknowledged then. Tasks read what was written. A queue is for one query, and a batch read takes
its messages away.""",
    options='    .option("database", "/data/queues.db")\n    .option("stateLocation", "/state")',
    source=_SOURCE,
    test=_TEST,
)
