"""What a batch read of a table has, task by task, beside a real server. Without Spark."""

from __future__ import annotations

import json
import os
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
import pytest
from psycopg import sql

from headwater.connector.sources.postgres.source import configure_postgres
from headwater.core.errors import (
    AuthorizationError,
    HeadwaterError,
    OptionError,
    SourceError,
    UnknownSplitError,
)
from headwater.core.source import Boundedness
from headwater.enumerators.postgres.connection import connect
from headwater.enumerators.postgres.snapshot import export_snapshot
from local_postgres import LocalPostgres
from tests.patience import PATIENCE_S

Connection = psycopg.Connection[tuple[Any, ...]]


class Database:
    """A database of one test, as its superuser sees it."""

    def __init__(self, server: LocalPostgres, name: str, connection: Connection) -> None:
        self.url = server.conninfo.replace("dbname=postgres", f"dbname={name}")
        self.connection = connection

    def execute(self, statements: str) -> list[Any]:
        cursor = self.connection.execute(sql.SQL(statements))
        return cursor.fetchall() if cursor.description else []

    def read(
        self, table: str | None = None, between: Callable[[], object] = lambda: None, **options: str
    ) -> list[pa.Table]:
        """Return the rows of each task; ``between`` runs when all is planned and nothing read."""
        given = {"url": self.url, "parallelism": "4", "snapshotIdleTimeout": "30s", **options}
        given |= {} if table is None else {"table": table}
        configured = configure_postgres(
            {key.lower(): each for key, each in given.items()}, Boundedness.BOUNDED
        )
        configured = configured.with_schema(configured.schema(), given=False)
        coordinator = configured.create_coordinator()
        try:
            tasks = coordinator.plan_all()
        finally:
            coordinator.close()
        between()
        schema = configured.schema()
        return [pa.Table.from_batches(map(_copied, configured.read_task(task)), schema) for task in tasks]

    def rows(self, table: str | None = None, **options: Any) -> list[tuple[Any, ...]]:
        found = [tuple(row.values()) for task in self.read(table, **options) for row in task.to_pylist()]
        return sorted(found, key=repr)


def _copied(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return a batch in memory of its own: a task's is valid until the next one."""
    return pa.RecordBatch.from_pylist(batch.to_pylist(), schema=batch.schema)


@pytest.fixture
def database(postgres: LocalPostgres, request: pytest.FixtureRequest) -> Iterator[Database]:
    with psycopg.connect(postgres.conninfo, autocommit=True) as admin:
        name = f"tables_{abs(hash(request.node.name)) % 10**12}"
        admin.execute(f"CREATE DATABASE {name}")
        with psycopg.connect(postgres.conninfo, dbname=name, autocommit=True) as connection:
            yield Database(postgres, name, connection)
        # Snapshots of this test may be held still.
        admin.execute(f"DROP DATABASE {name} WITH (FORCE)")


NUMBERS = "CREATE TABLE numbers AS SELECT i, repeat('x', 500) pad FROM generate_series(1, 3000) i"


def test_ranges_of_blocks_have_each_row_once(database: Database) -> None:
    database.execute(NUMBERS)
    tasks = database.read("numbers", columns="i", minPartitions="7")
    assert len(tasks) == 7
    # Servers from 16 on make a file longer than its rows need: the last ranges may have none.
    assert all(task.num_rows < 1_000 for task in tasks)
    assert sum(task.num_rows > 0 for task in tasks) > 4
    assert sorted(row["i"] for task in tasks for row in task.to_pylist()) == list(range(1, 3001))


def test_all_tasks_see_the_instant_of_the_plan_whatever_is_written_meanwhile(database: Database) -> None:
    database.execute(NUMBERS)

    def write() -> None:
        database.execute("UPDATE numbers SET i = -i WHERE i % 3 = 0")
        database.execute("DELETE FROM numbers WHERE i % 5 = 0")
        database.execute("INSERT INTO numbers SELECT i, '' FROM generate_series(4000, 9000) i")
        database.execute("VACUUM numbers")

    found = database.rows("numbers", columns="i", minPartitions="5", between=write)
    assert sorted(found) == [(i,) for i in range(1, 3001)]


@pytest.mark.parametrize(
    "statement",
    [
        "TRUNCATE numbers",
        "VACUUM FULL numbers",
        "ALTER TABLE numbers ALTER i TYPE bigint",
        "ALTER TABLE numbers RENAME TO others; CREATE TABLE numbers (LIKE others)",
        "DROP TABLE numbers",
        "ALTER TABLE numbers DROP pad; ALTER TABLE numbers ADD pad text DEFAULT 'other'",
        "ALTER TABLE numbers RENAME pad TO y; ALTER TABLE numbers ADD pad text",
    ],
)
def test_a_table_that_is_written_anew_is_an_error_and_never_other_rows(
    database: Database, statement: str
) -> None:
    database.execute(NUMBERS)

    def rewrite() -> None:
        for each in statement.split(";"):
            database.execute(each)

    with pytest.raises(SourceError, match=r"load\(\) it again|check option table"):
        database.read("numbers", between=rewrite)


def test_a_table_that_becomes_a_child_after_the_plan_adds_no_rows(database: Database) -> None:
    database.execute(NUMBERS)
    database.execute("CREATE TABLE child AS SELECT * FROM numbers LIMIT 5")
    inherit = "ALTER TABLE child INHERIT numbers"
    found = database.rows("numbers", columns="i", between=lambda: database.execute(inherit))
    assert found == sorted(((i,) for i in range(1, 3001)), key=repr)


def test_a_truncation_between_snapshot_and_plan_is_noticed(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    database.execute(NUMBERS)

    def export_then_truncate(*args: Any, **kwargs: Any) -> Any:
        snapshot = export_snapshot(*args, **kwargs)
        database.execute("TRUNCATE numbers")
        return snapshot

    monkeypatch.setattr("headwater.enumerators.postgres.ctid_ranges.export_snapshot", export_then_truncate)
    with pytest.raises(SourceError, match="was truncated, rewritten or replaced"):
        database.read("numbers")


def _told(tasks: list[pa.Table]) -> list[tuple[str, Any]]:
    """Return the tables and the values of rows as JSON."""
    return [(row["_table"], json.loads(row["after"])) for task in tasks for row in task.to_pylist()]


def test_rows_of_several_tables_are_those_of_one_instant_whatever_is_moved_between_them(
    database: Database,
) -> None:
    database.execute(NUMBERS)
    database.execute("CREATE TABLE moved (i int)")

    def move() -> None:
        database.execute(
            "WITH gone AS (DELETE FROM numbers RETURNING i) INSERT INTO moved SELECT i FROM gone"
        )

    options: dict[str, Any] = {"tables": "public.moved, numbers", "minPartitions": "3"}
    tasks = database.read(between=move, **options)
    assert len([task for task in tasks if task.num_rows]) > 1
    rows = [row for task in tasks for row in task.to_pylist()]
    assert sorted(int(json.loads(row["after"])["i"]) for row in rows) == list(range(1, 3001))
    known = ("_op", "_seq", "_sync", "_unchanged", "_lsn", "_xid", "_commit_ts", "before", "_table")
    nothing = (None,) * 4
    assert {tuple(map(str, (row[each] for each in known))) for row in rows} == {
        tuple(map(str, ("r", -1, 0, [], *nothing, "public.numbers")))
    }
    assert {table for table, _ in _told(database.read(**options))} == {"public.moved"}


def test_rows_of_several_tables_have_the_columns_and_partitions_of_their_table(database: Database) -> None:
    for statement in f"{PARTITIONED};{OTHERS}".split(";"):
        database.execute(statement)
    database.execute("CREATE TABLE bare ()")
    database.execute("INSERT INTO bare DEFAULT VALUES")
    found = _told(database.read(tables="parts,parts_1,parent,child,seen,bare"))
    assert [row for table, row in found if table == "public.bare"] == [{}]
    for table in ("parts", "parts_1", "parent", "child", "seen"):
        cursor = database.connection.execute(f"SELECT * FROM {table}".encode())
        names = [column.name for column in cursor.description or ()]
        expected = [dict(zip(names, map(str, row), strict=True)) for row in cursor]
        rows = [row for name, row in found if name == f"public.{table}"]
        assert sorted(rows, key=repr) == sorted(expected, key=repr), table


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"table": "numbers"}, "cannot be set together with option table"),
        ({"columns": "i"}, "rows of several have JSON"),
        ({"textColumns": "i"}, "rows of several have JSON"),
        ({"tables": "numbers, public.numbers"}, "names table public.numbers twice"),
    ],
)
def test_what_is_for_one_table_is_refused_with_several(
    database: Database, options: dict[str, Any], message: str
) -> None:
    database.execute(NUMBERS)
    with pytest.raises(OptionError, match=message):
        database.read(**{"tables": "numbers", **options})


def test_a_table_without_columns_has_its_rows_too(database: Database) -> None:
    database.execute("CREATE TABLE bare ()")
    database.execute("INSERT INTO bare DEFAULT VALUES")
    configured = configure_postgres({"url": database.url, "table": "bare"}, Boundedness.BOUNDED)
    configured = configured.with_schema(configured.schema(), given=False)
    coordinator = configured.create_coordinator()
    (task,) = coordinator.plan_all()
    coordinator.close()
    assert [batch.num_rows for batch in configured.read_task(task)] == [1]


def test_nobody_rewrites_a_table_while_a_task_reads_it(database: Database) -> None:
    database.execute(NUMBERS)
    configured = configure_postgres({"url": database.url, "table": "numbers"}, Boundedness.BOUNDED)
    configured = configured.with_schema(configured.schema(), given=False)
    coordinator = configured.create_coordinator()
    (task,) = coordinator.plan_all()
    coordinator.close()
    batches = configured.read_task(task)
    next(batches)
    database.execute("SET lock_timeout = '100ms'")
    with pytest.raises(psycopg.errors.LockNotAvailable):
        database.execute("TRUNCATE numbers")
    batches.close()


PARTITIONED = """
CREATE TABLE parts (i int, t text) PARTITION BY RANGE (i);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (0) TO (10);
CREATE TABLE parts_2 (t text, gone int, i int);
ALTER TABLE parts_2 DROP COLUMN gone;
ALTER TABLE parts ATTACH PARTITION parts_2 FOR VALUES FROM (10) TO (20);
CREATE TABLE parts_3 PARTITION OF parts FOR VALUES FROM (20) TO (100) PARTITION BY HASH (i);
CREATE TABLE parts_3a PARTITION OF parts_3 FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE parts_3b PARTITION OF parts_3 FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO parts SELECT i, 'row ' || i FROM generate_series(0, 99) i
"""
OTHERS = """
CREATE TABLE parent (i int);
CREATE TABLE child (more text) INHERITS (parent);
INSERT INTO parent VALUES (1);
INSERT INTO child VALUES (2, 'x');
CREATE VIEW seen AS SELECT i FROM parts WHERE i < 5;
CREATE MATERIALIZED VIEW kept AS SELECT i FROM parts WHERE i >= 95;
CREATE TABLE empty (i int)
"""


def test_partitions_children_views_and_empty_tables_have_the_rows_of_a_select(database: Database) -> None:
    for statement in f"{PARTITIONED};{OTHERS}".split(";"):
        database.execute(statement)
    tables = {
        "parts": 4,
        "parts_3": 2,
        "parts_1": 1,
        "parent": 2,
        "child": 1,
        "seen": 1,
        "kept": 1,
        "empty": 0,
    }
    for table, tasks in tables.items():
        found = database.read(table)
        assert len(found) == tasks, table
        rows = sorted((tuple(row.values()) for task in found for row in task.to_pylist()), key=repr)
        assert rows == sorted(database.execute(f"SELECT * FROM {table}"), key=repr), table


def test_what_no_snapshot_covers_or_has_no_rows_is_refused_by_name(database: Database) -> None:
    database.execute("CREATE EXTENSION IF NOT EXISTS postgres_fdw")
    database.execute("CREATE SERVER other FOREIGN DATA WRAPPER postgres_fdw")
    database.execute("CREATE FOREIGN TABLE far (i int) SERVER other")
    database.execute("CREATE TABLE near (i int) PARTITION BY LIST (i)")
    database.execute("CREATE FOREIGN TABLE near_far PARTITION OF near FOR VALUES IN (1) SERVER other")
    database.execute("CREATE SEQUENCE counter")
    for table, said in (
        ("far", "public.far, a foreign table, which no snapshot of this server covers"),
        ("near", "public.near_far, a foreign table"),
        ("counter", "is a sequence"),
    ):
        with pytest.raises(SourceError, match=said):
            database.read(table)


def test_a_role_reads_what_it_may_and_row_security_holds_for_partitions(
    postgres: LocalPostgres, database: Database
) -> None:
    for statement in PARTITIONED.split(";"):
        database.execute(statement)
    role = f"reader_{os.getpid()}"
    database.execute(f"CREATE ROLE {role} LOGIN")
    database.url = database.url.replace("user=postgres", f"user={role}")
    try:
        database.execute("CREATE SCHEMA hidden")
        database.execute("CREATE TABLE hidden.secret (i int, j int)")
        for table, said in (
            ("parts", f'role {role} may not read it: GRANT SELECT ON "public"."parts" TO "{role}"'),
            ("hidden.secret", r"\(1\) .*GRANT USAGE ON SCHEMA \"hidden\" TO .*\(2\) .*GRANT SELECT ON"),
        ):
            with pytest.raises(AuthorizationError, match=said):
                database.read(table)
        database.execute(f"GRANT SELECT (i) ON parts TO {role}")
        with pytest.raises(AuthorizationError, match=r"GRANT SELECT \(\"t\"\) ON .* or leave them out"):
            database.read("parts")
        # Partitions may not be read directly: all in one range, through the root.
        assert database.rows("parts", columns="i") == database.execute("SELECT i FROM parts ORDER BY i::text")
        assert len(database.read("parts", columns="i")) == 1
        database.execute(f"GRANT SELECT ON parts, parts_1, parts_2, parts_3a, parts_3b TO {role}")
        assert len(database.read("parts", columns="i")) == 4
        database.execute("ALTER TABLE parts ENABLE ROW LEVEL SECURITY")
        database.execute("CREATE POLICY few ON parts USING (i < 3)")
        assert database.rows("parts", columns="i") == [(0,), (1,), (2,)]
    finally:
        database.execute(f"DROP OWNED BY {role}")
        database.execute(f"DROP ROLE {role}")


def held_snapshots(database: Database) -> list[int]:
    return [
        pid
        for (pid,) in database.execute(
            "SELECT pid FROM pg_stat_activity WHERE application_name = 'headwater snapshot' "
            "AND datname = current_database()"
        )
    ]


def wait_until(condition: Callable[[], bool]) -> None:
    never = threading.Event()
    for _ in range(PATIENCE_S * 20):
        if condition():
            return
        never.wait(0.05)
    raise AssertionError("it did not come")


def test_a_snapshot_is_held_while_tasks_read_and_then_given_up(database: Database) -> None:
    database.execute(NUMBERS)
    database.read("numbers", snapshotIdleTimeout="1s", between=lambda: held_snapshots(database)[0])
    wait_until(lambda: not held_snapshots(database))


def test_a_task_that_comes_after_its_snapshot_fails_and_says_what_to_do(database: Database) -> None:
    database.execute(NUMBERS)

    def end() -> None:
        database.execute(f"SELECT pg_terminate_backend({held_snapshots(database)[0]})")
        wait_until(lambda: not held_snapshots(database))

    with pytest.raises(UnknownSplitError, match=r"is not held any more.*load\(\) the table again"):
        database.read("numbers", between=end)


def test_a_session_that_reads_another_snapshot_is_found_out(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    database.execute(NUMBERS)

    def connect_elsewhere(*args: Any, **kwargs: Any) -> Any:
        """As a pooler that gives each statement to any session."""
        connection = connect(*args, **kwargs)
        execute = connection.execute

        def execute_some(query: Any, *values: Any) -> Any:
            return execute("SELECT 1" if "SET TRANSACTION" in repr(query) else query, *values)

        monkeypatch.setattr(connection, "execute", execute_some)
        return connection

    monkeypatch.setattr("headwater.readers.postgres.copy_reader.connect", connect_elsewhere)
    with pytest.raises(SourceError, match="the session reads another snapshot"):
        database.read("numbers", between=lambda: database.execute("UPDATE numbers SET i = 0"))


def test_a_snapshot_ends_with_the_processes_of_spark(database: Database, tmp_path: Path) -> None:
    """Its process is in the group that Spark's daemon leads, and watches the daemon."""
    import subprocess
    import sys

    program = (
        "import os, sys; os.setpgid(0, 0)\n"
        "from headwater.enumerators.postgres.snapshot import export_snapshot\n"
        "from headwater.enumerators.postgres.settings import PostgresSettings\n"
        f"export_snapshot(PostgresSettings(url={database.url!r}), idle_ms=600_000)\n"
        "print('exported', flush=True); sys.stdin.read()\n"
    )
    daemon = subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert daemon.stdout is not None
    assert daemon.stdout.readline() == "exported\n"
    assert len(held_snapshots(database)) == 1
    daemon.send_signal(signal.SIGKILL)
    daemon.communicate()
    wait_until(lambda: not held_snapshots(database))


def test_a_schema_that_the_table_does_not_have_is_refused_before_a_row_is_read(database: Database) -> None:
    database.execute(NUMBERS)
    options: Mapping[str, str] = {"url": database.url, "table": "numbers"}
    for schema, said in (
        (pa.schema([pa.field("i", pa.int64())]), "plans with column 'i' as int64.* is integer"),
        (pa.schema([pa.field("other", pa.int64())]), "'other' is not a column of table public.numbers"),
    ):
        configured = configure_postgres(options, Boundedness.BOUNDED).with_schema(schema, given=True)
        coordinator = configured.create_coordinator()
        with pytest.raises(HeadwaterError, match=said):
            coordinator.plan_all()
        coordinator.close()


def test_what_keeps_a_table_from_being_read_is_found_also_where_a_schema_is_given(database: Database) -> None:
    name = f"{database.connection.info.dbname}_ascii"
    database.execute(f"CREATE DATABASE {name} ENCODING 'SQL_ASCII' TEMPLATE template0")
    url = database.url.replace(f"dbname={database.connection.info.dbname}", f"dbname={name}")
    try:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("CREATE TABLE texts AS SELECT 'a' || chr(233) AS s")
        schema = pa.schema([pa.field("s", pa.string())])
        given = configure_postgres({"url": url, "table": "texts"}, Boundedness.BOUNDED)
        coordinator = given.with_schema(schema, given=True).create_coordinator()
        with pytest.raises(SourceError, match="no encoding"):
            coordinator.plan_all()
        coordinator.close()
    finally:
        database.execute(f"DROP DATABASE {name} WITH (FORCE)")
