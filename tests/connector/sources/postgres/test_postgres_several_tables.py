"""The changes of several tables of a real PostgreSQL in one stream."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Iterator
from typing import Any

import pytest

from headwater.core.errors import DataLossError, OptionError, SourceError
from headwater.testing.engine import Step
from local_postgres import LocalPostgres
from tests.connector.sources.postgres.changes import ChangedTable

_NUMBERS = itertools.count()
OTHER = 'code text PRIMARY KEY, "n, ""m""" numeric, big text'


class _Tables:
    """Two tables of other columns, read by one query that begins with what is committed from now on."""

    def __init__(self, server: LocalPostgres) -> None:
        self.one = f"several_{next(_NUMBERS)}"
        self.other = f"{self.one}_other"
        self.first = ChangedTable(server, self.one, "id int PRIMARY KEY, s text")
        self.first.execute(f"CREATE TABLE {self.other} ({OTHER})")
        self.first.options.pop("table")
        self.first.options["tables"] = f"{self.one}, public.{self.other}"
        self.engine = self.first.engine = self.first.new_engine()
        self.execute = self.first.execute
        self.together = self.first.together
        self.rows = self.first.rows

    def restart_with(self, option: str, names: str) -> None:
        """Let the query go on with other tables."""
        self.first.options.pop("tables")
        self.first.options[option] = names
        restarted = self.first.new_engine()
        restarted.offsets = self.engine.offsets
        restarted._committed = self.engine._committed
        self.engine = self.first.engine = restarted

    def told(self) -> list[tuple[Any, ...]]:
        """Return the new rows: kind, number in the transaction, table, before and after."""
        names = {f"public.{self.one}": "one", f"public.{self.other}": "other"}
        return [
            (row["_op"], row["_seq"], names[row["_table"]], _parsed(row["before"]), _parsed(row["after"]))
            for row in self.rows()
        ]

    def drop(self) -> None:
        self.first.drop_slot()
        self.execute(f"DROP TABLE {self.other}")
        self.first.drop()


def _parsed(text: str | None) -> Any:
    return None if text is None else json.loads(text)


@pytest.fixture
def tables(postgres: LocalPostgres) -> Iterator[_Tables]:
    tables = _Tables(postgres)
    try:
        assert tables.rows() == []
        yield tables
    finally:
        tables.drop()


def test_changes_of_all_tables_come_once_in_the_order_of_commits_numbered_over_all_of_them(
    tables: _Tables,
) -> None:
    one, other = tables.one, tables.other
    tables.together(
        f"INSERT INTO {other} VALUES ('a', 1.50, NULL)",
        f"INSERT INTO {one} VALUES (1, 'x')",
        f"UPDATE {other} SET code = 'b'",
        f"UPDATE {one} SET s = NULL",
    )
    tables.together(f"DELETE FROM {one}", f"TRUNCATE {one}, {other}")
    number = 'n, "m"'
    assert tables.told() == [
        ("c", 0, "other", None, {"code": "a", number: "1.50", "big": None}),
        ("c", 1, "one", None, {"id": "1", "s": "x"}),
        ("d", 2, "other", {"code": "a"}, None),
        ("c", 3, "other", None, {"code": "b", number: "1.50", "big": None}),
        ("u", 4, "one", None, {"id": "1", "s": None}),
        ("d", 0, "one", {"id": "1"}, None),
        ("t", 1, "one", None, None),
        ("t", 2, "other", None, None),
    ]
    assert tables.told() == []


def test_each_row_has_the_columns_of_its_time_and_of_a_full_identity_all_that_were(tables: _Tables) -> None:
    one = tables.one
    tables.execute(f"INSERT INTO {one} VALUES (1, 'x')", f"ALTER TABLE {one} REPLICA IDENTITY FULL")
    tables.together(
        f"UPDATE {one} SET s = 'y'",
        f"ALTER TABLE {one} ADD added int DEFAULT 7",
        f"INSERT INTO {tables.other} VALUES ('a')",
        f"UPDATE {one} SET id = 2",
        f"ALTER TABLE {one} DROP s",
        f"DELETE FROM {one}",
    )
    assert [row for row in tables.told() if row[2] == "one"] == [
        ("c", 0, "one", None, {"id": "1", "s": "x"}),
        ("u", 0, "one", {"id": "1", "s": "x"}, {"id": "1", "s": "y"}),
        ("d", 2, "one", {"id": "1", "s": "y", "added": "7"}, None),
        ("c", 3, "one", None, {"id": "2", "s": "y", "added": "7"}),
        ("d", 4, "one", {"id": "2", "added": "7"}, None),
    ]


def test_a_large_value_that_was_not_touched_has_no_field_and_its_column_is_named(tables: _Tables) -> None:
    other = tables.other
    tables.execute(
        f"ALTER TABLE {other} ALTER big SET STORAGE EXTERNAL",
        f"INSERT INTO {other} VALUES ('a', 1, repeat('x', 10000))",
        f"INSERT INTO {tables.one} VALUES (1, 'x')",
        f'UPDATE {other} SET "n, ""m""" = 2',
    )
    rows = tables.rows()
    assert [row["_unchanged"] for row in rows] == [[], [], ["big"]]
    assert json.loads(rows[-1]["after"]) == {"code": "a", 'n, "m"': "2"}


@pytest.mark.parametrize("seed", [random.randrange(1 << 32)], ids=["drawn"])
def test_every_text_comes_as_it_is(tables: _Tables, seed: int) -> None:
    print(f"seed {seed}")
    chosen = random.Random(seed)
    alphabet = [chr(code) for code in (*range(1, 128), 0xE9, 0x2028, 0x1F600)]
    texts = ["".join(chosen.choices(alphabet, k=chosen.randrange(40))) for _ in range(500)]
    with tables.first.sql.cursor() as cursor:
        cursor.executemany(f"INSERT INTO {tables.one} VALUES (%s, %s)".encode(), list(enumerate(texts)))
    assert [json.loads(row["after"])["s"] for row in tables.rows()] == texts


@pytest.mark.parametrize("step", Step)
def test_a_crash_anywhere_neither_loses_nor_doubles_a_change(tables: _Tables, step: Step) -> None:
    expected = []
    for number in range(6):
        name, value = ((tables.one, f"{number}"), (tables.other, f"'{number}'"))[number % 2]
        tables.execute(f"INSERT INTO {name} VALUES ({value})")
        expected.append((f"public.{name}", str(number)))
        if number % 2:
            tables.engine.run(crash_after=step, in_batch=len(tables.engine.offsets))
    tables.engine.run()
    found = [(row["_table"], next(iter(json.loads(row["after"]).values()))) for row in tables.engine.rows]
    assert found == expected


def test_a_table_that_left_the_publication_and_came_back_is_a_loss(tables: _Tables) -> None:
    tables.execute(
        f"ALTER PUBLICATION pub_{tables.one} DROP TABLE {tables.other}",
        f"ALTER PUBLICATION pub_{tables.one} ADD TABLE {tables.other}",
    )
    with pytest.raises(DataLossError, match=f"{tables.other} left it and came back"):
        tables.rows()


def test_what_is_in_the_way_of_any_table_is_said_at_once_each_with_its_table(tables: _Tables) -> None:
    more = f"{tables.one}_keyless"
    tables.execute(f"CREATE TABLE {more} (v int)")
    try:
        with pytest.raises(SourceError) as caught:
            tables.first.source(tables=f"{tables.one},{more}").source.schema()
    finally:
        tables.execute(f"DROP TABLE {more}")
    assert "2 things are in the way" in str(caught.value)
    assert f"public.{more}: publication 'pub_{tables.one}' does not have the table" in str(caught.value)
    assert f"public.{more}: the table has no key" in str(caught.value)


def test_a_checkpoint_of_several_tables_does_not_go_on_as_one(tables: _Tables) -> None:
    tables.restart_with("table", tables.one)
    with pytest.raises(SourceError, match="has read 2 tables, and the query names one"):
        tables.rows()


def test_a_logged_batch_of_several_tables_is_never_read_as_one(tables: _Tables) -> None:
    tables.execute(f"INSERT INTO {tables.other} VALUES ('a')")
    assert tables.engine.run(crash_after=Step.LOGGED, in_batch=len(tables.engine.offsets))
    tables.restart_with("table", tables.one)
    with pytest.raises(SourceError, match="has read 2 tables, and the query names"):
        tables.rows()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"table": "a"}, "cannot be set together with option table"),
        ({"columns": "a"}, "rows of several have JSON"),
        ({"textColumns": "a"}, "rows of several have JSON"),
        ({"startingPosition": "initial"}, "is required with startingPosition=initial"),
        ({"transport": "staged"}, "is required with transport=staged"),
        ({"changeColumns": "spark"}, "is for one table"),
        ({"includeBefore": "true"}, "have before always"),
        ({"onSchemaChange": "ignore"}, "the columns of their time"),
        ({"tables": "public.{one},{one}"}, "twice"),
        ({"tables": "{one},*"}, "beside names"),
    ],
)
def test_what_is_for_one_table_is_refused(tables: _Tables, options: dict[str, str], message: str) -> None:
    given = {name: value.format(one=tables.one) for name, value in options.items()}
    with pytest.raises(OptionError, match=message):
        tables.first.source(**given).source.schema()


def test_a_schema_that_the_rows_do_not_have_is_refused(tables: _Tables) -> None:
    source = tables.first.source().source
    assert source.with_schema(source.schema(), given=True).schema() == source.schema()
    with pytest.raises(OptionError, match=r"without \.schema"):
        source.with_schema(source.schema().remove(0), given=True)
