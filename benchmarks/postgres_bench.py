"""What the benchmarks of PostgreSQL share: a server, a Spark, peers, and slots that come and go."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from tempfile import TemporaryDirectory
from typing import Any

import psycopg
from pyspark.sql import SparkSession

from benchmarks.postgres_peers import Peer, Place
from benchmarks.side_by_side import Subject, require_rows, show, take_turns
from local_postgres import LocalPostgres

ROLE = "bench"
"""Its password is the same."""


@dataclass(frozen=True)
class PostgresBench:
    """What each benchmark gets.

    Attributes:
        sql: a session of the superuser.
        rounds: how many count.
        warmups: how many come before: the first one compiles and loads.
    """

    server: LocalPostgres
    sql: psycopg.Connection[Any]
    spark: SparkSession
    peers: Sequence[Peer]
    rounds: int
    warmups: int = 1
    _numbers: Iterator[int] = field(default_factory=count)

    def run(self, *statements: str) -> None:
        """Execute statements."""
        for statement in statements:
            self.sql.execute(statement.encode())

    def compare(self, subjects: Mapping[str, Subject], rows: int) -> None:
        """Let subjects read the same rows in turns; print their rates."""
        show(take_turns(subjects, self.server.pid, warmups=self.warmups, rounds=self.rounds), rows)

    def options(self, table: str) -> dict[str, str]:
        """Return those that headwater needs for a table. Over TCP, as for the others."""
        return {"url": self.server.url, "username": ROLE, "password": ROLE, "table": table}

    def peers_read(
        self, read: Callable[[Peer, Place, str, int], float], table: str, rows: int, base: str | None = None
    ) -> dict[str, Subject]:
        """Return how each peer reads all that there is of a table, with a new `slot` each time."""
        place = Place(self.server.port, ROLE, ROLE, table)

        def subject(peer: Peer) -> float:
            with self.slot(base) as slot:
                return read(peer, place, slot, rows)

        return {peer.name: partial(subject, peer) for peer in self.peers}

    def stream(self, table: str, rows: int, base: str | None = None, **options: str) -> Subject:
        """Return how a stream of headwater reads all that there is into a noop sink, from a new `slot`.

        Its publication has the name of the table.
        """

        def subject() -> float:
            with self.slot(base) as slot, TemporaryDirectory() as folder:
                place = {"slot": slot, "publication": table, "stateLocation": f"{folder}/state"}
                frame = self.spark.readStream.format("headwater").options(
                    source="postgres", **self.options(table), **place, **options
                )
                began = time.perf_counter()
                written = frame.load().writeStream.format("noop").trigger(availableNow=True)
                query = written.option("checkpointLocation", f"{folder}/log").start()
                query.awaitTermination()
                seconds = time.perf_counter() - began
            require_rows("the stream", sum(each.numInputRows for each in query.recentProgress), rows)
            return seconds

        return subject

    @contextmanager
    def slot(self, base: str | None = None) -> Iterator[str]:
        """Yield the name of a slot: a copy of ``base``, or one that whoever reads it makes. It is dropped."""
        name = f"slot_{next(self._numbers)}"
        if base is not None:
            self.run(f"SELECT pg_copy_logical_replication_slot('{base}', '{name}')")
        try:
            yield name
        finally:
            # Flink makes more, with its tasks' numbers behind the name; a connection may still be open.
            these = f"FROM pg_replication_slots WHERE slot_name ~ '^{name}(_|$)'"
            self.run(
                f"SELECT pg_terminate_backend(active_pid, 10000) {these} AND active",
                f"SELECT pg_drop_replication_slot(slot_name) {these}",
            )
