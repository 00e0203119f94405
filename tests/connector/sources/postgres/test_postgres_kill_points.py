"""Random writers, and kills at every point where a task, driver, receiver, host or server can die.

Rows of tables are read, then their changes. Triggers note what writers did: each key has the state of one
moment, and then each later change once.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import psycopg
import pytest

from headwater.testing.engine import Step
from local_postgres import LocalPostgres
from tests.connector.sources.postgres.killing import Kill, KilledQuery

TRANSPORTS = ("direct", "staged")


class _OldServer(LocalPostgres):
    """Its ids of transactions have gone round: the log has 32 bits of them, snapshots have 64."""

    def _make_data(self) -> None:
        super()._make_data()
        self._run("pg_resetwal", "--epoch=5", "-D", "data")


@pytest.fixture(scope="module")
def server() -> Iterator[LocalPostgres]:
    """A server that may be killed."""
    with _OldServer() as running:
        with psycopg.connect(running.conninfo) as sql:
            (xid,) = sql.execute("SELECT pg_current_xact_id()::text::bigint").fetchone() or [0]
        assert xid >> 32 == 5
        yield running


def _one_table(
    server: LocalPostgres, folder: Path, rng: random.Random, kills: Sequence[Kill], **options: str
) -> None:
    with KilledQuery(server, folder, rng, kills, [240], **options) as query:
        query.options["table"] = query.tables[0].name
        # The slot waits for transactions that run: they begin when it is there.
        query.engine.run(crash_after=Step.LOGGED)
        query.write_and_run(rng.randrange(4, 16))
        query.finish()
        left = [path for path in folder.rglob("*") if path.is_file()]
        assert [path for path in left if "postgres-wal" not in str(path)] == []


def _two_tables(
    server: LocalPostgres, folder: Path, rng: random.Random, kills: Sequence[Kill], **options: str
) -> None:
    with KilledQuery(server, folder, rng, kills, [240, 90], **options) as query:
        query.options["tables"] = ",".join(table.name for table in query.tables)
        query.engine.run(crash_after=Step.LOGGED)
        query.write_and_run(rng.randrange(4, 16))
        query.finish()


def _a_table_that_joins(
    server: LocalPostgres, folder: Path, rng: random.Random, kills: Sequence[Kill], **options: str
) -> None:
    with KilledQuery(server, folder, rng, kills, [60, 200], **options) as query:
        first, second = query.tables
        query.options["tables"] = first.name
        query.engine.run()
        query.write_and_run(rng.randrange(1, 4))
        first.execute(f"ALTER PUBLICATION {query.publication} ADD TABLE {second.name}")
        query.write_and_run(rng.randrange(2))
        query.options["tables"] = f"{first.name},{second.name}"
        query.write_and_run(rng.randrange(1, 4))
        query.end_transactions()
        # Without open transactions the chunks begin, and then writers go on.
        query.write_and_run(rng.randrange(3, 10))
        query.finish()
        rows = second.rows_of_several(query.engine.rows)
        assert any(row["_op"] == "r" for row in rows)
        keys: set[Any] = set()
        for row in rows:
            (keys.discard if row["_op"] == "d" else keys.add)(row["id"])
        with psycopg.connect(server.conninfo) as sql:
            there = sql.execute(f"SELECT id FROM {second.name}".encode()).fetchall()
        assert keys == {key for (key,) in there}


TABLES: dict[str, Callable[..., None]] = {
    "one table": _one_table,
    "two tables": _two_tables,
    "a table that joins": _a_table_that_joins,
}


def _kills(transport: str) -> list[Kill]:
    return [kill for kill in Kill if transport == "staged" or not kill.is_of_receiver]


def _cases() -> Iterator[Any]:
    """Yield each kill by each transport with all tables; the first ones of a rotation are not long."""
    rotation = itertools.cycle(TABLES)
    for transport in TRANSPORTS:
        for kill in _kills(transport):
            chosen = next(rotation)
            for tables in TABLES:
                marks = [] if tables == chosen else [pytest.mark.long]
                yield pytest.param(
                    tables, transport, kill, marks=marks, id=f"{tables}-{transport}-{kill.name}"
                )


@pytest.mark.parametrize(("tables", "transport", "kill"), [*_cases()])
def test_keys_are_right_with_open_transactions_and_a_kill_at_any_point(
    server: LocalPostgres, tmp_path: Path, seed: int, *, tables: str, transport: str, kill: Kill
) -> None:
    """Transactions begin before a chunk is read, and end after it; see `AuditedTable.wrong_keys`."""
    rng = random.Random(f"{seed} {kill}")
    TABLES[tables](server, tmp_path, rng, [kill], transport=transport)


@pytest.mark.long
@pytest.mark.parametrize("round_", range(25))
@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize("tables", TABLES)
def test_keys_are_right_with_open_transactions_and_kills_anywhere(
    server: LocalPostgres, tmp_path: Path, seed: int, *, tables: str, transport: str, round_: int
) -> None:
    rng = random.Random(f"{seed} {round_}")
    TABLES[tables](server, tmp_path, rng, _kills(transport), transport=transport)
