"""Tables that a query does not name any more, and tables that a publication names for it."""

from __future__ import annotations

import itertools
import json
import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from headwater.core.errors import OptionError, SourceError
from headwater.core.source import Boundedness
from headwater.testing import MicroBatchEngine
from headwater.testing.engine import Step
from headwater.testing.making import configured
from local_postgres import LocalPostgres
from tests.connector.sources.postgres.changes import ChangedTable

_NUMBERS = itertools.count()
_TRANSPORTS = pytest.mark.parametrize("transport", ["direct", "staged"])
Told = list[tuple[str, str, int]]


class _Shop:
    """A query over tables `a` and `b`, whose rows are read in chunks of ten keys, and a table `c`."""

    def __init__(self, server: LocalPostgres, folder: Path, **options: str) -> None:
        self.schema = f"leaving_{next(_NUMBERS)}"
        given = {"stateLocation": str(folder), "chunkRows": "10", "snapshotTasks": "1", **options}
        self.table = ChangedTable(server, self.schema, "id int PRIMARY KEY", **given)
        self.execute = self.table.execute
        self.execute(f"CREATE SCHEMA {self.schema}", *(self._creation(name) for name in "abc"))
        self.execute(f"CREATE PUBLICATION pub_{self.schema} FOR TABLE {self.schema}.a, {self.schema}.b")
        del self.table.options["table"]
        self.name("a", "b")
        self.engine = self.table.engine = MicroBatchEngine.of("postgres", self.table.options)

    def _creation(self, name: str) -> str:
        return f"CREATE TABLE {self.schema}.{name} (id int PRIMARY KEY, s text)"

    def name(self, *tables: str) -> None:
        """Let the next run of the query name these tables; `*` for all of the publication."""
        names = [each if each == "*" else f"{self.schema}.{each}" for each in tables]
        self.table.options["tables"] = ",".join(names)

    def publication(self, change: str) -> None:
        self.execute(
            f"ALTER PUBLICATION pub_{self.schema} {change.replace('TABLE ', f'TABLE {self.schema}.')}"
        )

    def insert(self, table: str, *keys: int) -> None:
        self.execute(*(f"INSERT INTO {self.schema}.{table} VALUES ({key}, 'x')" for key in keys))

    def make_anew(self, table: str) -> None:
        self.execute(f"DROP TABLE {self.schema}.{table}", self._creation(table))

    def told(self) -> Told:
        """Run the query, and return its new rows: kind, table, key."""
        return [_told(row) for row in self.table.rows()]

    def split(self) -> Any:
        return json.loads(self.engine.offsets[-1])["splits"]["wal"]

    def drop(self) -> None:
        self.table.drop_slot()
        self.execute(f"DROP SCHEMA {self.schema} CASCADE")
        self.table.drop()


def _told(row: dict[str, Any]) -> tuple[str, str, int]:
    return row["_op"], row["_table"].rpartition(".")[2], int(json.loads(row["after"] or row["before"])["id"])


@pytest.fixture
def make(postgres: LocalPostgres, tmp_path: Path) -> Iterator[Callable[..., _Shop]]:
    made: list[_Shop] = []

    def one(**options: str) -> _Shop:
        made.append(_Shop(postgres, tmp_path, **options))
        return made[-1]

    yield one
    for each in made:
        each.drop()


@_TRANSPORTS
def test_no_change_comes_of_a_table_that_is_not_named_any_more_and_all_of_the_others(
    make: Callable[..., _Shop], transport: str, caplog: pytest.LogCaptureFixture
) -> None:
    shop = make(transport=transport)
    assert shop.told() == []
    shop.insert("a", 1)
    shop.insert("b", 1)
    assert shop.told() == [("c", "a", 1), ("c", "b", 1)]
    shop.insert("b", 2)
    shop.insert("a", 2)
    shop.name("b")
    with caplog.at_level(logging.WARNING):
        assert shop.told() == [("c", "b", 2)]
    assert f"table {shop.schema}.a is not read any more" in caplog.text
    shop.execute(f"DROP TABLE {shop.schema}.a")
    shop.insert("b", 3)
    assert shop.told() == [("c", "b", 3)]


def test_a_batch_that_was_logged_with_a_table_has_its_changes_when_it_is_read_again(
    make: Callable[..., _Shop],
) -> None:
    shop = make()
    assert shop.told() == []
    shop.insert("a", 1)
    shop.insert("b", 1)
    assert shop.engine.run(crash_after=Step.LOGGED, in_batch=len(shop.engine.offsets))
    shop.insert("a", 2)
    shop.insert("b", 2)
    shop.execute(f"DROP TABLE {shop.schema}.a")
    shop.name("b")
    assert shop.told() == [("c", "a", 1), ("c", "b", 1), ("c", "b", 2)]


@_TRANSPORTS
@pytest.mark.parametrize("left", ["a", "b"])
def test_of_a_table_that_leaves_while_rows_are_read_no_more_rows_come_and_all_of_the_other(
    make: Callable[..., _Shop], transport: str, left: str
) -> None:
    shop = make(startingPosition="initial", transport=transport)
    stays = "b" if left == "a" else "a"
    shop.insert("a", *range(1, 46))
    shop.insert("b", *range(1, 46))
    # Four chunks of table a.
    assert shop.engine.run(crash_after=Step.COMMITTED)
    shop.insert("a", 100)
    shop.insert("b", 100)
    shop.name(stays)
    told = shop.told()
    ops = {name: sorted(key for op, table, key in told if op == "r" and table == name) for name in "ab"}
    assert ops[stays] == [*range(1, 46), 100]
    assert len(ops[left]) == (40 if left == "a" else 0)
    assert [row for row in told if row[0] != "r"] == []
    shop.execute(f"DROP TABLE {shop.schema}.{left}")
    shop.insert(stays, 101)
    assert shop.told() == [("c", stays, 101)]


@_TRANSPORTS
@pytest.mark.parametrize("begun", [False, True])
def test_a_table_that_leaves_again_while_it_joins_holds_no_log(
    make: Callable[..., _Shop], transport: str, begun: bool
) -> None:
    shop = make(startingPosition="initial", transport=transport)
    assert shop.told() == []
    shop.insert("c", *range(1, 96))
    shop.publication("ADD TABLE c")
    shop.name("a", "b", "c")
    for _ in range(1 + begun):
        assert shop.engine.run(crash_after=Step.COMMITTED, in_batch=len(shop.engine.offsets))
    assert shop.split()["held"] > 0
    shop.name("a", "b")
    shop.insert("a", 1)
    shop.insert("c", 100)
    assert [row for row in shop.told() if row[1] != "c"] == [("c", "a", 1)]
    assert "held" not in shop.split()
    shop.insert("c", 101)
    shop.insert("b", 1)
    assert shop.told() == [("c", "b", 1)]
    shop.name("a", "b", "c")
    assert sorted(shop.told()) == [("r", "c", key) for key in (*range(1, 96), 100, 101)]


def test_a_log_that_has_nothing_yet_begins_where_it_is_read_though_a_table_joins_later(
    make: Callable[..., _Shop],
) -> None:
    shop = make(startingPosition="initial", transport="staged")
    assert shop.told() == []
    shop.insert("c", *range(1, 96))
    shop.publication("ADD TABLE c")
    shop.name("a", "b", "c")
    # The driver dies between two batches, so that each begins to receive anew.
    for _ in range(2):
        assert shop.engine.run(crash_after=Step.COMMITTED, in_batch=len(shop.engine.offsets))
    shop.insert("a", 1)
    while shop.engine.run(crash_after=Step.COMMITTED, in_batch=len(shop.engine.offsets)):
        pass
    assert sorted(map(_told, shop.engine.rows)) == [("c", "a", 1), *(("r", "c", key) for key in range(1, 96))]


def test_a_table_that_was_made_anew_joins_as_a_new_one_when_the_query_has_forgotten_the_earlier(
    make: Callable[..., _Shop],
) -> None:
    shop = make(startingPosition="initial")
    shop.insert("a", 1)
    assert shop.told() == [("r", "a", 1)]
    shop.make_anew("a")
    shop.insert("a", 7)
    shop.publication("ADD TABLE a")
    with pytest.raises(SourceError, match="leave it out of option tables"):
        shop.told()
    shop.name("b")
    assert shop.told() == []
    shop.name("b", "a")
    assert shop.told() == [("r", "a", 7)]


@pytest.mark.parametrize("committed", [0, 1])
def test_a_table_in_place_of_another_one_is_refused_also_while_rows_are_read(
    make: Callable[..., _Shop], committed: int
) -> None:
    shop = make(startingPosition="initial")
    shop.insert("a", *range(1, 96))
    shop.publication("ADD TABLE c")
    for _ in range(committed):
        shop.engine.run(crash_after=Step.COMMITTED)
    if not committed:
        shop.told()
    shop.name("a", "c")
    with pytest.raises(SourceError, match="instead of one that it has read"):
        shop.told()


@_TRANSPORTS
def test_the_publication_says_the_tables_and_those_that_it_gets_join_with_their_rows(
    make: Callable[..., _Shop], transport: str
) -> None:
    shop = make(startingPosition="initial", transport=transport)
    shop.name("*")
    shop.insert("a", 1)
    shop.insert("c", 1)
    assert shop.told() == [("r", "a", 1)]
    shop.publication("ADD TABLE c")
    shop.insert("b", 1)
    assert sorted(shop.told()) == [("c", "b", 1), ("r", "c", 1)]
    shop.publication("DROP TABLE b")
    shop.insert("b", 2)
    shop.insert("c", 2)
    assert shop.told() == [("c", "c", 2)]


def test_tables_that_no_publication_names_are_refused_with_what_to_do(make: Callable[..., _Shop]) -> None:
    shop = make()
    shop.name("*")
    options = shop.table.options
    with pytest.raises(OptionError, match="is for a stream"):
        configured("postgres", {"url": options["url"], "tables": "*"}, Boundedness.BOUNDED)
    shop.execute(f"DROP PUBLICATION pub_{shop.schema}")
    with pytest.raises(SourceError, match="CREATE PUBLICATION"):
        shop.told()
