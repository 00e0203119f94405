"""The changes of a table of a real PostgreSQL, batch by batch, with Spark's part played in this process."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from headwater.core.errors import LostSlotError, OptionError, SourceError
from headwater.testing.engine import Step
from local_postgres import LocalPostgres
from tests.connector.sources.postgres.changes import ChangedTable, changed_table, told

_NUMBERS = itertools.count()
Make = Callable[..., ChangedTable]


@pytest.fixture
def make(postgres: LocalPostgres) -> Iterator[Make]:
    """Makes tables whose changes are read from now on."""
    with ExitStack() as tables:

        def made(columns: str = "id int PRIMARY KEY, s text", **options: str) -> ChangedTable:
            name = f"changes_{next(_NUMBERS)}"
            table = tables.enter_context(changed_table(postgres, name, columns, **options))
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
    assert lsns == sorted(lsns) and len(set(lsns)) == 3
    assert len({row["_xid"] for row in rows}) == 3
    assert {tuple(row["_unchanged"]) for row in rows} == {()} and {row["_sync"] for row in rows} == {0}
    assert table.rows() == []


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
        f"BEGIN; INSERT INTO {table.name} VALUES (1, 'a'); SAVEPOINT s; INSERT INTO {table.name} VALUES (2, 'b'); "
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
    table.execute(*(f"CREATE TABLE {table.name}_{n} PARTITION OF {table.name} FOR VALUES IN ({n})" for n in (1, 2)))
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
    assert rows[2]["_unchanged"] == [] and rows[2]["t"] is None
    old = rows[1]["before"]
    assert old == (None if before is None else {**before, "t": large})


