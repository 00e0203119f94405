"""The changes of a table of a real PostgreSQL, batch by batch, with Spark's part played in this process."""

from __future__ import annotations

import itertools
import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import psycopg
import pytest

from headwater.core.errors import DataLossError, LostSlotError, OptionError, SourceError
from headwater.core.metrics import PENDING_BYTES
from headwater.enumerators.postgres import slot_reading
from headwater.testing.engine import Step
from local_postgres import LocalPostgres
from tests.connector.sources.postgres.changes import ChangedTable, attached, changed_table, told
from tests.patience import PATIENCE_S

_NUMBERS = itertools.count()
Make = Callable[..., ChangedTable]


@pytest.fixture(params=["direct", pytest.param("staged", marks=pytest.mark.long)])
def transport(request: pytest.FixtureRequest, tmp_path: Path) -> dict[str, str]:
    """The options of one way from the slot to tasks."""
    return {} if request.param == "direct" else {"transport": "staged", "stateLocation": str(tmp_path)}


@pytest.fixture
def make(postgres: LocalPostgres, transport: dict[str, str]) -> Iterator[Make]:
    """Makes tables whose changes are read from now on."""
    with ExitStack() as tables:

        def made(columns: str = "id int PRIMARY KEY, s text", **options: str) -> ChangedTable:
            name = f"changes_{next(_NUMBERS)}"
            table = tables.enter_context(changed_table(postgres, name, columns, **transport, **options))
            assert table.rows() == []
            return table

        yield made


def test_every_change_comes_once_in_the_order_of_commits_whole_transactions_numbered(make: Make) -> None:
    table = make()
    table.execute(f"INSERT INTO {table.name} VALUES (1, 'a'), (2, 'b')")
    table.together(
        f"UPDATE {table.name} SET s = 'c' WHERE id = 1",
        f"UPDATE {table.name} SET id = 3 WHERE id = 2",
        f"DELETE FROM {table.name} WHERE id = 1",
    )
    table.execute(f"TRUNCATE {table.name}")
    rows = table.rows()
    assert told(rows, "id", "s", "_seq") == [
        ("c", 1, "a", 0),
        ("c", 2, "b", 1),
        ("u", 1, "c", 0),
        ("d", 2, None, 1),
        ("c", 3, "b", 2),
        ("d", 1, None, 3),
        ("t", None, None, 0),
    ]
    lsns = [row["_lsn"] for row in rows]
    assert lsns == sorted(lsns)
    assert len(set(lsns)) == 3
    assert len({row["_xid"] for row in rows}) == 3
    assert {tuple(row["_unchanged"]) for row in rows} == {()}
    assert {row["_sync"] for row in rows} == {0}
    assert table.rows() == []


def test_the_newest_server_sends_the_same() -> None:
    with LocalPostgres(version=18) as newest:
        columns = "id int PRIMARY KEY, s text, twice int GENERATED ALWAYS AS (id * 2) STORED"
        with changed_table(newest, "newest", columns) as table:
            assert table.rows() == []
            table.execute("INSERT INTO newest (id, s) VALUES (1, 'a')")
            table.together("UPDATE newest SET id = 2", "TRUNCATE newest")
            assert told(table.rows(), "id", "s", "_seq") == [
                ("c", 1, "a", 0),
                ("d", 1, None, 0),
                ("c", 2, "a", 1),
                ("t", None, None, 2),
            ]
            table.execute("INSERT INTO newest (id) VALUES (3)")
            table.drop_slot()
            with pytest.raises(LostSlotError, match="does not exist any more"):
                table.rows()


@pytest.mark.parametrize("transport", ["direct"], indirect=True)
def test_what_a_batch_leaves_behind_is_reported_in_bytes_of_log(make: Make) -> None:
    table = make(maxBytesPerTrigger="1000")
    for number in range(3):
        table.execute(f"INSERT INTO {table.name} VALUES ({number}, repeat('x', 2000))")
    with closing(table.source().create_coordinator()) as coordinator:
        start = json.loads(table.engine.offsets[-1])
        end = coordinator.plan_next(start, limited=True)
        latest = coordinator.latest()
        assert latest is not None
        left = latest["positions"]["wal"] - end["positions"]["wal"]
        assert left > 2_000
        assert latest["metrics"][PENDING_BYTES] == left


@pytest.mark.parametrize("step", Step)
def test_a_crash_anywhere_neither_loses_nor_doubles_a_change(make: Make, step: Step) -> None:
    table = make()
    expected = []
    for number in range(6):
        table.execute(f"INSERT INTO {table.name} VALUES ({number}, 'x')")
        expected.append(("c", number))
        if number % 2:
            table.engine.run(crash_after=step, in_batch=len(table.engine.offsets))
    table.engine.run()
    assert told(table.engine.rows, "id") == expected


def test_between_two_runs_nothing_is_connected(make: Make) -> None:
    table = make()
    table.execute(f"INSERT INTO {table.name} VALUES (1, 'a')")
    assert len(table.rows()) == 1
    others = "FROM pg_stat_activity WHERE application_name LIKE 'headwater%'"
    deadline_s = time.monotonic() + PATIENCE_S
    while table.ask(f"SELECT count(*) {others}"):
        assert time.monotonic() < deadline_s, table.ask(f"SELECT string_agg(application_name, ', ') {others}")


def test_rows_of_one_copy_and_of_one_transaction_have_one_lsn_and_numbers(make: Make) -> None:
    table = make()
    with table.sql.cursor().copy(f"COPY {table.name} FROM STDIN".encode()) as copy:
        for number in range(1_000):
            copy.write_row((number, "x"))
    rows = table.rows()
    assert [row["id"] for row in rows] == [row["_seq"] for row in rows] == list(range(1_000))
    assert len({row["_lsn"] for row in rows}) == 1


def test_what_savepoints_undo_and_what_is_rolled_back_is_no_change(make: Make) -> None:
    table = make()
    table.execute(
        f"BEGIN; INSERT INTO {table.name} VALUES (1, 'a'); SAVEPOINT s; INSERT INTO {table.name} VALUES "
        f"(2, 'b'); "
        f"ROLLBACK TO s; INSERT INTO {table.name} VALUES (3, 'c'); COMMIT",
        f"BEGIN; INSERT INTO {table.name} VALUES (4, 'd'); ROLLBACK",
        f"BEGIN; INSERT INTO {table.name} VALUES (5, 'e'); PREPARE TRANSACTION 'p_{table.name}'",
        f"COMMIT PREPARED 'p_{table.name}'",
    )
    assert told(table.rows(), "id", "_seq") == [("c", 1, 0), ("c", 3, 1), ("c", 5, 0)]


def test_a_logical_message_in_a_transaction_does_not_hide_the_changes_behind_it(make: Make) -> None:
    table = make()
    table.together(
        f"INSERT INTO {table.name} VALUES (1, 'a')",
        "SELECT pg_logical_emit_message(true, 'note', 'in the transaction')",
        f"INSERT INTO {table.name} VALUES (2, 'b')",
    )
    table.execute("SELECT pg_logical_emit_message(false, 'note', 'outside of it')")
    assert told(table.rows(), "id", "_seq") == [("c", 1, 0), ("c", 2, 1)]


def test_changes_of_other_tables_of_the_publication_are_passed_over(make: Make) -> None:
    table = make()
    table.execute(
        f"CREATE TABLE beside_{table.name} (id int PRIMARY KEY)",
        f"ALTER PUBLICATION pub_{table.name} ADD TABLE beside_{table.name}",
    )
    table.together(
        f"INSERT INTO beside_{table.name} VALUES (7)",
        f"INSERT INTO {table.name} VALUES (1, 'a')",
        f"TRUNCATE {table.name}, beside_{table.name}",
        f"TRUNCATE beside_{table.name}",
    )
    assert told(table.rows(), "id", "_seq") == [("c", 1, 0), ("t", None, 1)]
    table.execute(f"DROP TABLE beside_{table.name}")


def test_a_row_that_moves_between_partitions_is_deleted_and_created(make: Make) -> None:
    table = make("id int, part int, PRIMARY KEY (id, part)) PARTITION BY LIST (part")
    table.execute(
        *(f"CREATE TABLE {table.name}_{n} PARTITION OF {table.name} FOR VALUES IN ({n})" for n in (1, 2))
    )
    table.execute(f"INSERT INTO {table.name} VALUES (1, 1)", f"UPDATE {table.name} SET part = 2")
    assert told(table.rows(), "id", "part", "_seq") == [("c", 1, 1, 0), ("d", 1, 1, 0), ("c", 1, 2, 1)]


LARGE = "repeat(md5(random()::text), 400)"


@pytest.mark.parametrize(
    ("identity", "unchanged", "before"),
    [
        ("DEFAULT", ["t"], None),
        ("USING INDEX other_{name}", ["t"], None),
        ("FULL", [], {"id": 1, "k": 1, "n": 0}),
    ],
)
def test_a_large_value_that_an_update_did_not_touch_is_marked_or_taken_from_the_old_row(
    make: Make, identity: str, unchanged: list[str], before: dict[str, Any] | None
) -> None:
    table = make("id int PRIMARY KEY, k int NOT NULL, n int, t text", includeBefore="true")
    table.execute(
        f"ALTER TABLE {table.name} ALTER t SET STORAGE EXTERNAL",
        f"CREATE UNIQUE INDEX other_{table.name} ON {table.name} (k)",
        f"ALTER TABLE {table.name} REPLICA IDENTITY {identity.format(name=table.name)}",
        f"INSERT INTO {table.name} VALUES (1, 1, 0, {LARGE})",
        f"UPDATE {table.name} SET n = 1",
        f"UPDATE {table.name} SET t = NULL",
    )
    rows = table.rows()
    large = rows[0]["t"]
    assert len(large) == 12_800
    assert rows[1]["_unchanged"] == unchanged
    assert rows[1]["t"] == (None if unchanged else large)
    assert rows[2]["_unchanged"] == []
    assert rows[2]["t"] is None
    old = rows[1]["before"]
    assert old == (None if before is None else {**before, "t": large})


def test_an_update_of_a_key_is_a_delete_and_a_create_and_says_what_the_log_does_not_have(make: Make) -> None:
    table = make("id int PRIMARY KEY, t text")
    table.execute(
        f"ALTER TABLE {table.name} ALTER t SET STORAGE EXTERNAL",
        f"INSERT INTO {table.name} VALUES (1, {LARGE})",
        f"UPDATE {table.name} SET id = 2",
        f"ALTER TABLE {table.name} REPLICA IDENTITY FULL",
        f"UPDATE {table.name} SET id = 3",
    )
    rows = table.rows()
    assert told(rows, "id", "_unchanged") == [
        ("c", 1, []),
        ("d", 1, []),
        ("c", 2, ["t"]),
        ("d", 2, []),
        ("c", 3, []),
    ]
    assert rows[4]["t"] == rows[3]["t"] == rows[0]["t"]


def test_the_columns_of_a_change_can_be_those_of_sparks_changelogs(make: Make) -> None:
    table = make("id int PRIMARY KEY, n int", changeColumns="spark", onTruncate="fail")
    table.execute(f"ALTER TABLE {table.name} REPLICA IDENTITY FULL")
    table.execute(f"INSERT INTO {table.name} VALUES (1, 0)")
    table.together(
        f"UPDATE {table.name} SET n = 1", f"UPDATE {table.name} SET id = 2", f"DELETE FROM {table.name}"
    )
    rows = table.rows()
    assert [(row["_change_type"], row["id"], row["n"], row["_seq"]) for row in rows] == [
        ("insert", 1, 0, 0),
        ("update_preimage", 1, 0, 0),
        ("update_postimage", 1, 1, 1),
        ("delete", 1, 1, 2),
        ("insert", 2, 1, 3),
        ("delete", 2, 1, 4),
    ]
    assert rows[0]["_commit_version"] < rows[1]["_commit_version"]
    table.execute(f"TRUNCATE {table.name}")
    with pytest.raises(SourceError, match="was truncated, and option onTruncate=fail"):
        table.rows()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"slot": ""}, "'slot'"),
        ({"publication": " "}, "'publication'"),
        ({"slot": "Slot-1"}, "lower-case letters"),
        ({"changeColumns": "spark"}, "no word for a TRUNCATE"),
        ({"columns": "s"}, "leaves out id"),
        ({"columns": "id,x"}, "'x' is not a column"),
    ],
)
def test_options_that_do_not_go_together_are_refused_by_name(
    make: Make, options: dict[str, str], message: str
) -> None:
    table = make()
    with pytest.raises((OptionError, ValueError), match=message):
        table.new_engine(**options).run()


def test_a_column_more_stops_the_query_and_a_restart_reads_it_with_null_for_earlier_rows(make: Make) -> None:
    table = make()
    running = _Running(table)
    table.together(
        f"INSERT INTO {table.name} VALUES (1, 'a')",
        f"ALTER TABLE {table.name} ADD n int DEFAULT 7",
        f"INSERT INTO {table.name} VALUES (2, 'b', 8)",
    )
    with pytest.raises((SourceError, OptionError), match="plans with others"):
        running.rows()
    assert told(table.rows(), "id", "s", "n") == [("c", 1, "a", None), ("c", 2, "b", 8)]


class _Running:
    """A query that goes on in one process: its source knows the columns that it began with."""

    def __init__(self, table: ChangedTable, **options: str) -> None:
        known = table.new_engine(**options)
        source = known._configure()
        self.engine = known
        known._configure = lambda: source
        known.offsets = table.engine.offsets[:]
        known._committed = len(known.offsets)

    def rows(self) -> list[dict[str, Any]]:
        self.engine.run()
        return self.engine.rows


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("ADD n int", "new columns 'n'|plans with others"),
        ("DROP s", "lost the columns 's'|plans with others"),
        ("RENAME s TO z", "new columns 'z'|plans with others"),
        ("ALTER s TYPE int USING 1", "plans with others|type of column"),
    ],
)
def test_a_changed_table_stops_a_running_query_before_the_first_row_that_does_not_fit(
    make: Make, change: str, message: str
) -> None:
    table = make()
    running = _Running(table)
    table.execute(f"ALTER TABLE {table.name} {change}", f"INSERT INTO {table.name} VALUES (1)")
    with pytest.raises((SourceError, OptionError), match=message):
        running.rows()


def test_with_ignore_new_columns_are_left_out_and_lost_ones_are_null(
    make: Make, caplog: pytest.LogCaptureFixture
) -> None:
    table = make("id int PRIMARY KEY, s text, z text", onSchemaChange="ignore")
    running = _Running(table)
    table.execute(f"ALTER TABLE {table.name} ADD n int", f"INSERT INTO {table.name} VALUES (1, 'a', 'z', 5)")
    assert told(running.rows(), "id", "s", "z") == [("c", 1, "a", "z")]
    assert "has the new columns 'n'" in caplog.text


def test_old_rows_are_read_by_a_type_that_is_wider_now(make: Make) -> None:
    table = make()
    table.execute(
        f"ALTER TABLE {table.name} ADD n int",
        f"INSERT INTO {table.name} VALUES (1, 'a', 5)",
        f"ALTER TABLE {table.name} ALTER n TYPE bigint",
        f"INSERT INTO {table.name} VALUES (2, 'b', 5000000000)",
    )
    assert told(table.rows(), "id", "n") == [("c", 1, 5), ("c", 2, 5_000_000_000)]


@pytest.mark.parametrize(
    ("before", "value", "now"),
    [("timestamp", "now()", "timestamptz"), ("numeric(9, 4)", "1.2345", "numeric(9, 2)")],
)
def test_old_rows_that_a_type_of_now_cannot_hold_are_an_error_that_says_the_way_out(
    make: Make, before: str, value: str, now: str
) -> None:
    table = make()
    table.execute(
        f"ALTER TABLE {table.name} ADD n {before}",
        f"INSERT INTO {table.name} VALUES (1, 'a', {value})",
        f"ALTER TABLE {table.name} ALTER n TYPE {now}",
    )
    with pytest.raises(SourceError, match="textColumns=n"):
        table.rows()


def test_log_of_other_tables_makes_no_batches_until_there_is_much_of_it(make: Make) -> None:
    table = make()
    table.execute(f"CREATE TABLE beside_{table.name} (t text)")
    batches = len(table.engine.offsets)
    for _ in range(3):
        table.execute(f"INSERT INTO beside_{table.name} SELECT repeat('x', 1000) FROM generate_series(1, 50)")
        assert table.rows() == []
    assert len(table.engine.offsets) == batches
    table.execute(f"INSERT INTO beside_{table.name} SELECT repeat('x', 1000) FROM generate_series(1, 20000)")
    before = table.ask(
        f"SELECT confirmed_flush_lsn FROM pg_replication_slots WHERE slot_name = 'slot_{table.name}'"
    )
    assert table.rows() == []
    assert len(table.engine.offsets) == batches + 1
    assert table.rows() == []
    assert len(table.engine.offsets) == batches + 1
    after = table.ask(
        f"SELECT confirmed_flush_lsn FROM pg_replication_slots WHERE slot_name = 'slot_{table.name}'"
    )
    assert after > before
    table.execute(f"DROP TABLE beside_{table.name}")


@pytest.mark.parametrize("transport", ["direct"], indirect=True)
def test_the_slot_is_confirmed_up_to_what_is_committed_and_no_further(make: Make) -> None:
    table = make()
    confirmed = (
        "SELECT (confirmed_flush_lsn - '0/0')::bigint FROM pg_replication_slots "
        f"WHERE slot_name = 'slot_{table.name}'"
    )
    table.execute(f"INSERT INTO {table.name} VALUES (1, 'a')")
    table.engine.run(crash_after=Step.WRITTEN, in_batch=len(table.engine.offsets))
    assert table.engine.rows[-1]["_lsn"] >= table.ask(confirmed)
    table.engine.run()
    deadline_s = time.monotonic() + PATIENCE_S
    while table.engine.rows[-1]["_lsn"] >= table.ask(confirmed):
        # The server may still have the word of a connection before it.
        assert time.monotonic() < deadline_s, "nothing was confirmed"
    assert told(table.engine.rows, "id") == [("c", 1)]


def test_a_limit_of_bytes_ends_batches_between_transactions_and_each_batch_has_one(make: Make) -> None:
    table = make(maxBytesPerTrigger="10000")
    batches = len(table.engine.sink)
    for number in range(20):
        table.execute(
            f"INSERT INTO {table.name} SELECT {number} * 100 + g, 'x' FROM generate_series(1, 50) g"
        )
    rows = table.rows()
    assert [row["id"] for row in rows] == [number * 100 + g for number in range(20) for g in range(1, 51)]
    sizes = [len(table.engine.sink[number]) for number in sorted(table.engine.sink)[batches:]]
    assert len(sizes) > 5
    assert all(size and size % 50 == 0 for size in sizes), sizes


@pytest.mark.parametrize("transport", ["direct"], indirect=True)
def test_a_slot_that_somebody_has_moved_on_is_a_loss_and_no_later_start(make: Make) -> None:
    table = make()
    table.execute(f"INSERT INTO {table.name} VALUES (1, 'a')")
    table.execute(f"SELECT pg_replication_slot_advance('slot_{table.name}', pg_current_wal_flush_lsn())")
    with pytest.raises(LostSlotError, match=r"bytes of WAL, are not kept.*spark.read") as caught:
        table.rows()
    assert str(caught.value.position) in str(caught.value)
    assert caught.value.split == "wal"


@pytest.mark.parametrize(
    ("remade", "message"), [(False, "does not exist any more"), (True, "was made anew, or somebody else")]
)
def test_a_slot_that_was_dropped_or_made_anew_is_a_loss(make: Make, remade: bool, message: str) -> None:
    table = make()
    table.execute(f"INSERT INTO {table.name} VALUES (1, 'a')")
    table.drop_slot()
    if remade:
        table.execute(f"SELECT pg_create_logical_replication_slot('slot_{table.name}', 'pgoutput')")
    with pytest.raises(LostSlotError, match=message):
        table.rows()


def test_another_slot_than_that_of_the_checkpoint_is_refused_by_name(make: Make) -> None:
    table = make()
    other = table.new_engine(slot="another")
    other.offsets = table.engine.offsets[:]
    other._committed = len(other.offsets)
    with pytest.raises(OptionError, match=r"option 'slot'.*'another'.*has read slot 'slot_changes"):
        other.run()


def test_startingposition_slot_reads_what_the_slot_has_kept(make: Make) -> None:
    table = make()
    table.execute(f"INSERT INTO {table.name} VALUES (1, 'a')")
    kept = table.new_engine(startingPosition="slot")
    kept.run()
    assert told(kept.rows, "id") == [("c", 1)]


def test_a_publication_that_is_newer_than_the_slot_is_refused_where_its_past_is_asked_for(
    postgres: LocalPostgres,
) -> None:
    with changed_table(postgres, "newer", "id int PRIMARY KEY", startingPosition="slot") as table:
        table.execute("SELECT pg_create_logical_replication_slot('slot_newer', 'pgoutput')")
        table.execute("INSERT INTO newer VALUES (1)")
        with pytest.raises(SourceError, match=r"made or changed after slot.*startingPosition=latest"):
            table.rows()
        latest = table.new_engine(startingPosition="latest")
        latest.run()
        table.execute("INSERT INTO newer VALUES (2)")
        latest.run()
        assert told(latest.rows, "id") == [("c", 2)]


PUBLICATIONS = {
    "none": ("", "there is no publication 'pub_{name}': CREATE PUBLICATION"),
    "without the table": (
        "CREATE TABLE beside_{name} (id int); CREATE PUBLICATION pub_{name} FOR TABLE beside_{name}",
        "does not have the table: ALTER PUBLICATION",
    ),
    "without the key": (
        "CREATE PUBLICATION pub_{name} FOR TABLE {name} (s)",
        "leaves out id of the key.*ALTER PUBLICATION",
    ),
    "no identity": (
        "ALTER TABLE {name} REPLICA IDENTITY NOTHING; CREATE PUBLICATION pub_{name} FOR TABLE {name}",
        "no key in the log.*REPLICA IDENTITY FULL",
    ),
    "a key that may be broken for a while": (
        (
            "ALTER TABLE {name} DROP CONSTRAINT {name}_pkey, ADD PRIMARY KEY (id) DEFERRABLE; "
            "CREATE PUBLICATION pub_{name} FOR TABLE {name}"
        ),
        "no key in the log.*REPLICA IDENTITY FULL",
    ),
}


@pytest.mark.parametrize("case", PUBLICATIONS)
def test_what_is_in_the_way_is_said_before_anything_is_read_with_the_sql_that_mends_it(
    postgres: LocalPostgres, case: str
) -> None:
    statement, message = PUBLICATIONS[case]
    name = f"bad_{next(_NUMBERS)}"
    with changed_table(postgres, name, "id int PRIMARY KEY, s text", createPublication="false") as table:
        table.execute(statement.format(name=name))
        with pytest.raises(SourceError, match=message.format(name=name)):
            table.rows()
        assert not table.ask(f"SELECT count(*) FROM pg_replication_slots WHERE slot_name = 'slot_{name}'")
        table.execute(f"DROP TABLE IF EXISTS beside_{name}")


def test_all_findings_come_at_once(postgres: LocalPostgres) -> None:
    with (
        changed_table(
            postgres, "findings", "id int, s text", createPublication="false", onToast="fail"
        ) as table,
        pytest.raises(
            SourceError, match=r"3 things.*\(1\) there is no publication.*\(2\).*\(3\) option onToast"
        ),
    ):
        table.rows()


GOOD = {
    "all tables": ("CREATE PUBLICATION pub_{name} FOR ALL TABLES", [("c", 1, "a"), ("c", 2, "b")]),
    "a column list": (
        "CREATE PUBLICATION pub_{name} FOR TABLE {name} (id)",
        [("c", 1, None), ("c", 2, None)],
    ),
    "a row filter": (
        "CREATE PUBLICATION pub_{name} FOR TABLE {name} WHERE (id > 1)",
        [("c", 2, "b")],
    ),
    "a schema": ("CREATE PUBLICATION pub_{name} FOR TABLES IN SCHEMA public", [("c", 1, "a"), ("c", 2, "b")]),
}


@pytest.mark.parametrize("case", GOOD)
def test_publications_of_all_kinds_give_what_they_publish(postgres: LocalPostgres, case: str) -> None:
    statement, expected = GOOD[case]
    name = f"good_{next(_NUMBERS)}"
    columns = "id int PRIMARY KEY, s text, twice int GENERATED ALWAYS AS (id * 2) STORED"
    with changed_table(postgres, name, columns, createPublication="false") as table:
        table.execute(statement.format(name=name))
        assert table.rows() == []
        table.execute(f"INSERT INTO {name} VALUES (1, 'a'), (2, 'b')")
        rows = table.rows()
        assert [(row["_op"], row["id"], row.get("s")) for row in rows] == expected
        assert "twice" not in rows[0], "generated columns are not in the log"


def test_a_partitioned_table_wants_its_changes_published_as_its_own(postgres: LocalPostgres) -> None:
    columns = "id int PRIMARY KEY) PARTITION BY RANGE (id"
    with changed_table(postgres, "parted", columns, createPublication="false") as table:
        table.execute(
            "CREATE TABLE parted_1 PARTITION OF parted DEFAULT",
            "CREATE PUBLICATION pub_parted FOR TABLE parted",
        )
        with pytest.raises(SourceError, match="publish_via_partition_root = true"):
            table.rows()


def test_a_connection_that_a_dead_process_has_left_behind_gives_way(make: Make) -> None:
    table = make(retryDeadline="2s")
    slot, publication = f"slot_{table.name}", f"pub_{table.name}"
    table.execute(f"INSERT INTO {table.name} VALUES (1, 'a')")
    left = attached(table.server, slot, publication, "headwater wal 0-1")
    assert told(table.rows(), "id") == [("c", 1)]
    assert table.ask(f"SELECT count(*) FROM pg_stat_replication WHERE pid = {left.info.backend_pid}") == 0
    left.close()
    other = attached(table.server, slot, publication, "somebody else")
    table.execute(f"INSERT INTO {table.name} VALUES (2, 'b')")
    with pytest.raises(SourceError, match=rf"slot '{slot}' is read by another connection.*process"):
        table.rows()
    other.close()
    assert told(table.rows(), "id") == [("c", 2)]


def test_a_host_that_is_gone_inside_of_a_transaction_gives_way_to_the_next_attempt(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing ends its connection, and what the server has sent fills it: the server waits, in the slot."""
    monkeypatch.setattr(slot_reading, "_DEAD_AFTER_S", 1.0)
    table = make()
    table.execute(f"INSERT INTO {table.name} SELECT i, repeat('x', 1000) FROM generate_series(1, 5000) i")
    assert table.engine.run(crash_after=Step.LOGGED)
    before, end = (json.loads(offset)["positions"]["wal"] for offset in table.engine.offsets[-2:])
    range_ = "of another" if "transport" in table.options else f"{before:X}-{end:X}"
    gone = attached(table.server, f"slot_{table.name}", f"pub_{table.name}", f"headwater wal {range_}")
    deadline_s = time.monotonic() + PATIENCE_S
    state = f"SELECT wait_event FROM pg_stat_activity WHERE pid = {gone.info.backend_pid}"
    while table.ask(state) != "WalSenderWriteData":
        assert time.monotonic() < deadline_s, "the connection takes everything"
    assert [row["id"] for row in table.rows()] == list(range(1, 5_001))
    gone.close()


def test_the_rest_of_a_record_in_which_the_durable_log_ends_is_not_waited_for(
    transport: dict[str, str],
) -> None:
    """A server that writes whole blocks of an open transaction leaves its log so until somebody commits."""
    settings = {"wal_writer_delay": "10ms"}
    inside = """
        SELECT mod(pg_current_wal_flush_lsn() - '0/0', 8192) = 0
           AND pg_current_wal_insert_lsn() > pg_current_wal_flush_lsn()
    """
    with (
        LocalPostgres(settings=settings) as server,
        changed_table(server, "torn", "id int PRIMARY KEY, s text", **transport) as table,
        psycopg.connect(server.conninfo) as writer,
    ):
        assert table.rows() == []
        # It writes a record of its own now and then, and flushes the log with it.
        os.kill(
            table.ask("SELECT pid FROM pg_stat_activity WHERE backend_type = 'background writer'"),
            signal.SIGSTOP,
        )
        table.execute("INSERT INTO torn VALUES (1, 'a')")
        for number in itertools.count(2):
            writer.execute(f"INSERT INTO torn VALUES ({number}, repeat('x', 1500))".encode())
            if table.ask(inside):
                break
        assert told(table.rows(), "id") == [("c", 1)]


def test_a_table_that_was_made_anew_is_not_taken_for_the_old_one(make: Make) -> None:
    table = make()
    table.execute(f"DROP TABLE {table.name}", f"CREATE TABLE {table.name} (id int PRIMARY KEY, s text)")
    table.execute(f"ALTER PUBLICATION pub_{table.name} ADD TABLE {table.name}")
    with pytest.raises(SourceError, match="dropped and made anew"):
        table.rows()


def test_a_table_that_left_the_publication_and_came_back_is_a_loss(make: Make) -> None:
    table = make()
    name, publication = table.name, f"pub_{table.name}"
    table.execute(
        f"CREATE TABLE other_{name} (id int)", f"ALTER PUBLICATION {publication} ADD TABLE other_{name}"
    )
    table.execute(f"INSERT INTO {name} VALUES (1, 'a')")
    assert told(table.rows(), "id") == [("c", 1)]
    table.execute(
        f"ALTER PUBLICATION {publication} DROP TABLE {name}",
        f"INSERT INTO {name} VALUES (2, 'b')",
        f"ALTER PUBLICATION {publication} ADD TABLE {name}",
    )
    restarted = table.new_engine()
    restarted.offsets = table.engine.offsets[:]
    restarted._committed = len(restarted.offsets)
    with pytest.raises(DataLossError, match="left it and came back"):
        restarted.run()


@pytest.mark.parametrize("value", ["'infinity'", "'0044-03-15 BC'", "'10000-01-01'"])
def test_a_value_that_has_no_place_in_its_column_is_an_error_that_names_it(make: Make, value: str) -> None:
    table = make("id int PRIMARY KEY, d date")
    table.execute(f"INSERT INTO {table.name} VALUES (1, {value})")
    with pytest.raises(SourceError, match=rf"column 'd'.*{value.strip(chr(39))}.*textColumns=d.*position"):
        table.rows()
