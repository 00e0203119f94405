"""Tables that a query names after it began: with their rows or without, while the others stream on."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from headwater.core.errors import SourceError
from headwater.enumerators.postgres.split import lsn_of
from headwater.testing import MicroBatchEngine
from headwater.testing.engine import Step
from local_postgres import LocalPostgres
from tests.connector.sources.postgres.changes import ChangedTable

_NUMBERS = itertools.count()
_TRANSPORTS = pytest.mark.parametrize("transport", ["direct", "staged"])


class _Joined:
    """A query over one table, in JSON, and another table that it does not name yet."""

    def __init__(self, server: LocalPostgres, folder: Path, **options: str) -> None:
        self.one = f"joined_{next(_NUMBERS)}"
        self.new = f"{self.one}_new"
        given = {"stateLocation": str(folder), "chunkRows": "10", "snapshotTasks": "1", **options}
        self.table = ChangedTable(server, self.one, "id int PRIMARY KEY, s text", **given)
        self.execute = self.table.execute
        self.execute(f"CREATE TABLE {self.new} (id int PRIMARY KEY, s text)")
        del self.table.options["table"]
        self.table.options["tables"] = self.one
        self.engine = self.table.engine = MicroBatchEngine.of("postgres", self.table.options)

    def publish(self) -> None:
        self.execute(f"ALTER PUBLICATION pub_{self.one} ADD TABLE {self.new}")

    def name_both(self) -> None:
        """Let the next run name both tables, the new one first."""
        self.table.options["tables"] = f"{self.new},{self.one}"

    def told(self) -> list[tuple[str, str, int]]:
        """Run the query, and return its new rows: kind, table, key."""
        return [self._told(row) for row in self.table.rows()]

    def batches(self) -> list[list[tuple[str, str, int]]]:
        """Return all batches with rows."""
        return [[self._told(row) for row in self.engine.sink[at]] for at in sorted(self.engine.sink)]

    def confirmed(self) -> int:
        return lsn_of(
            self.table.ask(
                "SELECT confirmed_flush_lsn::text FROM pg_replication_slots "
                f"WHERE slot_name = 'slot_{self.one}'"
            )
        )

    def state(self) -> Any:
        return json.loads(self.engine.offsets[-1])["state"]

    def _told(self, row: dict[str, Any]) -> tuple[str, str, int]:
        name = "new" if row["_table"] == f"public.{self.new}" else "one"
        return row["_op"], name, int(json.loads(row["after"] or row["before"])["id"])

    def drop(self) -> None:
        self.table.drop_slot()
        self.execute(f"DROP TABLE {self.new}")
        self.table.drop()


@pytest.fixture
def make(postgres: LocalPostgres, tmp_path: Path) -> Iterator[Callable[..., _Joined]]:
    made: list[_Joined] = []

    def one(**options: str) -> _Joined:
        made.append(_Joined(postgres, tmp_path, **options))
        return made[-1]

    yield one
    for each in made:
        each.drop()


@_TRANSPORTS
def test_the_rows_of_a_table_that_joins_are_read_while_the_others_stream_on(
    make: Callable[..., _Joined], transport: str
) -> None:
    joined = make(startingPosition="initial", transport=transport)
    joined.execute(
        f"INSERT INTO {joined.one} VALUES (1, 'a')",
        f"INSERT INTO {joined.new} SELECT i, 'v' FROM generate_series(1, 95) i",
    )
    assert joined.told() == [("r", "one", 1)]
    joined.execute(f"INSERT INTO {joined.one} VALUES (2, 'b')")
    assert joined.told() == [("c", "one", 2)]
    joined.publish()
    joined.name_both()
    key = 100
    while joined.engine.run(crash_after=Step.COMMITTED, in_batch=len(joined.engine.offsets)):
        if key < 108:
            key += 1
            joined.execute(
                f"INSERT INTO {joined.one} VALUES ({key}, 'x')",
                f"INSERT INTO {joined.new} VALUES ({key}, 'x')",
                f"UPDATE {joined.new} SET s = 'y' WHERE id = {key - 100}",
            )
    rows = [row for batch in joined.batches() for row in batch]
    both = [{of for op, of, _ in batch} for batch in joined.batches() if any(op == "r" for op, *_ in batch)]
    assert {"one", "new"} in both
    assert [row for row in rows if row[1] == "one"] == [
        ("r", "one", 1),
        *(("c", "one", number) for number in (2, *range(101, key + 1))),
    ]
    by_key: dict[int, list[str]] = {}
    for op, of, number in rows:
        if of == "new":
            by_key.setdefault(number, []).append(op)
    assert sorted(by_key) == [*range(1, 96), *range(101, key + 1)]
    # The row with the update in it, or the row and then the update; never both, never none.
    assert {tuple(ops) for ops in by_key.values()} <= {("r",), ("r", "u"), ("c",)}
    state: dict[int, str] = {}
    for row in joined.engine.rows:
        if row["_table"] == f"public.{joined.new}":
            state.update([(int(json.loads(row["after"])["id"]), json.loads(row["after"])["s"])])
    there = joined.table.sql.execute(f"SELECT id, s FROM {joined.new}".encode()).fetchall()
    assert sorted(state.items()) == sorted(there)
    joined.execute(f"DELETE FROM {joined.new} WHERE id = 1", f"DELETE FROM {joined.one} WHERE id = 1")
    assert joined.told()[-2:] == [("d", "new", 1), ("d", "one", 1)]
    assert joined.told() == []
    assert joined.state()["phase"] == "done"


@_TRANSPORTS
def test_one_run_brings_the_rows_of_a_table_that_joins_and_every_change_before_it_began(
    make: Callable[..., _Joined], transport: str
) -> None:
    joined = make(startingPosition="initial", transport=transport, maxBytesPerTrigger="1")
    joined.execute(f"INSERT INTO {joined.one} VALUES (1, 'a')")
    assert joined.told() == [("r", "one", 1)]
    joined.publish()
    joined.execute(
        f"INSERT INTO {joined.new} SELECT i, 'v' FROM generate_series(1, 25) i",
        *(f"INSERT INTO {joined.one} VALUES ({number}, 'x')" for number in range(2, 6)),
    )
    joined.name_both()
    assert sorted(joined.told()) == sorted(
        [
            *(("r", "new", number) for number in range(1, 26)),
            *(("c", "one", number) for number in range(2, 6)),
        ]
    )


@_TRANSPORTS
def test_nothing_of_a_table_is_read_before_transactions_are_over_that_wrote_to_it_unpublished(
    make: Callable[..., _Joined], transport: str
) -> None:
    """The first row of such a transaction is in no log; the others stream on meanwhile."""
    joined = make(startingPosition="initial", transport=transport)
    assert joined.told() == []
    with psycopg.connect(joined.table.server.conninfo) as writer:
        writer.execute(f"INSERT INTO {joined.new} VALUES (1, 'before')".encode())
        joined.publish()
        writer.execute(f"INSERT INTO {joined.new} VALUES (2, 'after')".encode())
        joined.name_both()
        for number in range(3):
            joined.execute(f"INSERT INTO {joined.one} VALUES ({number}, 'x')")
            assert joined.told() == [("c", "one", number)]
        writer.commit()
    assert sorted(joined.told()) == [("r", "new", 1), ("r", "new", 2)]
    joined.execute(f"UPDATE {joined.new} SET s = 'z' WHERE id = 1")
    assert joined.told() == [("u", "new", 1)]


@_TRANSPORTS
def test_a_query_without_rows_reads_the_changes_of_a_table_from_when_it_joins(
    make: Callable[..., _Joined], transport: str
) -> None:
    joined = make(startingPosition="latest", transport=transport)
    joined.execute(f"INSERT INTO {joined.new} VALUES (1, 'before')")
    assert joined.told() == []
    with psycopg.connect(joined.table.server.conninfo) as writer:
        writer.execute(f"INSERT INTO {joined.new} VALUES (2, 'before')".encode())
        joined.publish()
        writer.execute(f"INSERT INTO {joined.new} VALUES (3, 'in part')".encode())
        joined.name_both()
        joined.execute(f"INSERT INTO {joined.one} VALUES (1, 'x')")
        assert joined.told() == [("c", "one", 1)]
        writer.commit()
    assert joined.told() == []
    joined.execute(
        f"INSERT INTO {joined.new} VALUES (4, 'now')",
        f"UPDATE {joined.new} SET s = 'now' WHERE id = 3",
        f"INSERT INTO {joined.one} VALUES (2, 'x')",
    )
    assert joined.told() == [("c", "new", 4), ("u", "new", 3), ("c", "one", 2)]


def test_the_slot_keeps_what_a_table_has_written_since_it_joined_until_that_is_read(
    make: Callable[..., _Joined],
) -> None:
    joined = make(startingPosition="initial")
    joined.execute(f"INSERT INTO {joined.new} SELECT i, 'v' FROM generate_series(1, 95) i")
    assert joined.told() == []
    joined.publish()
    joined.name_both()
    held = 0
    number = 0
    while joined.engine.run(crash_after=Step.COMMITTED, in_batch=len(joined.engine.offsets)):
        number += 1
        if number < 5:
            joined.execute(f"INSERT INTO {joined.one} VALUES ({number}, 'x')")
        if joined.state()["phase"] == "chunks":
            held = joined.state()["start"]
            assert joined.confirmed() <= held
    assert held
    for _ in range(2):
        joined.execute(f"INSERT INTO {joined.one} VALUES ({(number := number + 100)}, 'x')")
        joined.told()
    assert joined.confirmed() > held


def test_a_table_that_was_made_anew_is_no_table_that_joins(make: Callable[..., _Joined]) -> None:
    joined = make(startingPosition="initial")
    assert joined.told() == []
    joined.execute(
        f"DROP TABLE {joined.one}",
        f"CREATE TABLE {joined.one} (id int PRIMARY KEY, s text)",
        f"ALTER PUBLICATION pub_{joined.one} ADD TABLE {joined.one}",
    )
    with pytest.raises(SourceError, match="was dropped and made anew"):
        joined.told()


def test_a_table_that_is_not_published_yet_is_refused_with_the_statement_that_adds_it(
    make: Callable[..., _Joined],
) -> None:
    joined = make(startingPosition="initial")
    assert joined.told() == []
    joined.name_both()
    with pytest.raises(SourceError, match=f'ADD TABLE "public"."{joined.new}"'):
        joined.told()
    joined.publish()
    assert joined.told() == []
