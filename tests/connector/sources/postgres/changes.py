"""Tables of a real server whose changes a test reads, with Spark's part played in this process."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg.pq import ExecStatus

from headwater.core.source import Boundedness
from headwater.testing import MicroBatchEngine
from headwater.testing.making import configured
from local_postgres import LocalPostgres
from tests.patience import PATIENCE_S

META = ("_lsn", "_seq", "_xid", "_commit_ts", "_sync", "_unchanged")


class ChangedTable:
    """A table with a slot and a publication of its own, and an engine that reads it.

    Args:
        server: it is on.
        name: of the table, from which those of slot and publication are made.
        columns: of the table, as SQL has them.
        options: of the source, beside those that are needed.
    """

    def __init__(self, server: LocalPostgres, name: str, columns: str, **options: str) -> None:
        self.server = server
        self.name = name
        self.sql = psycopg.connect(server.conninfo, autocommit=True)
        self.sql.execute(f"CREATE TABLE {name} ({columns})".encode())
        self.options = {
            "url": server.conninfo,
            "table": name,
            "slot": f"slot_{name}",
            "publication": f"pub_{name}",
            "createPublication": "true",
            **options,
        }
        self.engine = self.new_engine()
        self._seen = 0

    def new_engine(self, **options: str) -> MicroBatchEngine:
        """Return a query on a checkpoint of its own."""
        return MicroBatchEngine.of("postgres", {**self.options, **options})

    def source(self, **options: str) -> Any:
        """Return the source of the query, as a new process makes it."""
        return configured("postgres", {**self.options, **options}, Boundedness.CONTINUOUS_UNBOUNDED)

    def execute(self, *statements: str) -> None:
        """Run statements, each in a transaction of its own."""
        for each in statements:
            self.sql.execute(each.encode())

    def together(self, *statements: str) -> None:
        """Run statements in one transaction."""
        with self.sql.transaction():
            self.execute(*statements)

    def ask(self, question: str) -> Any:
        """Return the first value of the first row of an answer."""
        row = self.sql.execute(question.encode()).fetchone()
        assert row is not None
        return row[0]

    def rows(self) -> list[dict[str, Any]]:
        """Run the query, and return the rows that it has brought since the last call."""
        self.engine.run()
        new = self.engine.rows[self._seen :]
        self._seen += len(new)
        return new

    def drop_slot(self, slot: str = "") -> None:
        """Remove the slot, or another one, whoever reads it."""
        named = f"FROM pg_replication_slots WHERE slot_name = '{slot or f'slot_{self.name}'}'"
        self.execute(
            f"SELECT pg_terminate_backend(active_pid, 20000) {named} AND active_pid IS NOT NULL",
            f"SELECT pg_drop_replication_slot(slot_name) {named}",
        )

    def drop(self) -> None:
        """Remove the table, its slot and its publication."""
        try:
            self.drop_slot()
            self.execute(
                f"DROP TABLE IF EXISTS {self.name} CASCADE", f"DROP PUBLICATION IF EXISTS pub_{self.name}"
            )
        finally:
            self.sql.close()


@contextmanager
def changed_table(server: LocalPostgres, name: str, columns: str, **options: str) -> Iterator[ChangedTable]:
    """Make a table whose changes are read from now on."""
    table = ChangedTable(server, name, columns, **options)
    try:
        yield table
    finally:
        table.drop()


def told(rows: Sequence[dict[str, Any]], *columns: str) -> list[tuple[Any, ...]]:
    """Return of each row its kind and these columns."""
    return [tuple(row[each] for each in ("_op", *columns)) for row in rows]


def attached(server: LocalPostgres, slot: str, publication: str, application: str) -> psycopg.Connection[Any]:
    """Return a connection that holds a slot and never reads, as that of a host that is gone.

    Whoever has read the slot before may be about to end still.
    """
    connection = psycopg.connect(
        f"{server.conninfo} replication=database application_name='{application}'", autocommit=True
    )
    options = f"(proto_version '1', publication_names '{publication}')"
    command = f"START_REPLICATION SLOT {slot} LOGICAL 0/0 {options}"
    deadline_s = time.monotonic() + PATIENCE_S
    while connection.pgconn.exec_(command.encode()).status != ExecStatus.COPY_BOTH:
        assert time.monotonic() < deadline_s, connection.pgconn.error_message
    return connection
