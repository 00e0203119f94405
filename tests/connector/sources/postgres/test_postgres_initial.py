"""A stream that begins with the rows of a real table, with writers at work, and Spark's part played here."""

from __future__ import annotations

import itertools
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import psycopg
import pytest

from headwater.core.errors import (
    AuthorizationError,
    LostSlotError,
    OptionError,
    SourceError,
    TransientSourceError,
)
from headwater.core.source import Boundedness
from headwater.testing import MicroBatchEngine
from headwater.testing.engine import Step
from headwater.testing.making import configured
from local_postgres import LocalPostgres
from tests.connector.sources.postgres.changes import ChangedTable, changed_table, told
from tests.patience import PATIENCE_S

_NUMBERS = itertools.count()
Make = Callable[..., ChangedTable]


@pytest.fixture
def make(postgres: LocalPostgres, tmp_path: Path) -> Iterator[Make]:
    """Makes tables that are read from their rows on, in chunks of ten."""
    with ExitStack() as tables:

        def made(columns: str = "id int PRIMARY KEY, s text", **options: str) -> ChangedTable:
            given = {
                "startingPosition": "initial",
                "stateLocation": str(tmp_path),
                "chunkRows": "10",
                "snapshotTasks": "1",
                **options,
            }
            return tables.enter_context(
                changed_table(postgres, f"initial_{next(_NUMBERS)}", columns, **given)
            )

        yield made


def _fill(table: ChangedTable, rows: int = 95) -> None:
    table.execute(f"INSERT INTO {table.name} SELECT i, 'v' || i FROM generate_series(1, {rows}) i")


def test_all_rows_that_are_there_come_first_then_every_later_change(make: Make) -> None:
    table = make()
    _fill(table)
    rows = table.rows()
    assert sorted(told(rows, "id", "s")) == sorted(("r", i, f"v{i}") for i in range(1, 96))
    assert {(row["_seq"], row["_xid"], row["_commit_ts"], tuple(row["_unchanged"])) for row in rows} == {
        (-1, None, None, ())
    }
    table.execute(
        f"INSERT INTO {table.name} VALUES (200, 'x')",
        f"UPDATE {table.name} SET s = 'y' WHERE id = 5",
        f"DELETE FROM {table.name} WHERE id = 6",
    )
    later = table.rows()
    assert told(later, "id", "s") == [("c", 200, "x"), ("u", 5, "y"), ("d", 6, None)]
    assert min(row["_lsn"] for row in later) >= rows[0]["_lsn"]
    assert table.rows() == []


def test_an_empty_table_is_one_chunk_without_rows(make: Make) -> None:
    table = make()
    assert table.rows() == []
    table.execute(f"INSERT INTO {table.name} VALUES (1, 'a')")
    assert told(table.rows(), "id") == [("c", 1)]


@pytest.mark.parametrize(
    ("columns", "expression"),
    [
        ("id int PRIMARY KEY, s text", "i - 40"),
        ("id bigint PRIMARY KEY, s text", "i * 1000000000000 - 5"),
        pytest.param("id smallint PRIMARY KEY, s text", "i", marks=pytest.mark.long),
        ("id uuid PRIMARY KEY, s text", "md5(i::text)::uuid"),
        ("id text PRIMARY KEY, s text", "CASE WHEN i % 2 = 0 THEN '''é%' ELSE 'Z\\' END || i"),
        ('id text COLLATE "en-x-icu" PRIMARY KEY, s text', "CASE WHEN i % 2 = 0 THEN 'a' ELSE 'B' END || i"),
        pytest.param("id varchar(9) PRIMARY KEY, s text", "i::text", marks=pytest.mark.long),
        ("id bytea PRIMARY KEY, s text", "decode(lpad(to_hex(i * 37), 6, '0'), 'hex')"),
        ("id timestamptz PRIMARY KEY, s text", "'2026-01-01'::timestamptz + i * interval '1 microsecond'"),
        pytest.param(
            "id timestamp PRIMARY KEY, s text",
            "'1969-12-31'::timestamp + i * interval '1 hour'",
            marks=pytest.mark.long,
        ),
        pytest.param("id date PRIMARY KEY, s text", "'1999-12-01'::date + i", marks=pytest.mark.long),
        pytest.param("id oid PRIMARY KEY, s text", "3000000000 + i", marks=pytest.mark.long),
        # A name that is the same as that of what a query gives, and one that needs quotes.
        ('"k""%s" int, id int, s text, PRIMARY KEY (id, "k""%s")', "i % 7, i"),
        pytest.param("id text, s text, n int, PRIMARY KEY (id, n)", "(i % 5)::text", marks=pytest.mark.long),
    ],
)
def test_tables_are_cut_by_keys_of_each_type_and_writers_change_every_chunk(
    make: Make, columns: str, expression: str
) -> None:
    """After each batch all rows are changed: each change comes once, whichever chunk has its key."""
    table = make(columns)
    name = table.name
    target = {'"k': f'{name} ("k""%s", id)', "id text, s text, n": f"{name} (id, n)"}
    into = next((target[each] for each in target if columns.startswith(each)), f"{name} (id)")
    select = f"{expression}, i" if into.endswith("(id, n)") else expression
    table.execute(f"INSERT INTO {into} SELECT {select} FROM generate_series(1, 95) i")
    table.execute(f"UPDATE {name} SET s = '0'")
    updates = 0
    while table.engine.run(crash_after=Step.COMMITTED, in_batch=len(table.engine.offsets)):
        if updates < 4:
            updates += 1
            table.execute(f"UPDATE {name} SET s = '{updates}'")
    rows = table.engine.rows
    keys = [each for each in rows[0] if each in {"id", 'k"%s', "n"}]
    by_key: dict[Any, list[tuple[str, int]]] = {}
    for row in rows:
        by_key.setdefault(tuple(row[each] for each in keys), []).append((row["_op"], int(row["s"])))
    assert len(by_key) == 95
    assert all(
        [op for op, _ in each] == ["r"] + ["u"] * (len(each) - 1)
        and [value for _, value in each] == list(range(updates + 1))[-len(each) :]
        for each in by_key.values()
    ), by_key
    assert len([offset for offset in table.engine.offsets if "chunk-" in offset]) > 2


@pytest.fixture
def waits(tmp_path: Path) -> Iterator[ChangedTable]:
    """A table of a server that waits for a standby, which never comes, with commits that ask for it."""
    settings = {"synchronous_standby_names": "nobody", "synchronous_commit": "local"}
    options = {"startingPosition": "initial", "stateLocation": str(tmp_path)}
    with (
        LocalPostgres(settings=settings) as server,
        changed_table(server, "waits", "id int PRIMARY KEY, s text", **options) as table,
    ):
        # What tells commits to wait is done by the process that makes checkpoints, when it begins.
        table.execute("CHECKPOINT")
        yield table


_WAITING = "FROM pg_stat_activity WHERE wait_event = 'SyncRep'"


def _commit_and_wait(table: ChangedTable, statement: str) -> psycopg.Connection[Any]:
    """Return a connection whose commit is in the log, and waits."""
    writer = psycopg.connect(table.server.conninfo, autocommit=True, options="-c synchronous_commit=on")
    writer.pgconn.send_query(statement.encode())
    _wait_for(table, f"SELECT count(*) {_WAITING} AND pid = {writer.info.backend_pid}")
    return writer


def _let_commits_go(table: ChangedTable) -> None:
    table.execute(f"SELECT pg_cancel_backend(pid) {_WAITING}")


def test_a_commit_that_waits_for_a_standby_is_not_taken_for_one_that_a_chunk_has_seen(
    waits: ChangedTable,
) -> None:
    """Its record is in the log before the chunk is read, and nobody can see it yet."""
    waits.execute("INSERT INTO waits VALUES (1, 'old'), (2, 'old')")
    waits.engine.run(crash_after=Step.LOGGED)
    with ExitStack() as writers:
        for row in (1, 2):
            statement = f"UPDATE waits SET s = 'new' WHERE id = {row}"
            writers.enter_context(closing(_commit_and_wait(waits, statement)))
        rows = waits.rows()
        _let_commits_go(waits)
    assert sorted(told(rows, "id", "s")) == [
        ("r", 1, "old"),
        ("r", 2, "old"),
        ("u", 1, "new"),
        ("u", 2, "new"),
    ]
    assert all(row["_xid"] is None or row["_xid"] > 0 for row in rows)
    assert waits.rows() == []


def test_a_commit_that_waits_for_a_standby_while_the_slot_is_made_is_not_lost(waits: ChangedTable) -> None:
    """Its record is before the slot begins: so no chunk is read before it can be seen."""
    with (
        closing(waits.source().create_coordinator()) as coordinator,
        # The slot waits for the first one, then for the second one: then it begins.
        psycopg.connect(waits.server.conninfo) as first,
        psycopg.connect(waits.server.conninfo) as second,
    ):
        first.execute("SELECT pg_current_xact_id()")
        planned: list[Any] = []
        planning = threading.Thread(
            target=lambda: planned.append(coordinator.plan_next(coordinator.initial_offset(), limited=True))
        )
        planning.start()
        blocked = "SELECT count(*) FROM pg_stat_activity WHERE {} = ANY(pg_blocking_pids(pid))"
        _wait_for(waits, blocked.format(first.info.backend_pid))
        second.execute("SELECT pg_current_xact_id()")
        first.close()
        _wait_for(waits, blocked.format(second.info.backend_pid))
        with closing(_commit_and_wait(waits, "INSERT INTO waits VALUES (1, 'late')")):
            second.close()
            planning.join()
            assert planned[0]["positions"] == {}
            assert coordinator.plan_next(planned[0], limited=True) == planned[0]
            _let_commits_go(waits)
            _wait_for(waits, "SELECT count(*) FROM waits")
        assert list(coordinator.plan_next(planned[0], limited=True)["positions"])


def test_a_slot_from_before_waits_for_transactions_that_wrote_before_the_table_was_published(
    make: Make,
) -> None:
    """Their earlier rows are not in the log, and no chunk sees them before they are over."""
    table = make(createPublication="false", retryDeadline="1s")
    name = table.name
    table.execute(
        f"CREATE PUBLICATION pub_{name}",
        f"SELECT pg_create_logical_replication_slot('slot_{name}', 'pgoutput')",
    )
    with psycopg.connect(table.server.conninfo) as writer:
        writer.execute(f"INSERT INTO {name} VALUES (1, 'before')".encode())
        table.execute(f"ALTER PUBLICATION pub_{name} ADD TABLE {name}")
        writer.execute(f"INSERT INTO {name} VALUES (2, 'after')".encode())
        source = configured("postgres", table.options, Boundedness.CONTINUOUS_UNBOUNDED)
        with closing(source.create_coordinator()) as coordinator:
            waiting = coordinator.plan_next(coordinator.initial_offset(), limited=True)
            assert waiting["positions"] == {}
            assert coordinator.plan_next(waiting, limited=True) == waiting
            with pytest.raises(TransientSourceError, match="pg_stat_activity"):
                table.rows()
            writer.commit()
            assert coordinator.plan_next(waiting, limited=True) != waiting
    table.engine = table.new_engine()
    assert sorted(told(table.rows(), "id", "s")) == [("r", 1, "before"), ("r", 2, "after")]


def test_rows_whose_commit_a_crash_of_the_server_undoes_are_not_published(tmp_path: Path) -> None:
    settings = {"wal_writer_delay": "10s", "wal_writer_flush_after": "0", "fsync": "on"}
    with (
        LocalPostgres(settings=settings) as server,
        changed_table(
            server,
            "undone",
            "id int PRIMARY KEY, s text",
            startingPosition="initial",
            stateLocation=str(tmp_path),
            chunkRows="100",
        ) as table,
    ):
        table.execute("INSERT INTO undone VALUES (1, 'kept')")
        table.engine.run(crash_after=Step.LOGGED)
        table.execute("SET synchronous_commit = off", "INSERT INTO undone VALUES (2, 'at risk')")
        assert table.ask("SELECT pg_current_wal_insert_lsn() > pg_current_wal_flush_lsn()")
        assert table.engine.run(crash_after=Step.READ)
        table.sql.close()
        server.kill()
        server.start()
        table.sql = psycopg.connect(server.conninfo, autocommit=True)
        rows = table.rows()
        there = {row[0] for row in table.sql.execute("SELECT id FROM undone").fetchall()}
        assert {row["id"] for row in rows if row["_op"] == "r"} <= there
        assert {row["id"] for row in rows} == there


@pytest.mark.parametrize(
    ("columns", "identity", "why"),
    [
        ("id int, s text", "FULL", "it has no primary key"),
        (
            "id numeric(9, 2) PRIMARY KEY, s text",
            "DEFAULT",
            "nothing but the server orders values of numeric",
        ),
    ],
)
def test_a_table_that_cannot_be_cut_is_one_chunk_and_a_warning_says_why(
    make: Make, caplog: pytest.LogCaptureFixture, columns: str, identity: str, why: str
) -> None:
    table = make(columns)
    table.execute(f"ALTER TABLE {table.name} REPLICA IDENTITY {identity}")
    _fill(table, 30)
    table.engine.run(crash_after=Step.READ)
    table.execute(f"UPDATE {table.name} SET s = 'new' WHERE id = 3")
    rows = table.rows()
    assert [row["_op"] for row in rows] == ["r"] * 30 + ["u"]
    assert why in caplog.text


@pytest.mark.parametrize("identity", ["DEFAULT", "FULL"])
def test_columns_that_an_index_of_the_key_only_carries_are_no_part_of_it(make: Make, identity: str) -> None:
    table = make("id int, s text, PRIMARY KEY (id) INCLUDE (s)")
    name = table.name
    table.execute(f"ALTER TABLE {name} REPLICA IDENTITY {identity}")
    _fill(table)
    table.engine.run(crash_after=Step.READ)
    table.execute(f"UPDATE {name} SET s = 'z' WHERE id = 11", f"DELETE FROM {name} WHERE id = 12")
    rows = table.rows()
    assert [row["id"] for row in rows if row["_op"] == "r"] == list(range(1, 96))
    assert told(rows[95:], "id") == [("u", 11), ("d", 12)]


@pytest.mark.parametrize("identity", ["FULL", "USING INDEX other_key"])
def test_other_replica_identities_name_rows_too(make: Make, identity: str) -> None:
    table = make("id int PRIMARY KEY, s text, other int NOT NULL DEFAULT 0")
    table.execute(f"UPDATE {table.name} SET other = -id", "DROP INDEX IF EXISTS other_key")
    _fill(table)
    table.execute(f"UPDATE {table.name} SET other = -id")
    table.execute(f"CREATE UNIQUE INDEX other_key ON {table.name} (other)")
    table.execute(f"ALTER TABLE {table.name} REPLICA IDENTITY {identity}")
    table.engine.run(crash_after=Step.COMMITTED)
    table.execute(
        f"UPDATE {table.name} SET s = 'x' WHERE id IN (2, 90)",
        f"UPDATE {table.name} SET id = id + 500, other = other - 500 WHERE id IN (3, 91)",
        f"DELETE FROM {table.name} WHERE id IN (4, 92)",
    )
    rows = table.rows()
    state: dict[int, tuple[int, str]] = {}
    for row in table.engine.rows:
        if row["_op"] == "d":
            del state[row["other"]]
        else:
            state[row["other"]] = (row["id"], row["s"])
    assert (
        sorted(state.values())
        == table.sql.execute(f"SELECT id, s FROM {table.name} ORDER BY 1".encode()).fetchall()
    )
    assert {row["_op"] for row in rows} >= {"r", "u", "d"}


def test_what_the_publication_leaves_out_is_in_no_chunk(make: Make) -> None:
    table = make("id int PRIMARY KEY, s text, secret text", createPublication="false")
    _fill(table)
    table.execute(f"CREATE PUBLICATION pub_{table.name} FOR TABLE {table.name} (id, s) WHERE (id > 50)")
    rows = table.rows()
    assert sorted(row["id"] for row in rows) == list(range(51, 96))
    assert "secret" not in rows[0]


def test_rows_that_a_policy_hides_from_the_role_are_an_error(make: Make) -> None:
    table = make(createPublication="false")
    _fill(table)
    role = f"reader_{table.name}"
    table.execute(
        f"CREATE PUBLICATION pub_{table.name} FOR TABLE {table.name}",
        f"CREATE ROLE {role} LOGIN REPLICATION",
        f"GRANT SELECT ON {table.name} TO {role}",
        f"ALTER TABLE {table.name} ENABLE ROW LEVEL SECURITY",
        f"CREATE POLICY half ON {table.name} USING (id < 50)",
    )
    table.options["url"] = table.server.conninfo.replace("user=postgres", f"user={role}")
    table.engine = table.new_engine()
    with pytest.raises(AuthorizationError, match="row-level security"):
        table.rows()
    table.execute(f"DROP POLICY half ON {table.name}", f"ALTER TABLE {table.name} DISABLE ROW LEVEL SECURITY")
    assert len(table.rows()) == 95
    table.execute(f"REVOKE ALL ON {table.name} FROM {role}", f"DROP ROLE {role}")


def test_a_partitioned_table_is_cut_through_its_root(make: Make) -> None:
    table = make("id int PRIMARY KEY, s text) PARTITION BY RANGE (id")
    for low, high in ((0, 40), (40, 1_000)):
        table.execute(
            f"CREATE TABLE {table.name}_{low} PARTITION OF {table.name} FOR VALUES FROM ({low}) TO ({high})"
        )
    _fill(table)
    table.engine.run(crash_after=Step.COMMITTED)
    table.execute(f"UPDATE {table.name} SET id = id + 100 WHERE id = 39")
    table.rows()
    table.execute(f"UPDATE {table.name} SET id = id - 100 WHERE id = 139")
    # The chunk of 139 came after the first move, that of 39 before.
    brought = told(table.engine.rows + table.rows(), "id")
    assert {("r", 39), ("r", 139)} < set(brought)
    assert brought[-3:] == [("d", 39), ("d", 139), ("c", 39)]


def test_a_truncate_between_chunks_is_refused_and_one_before_all_of_them_is_not_read_again(
    make: Make,
) -> None:
    table = make()
    _fill(table)
    table.engine.run(crash_after=Step.LOGGED)
    table.execute(f"TRUNCATE {table.name}")
    _fill(table, 5)
    assert sorted(told(table.rows(), "id")) == [("r", number) for number in range(1, 6)]
    other = make()
    _fill(other)
    other.engine.run(crash_after=Step.COMMITTED)
    other.execute(f"TRUNCATE {other.name}")
    _fill(other, 60)
    with pytest.raises(SourceError, match="truncated while its rows were read"):
        other.rows()


@pytest.mark.parametrize("statement", ["ALTER s TYPE varchar(9)", "ALTER id TYPE int USING id + 0"])
def test_rows_are_not_lost_to_a_table_that_is_written_anew_while_a_chunk_begins(
    make: Make, statement: str
) -> None:
    """A snapshot from before does not see the rows that the new file has, and the log has nothing of them."""
    table = make(chunkRows="100")
    name = table.name
    _fill(table, 30)
    table.engine.run(crash_after=Step.LOGGED)
    admin = psycopg.connect(table.server.conninfo)
    admin.execute(f"ALTER TABLE {name} {statement}".encode())

    def let_go() -> None:
        waiting = "FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
        _wait_for(table, f"SELECT count(*) {waiting} AND query LIKE '%{name}%'")
        admin.commit()
        admin.close()

    other = threading.Thread(target=let_go)
    other.start()
    rows = table.rows()
    other.join()
    assert sorted(told(rows, "id")) == [("r", i) for i in range(1, 31)]


def test_a_slot_that_is_gone_while_chunks_are_read_ends_the_query_at_the_next_plan(make: Make) -> None:
    table = make()
    _fill(table)
    table.engine.run(crash_after=Step.COMMITTED)
    table.drop_slot()
    with pytest.raises(LostSlotError, match="does not exist any more"):
        table.rows()
    table.execute(f"SELECT pg_create_logical_replication_slot('slot_{table.name}', 'pgoutput')")


def test_a_table_that_was_made_anew_between_chunks_is_another_table(make: Make) -> None:
    table = make()
    _fill(table)
    table.engine.run(crash_after=Step.LOGGED)
    table.execute(f"ALTER TABLE {table.name} RENAME TO was_{table.name}")
    table.execute(f"CREATE TABLE {table.name} (id int PRIMARY KEY, s text)")
    table.execute(f"ALTER PUBLICATION pub_{table.name} ADD TABLE {table.name}")
    with pytest.raises(SourceError, match="made anew"):
        table.rows()
    table.execute(f"DROP TABLE was_{table.name}")


@pytest.mark.parametrize("committed", [1, 20])
def test_a_checkpoint_goes_on_as_it_began_whatever_the_option_says_now(make: Make, committed: int) -> None:
    table = make()
    _fill(table)
    table.engine = MicroBatchEngine.of("postgres", table.options)
    for _ in range(committed):
        table.engine.run(crash_after=Step.COMMITTED, in_batch=len(table.engine.offsets))
    del table.options["startingPosition"]
    folder = table.options.pop("stateLocation")
    with pytest.raises(OptionError, match="the one that the query began with"):
        table.rows()
    table.options["stateLocation"] = folder
    table.execute(f"DELETE FROM {table.name} WHERE id = 7")
    table.rows()
    assert sorted(row["id"] for row in table.engine.rows if row["_op"] == "r") == list(range(1, 96))
    assert told(table.engine.rows, "id")[-1] == ("d", 7)


def test_a_state_location_is_needed() -> None:
    options = {"url": "postgresql://db/shop", "table": "t", "slot": "s", "publication": "p"}
    with pytest.raises(OptionError, match="is required with startingPosition=initial"):
        configured("postgres", {**options, "startingPosition": "initial"}, Boundedness.CONTINUOUS_UNBOUNDED)


def test_offsets_stay_small_however_many_chunks_there_are(make: Make) -> None:
    table = make(chunkRows="1", snapshotTasks="4")
    _fill(table, 160)
    table.engine.run()
    table.execute(f"DELETE FROM {table.name}")
    table.engine.run()
    table.engine.run()
    assert len(table.engine.offsets) >= 160 // 16
    assert max(map(len, table.engine.offsets)) < 20_000
    assert json.loads(table.engine.offsets[-1])["state"].keys() == {"phase", "query", "next", "rows"}


def _wait_for(table: ChangedTable, question: str) -> None:
    """Ask until the answer is not 0."""
    deadline_s = time.monotonic() + PATIENCE_S
    never = threading.Event()
    while not table.ask(question):
        assert time.monotonic() < deadline_s, question
        never.wait(0.01)
