"""The example sources pass the suites, and run as their headings say."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
from pyspark.sql import SparkSession

from examples import (
    budget_source,
    folder_tree_source,
    manifest_files_source,
    object_events_source,
    outbox_source,
    paged_api_source,
    postgres_source,
    work_queue_source,
)
from examples.folder_tree_source import FolderTree, make_tree
from examples.object_events_source import ObjectEvents, put_object
from examples.outbox_source import Outbox, add_events
from examples.paged_api_source import Items, PagedApi
from examples.postgres_source import PostgresTable, add_order
from examples.sqlite_source import INSERT, SqliteTable, add_orders
from headwater import testing
from headwater.core.errors import SourceError
from headwater.core.source import Boundedness
from local_postgres import LocalPostgres
from tests.order_tables import late_order, order_table
from tests.patience import PATIENCE_S

ROOT = Path(__file__).parent.parent.parent


def some_orders() -> Mapping[str, str]:
    database = f"{tempfile.mkdtemp()}/orders.db"
    add_orders(database, 0, 13)
    with closing(sqlite3.connect(database)) as orders, orders:
        orders.execute("DELETE FROM orders WHERE id BETWEEN 5 AND 7")
    return {"database": database}


class TestSqliteTable(testing.SourceTests, testing.SparkTests):
    source = SqliteTable
    options = staticmethod(some_orders)

    def grow(self, options: Mapping[str, str]) -> None:
        add_orders(options["database"], 13, 20)

    def arrive_late(self, options: Mapping[str, str]) -> Iterator[None]:
        """As late as SQLite lets a row arrive: a second writer is not let in."""
        with (
            closing(sqlite3.connect(options["database"], timeout=0)) as slow,
            closing(sqlite3.connect(options["database"], timeout=0)) as fast,
        ):
            slow.execute(INSERT, ("slow",))
            yield
            with pytest.raises(sqlite3.OperationalError, match="locked"):
                fast.execute(INSERT, ("fast",))
            yield
            slow.commit()
            fast.execute(INSERT, ("fast",))
            yield
            fast.commit()

    def test_the_key_of_a_deleted_row_is_not_given_again(self) -> None:
        options = self.options()
        query = testing.MicroBatchEngine(lambda: self.configure(options, Boundedness.CONTINUOUS_UNBOUNDED))
        query.run()
        with closing(sqlite3.connect(options["database"])) as orders, orders:
            orders.execute("DELETE FROM orders WHERE id = (SELECT max(id) FROM orders)")
            orders.execute(INSERT, ("instead",))
        query.run()
        assert [row["item"] for row in query.rows[-2:]] == ["item 12", "instead"]

    def test_a_table_that_gives_keys_again_is_refused(self) -> None:
        options = self.options()
        with closing(sqlite3.connect(options["database"])) as orders, orders:
            orders.execute("CREATE TABLE plain (id INTEGER PRIMARY KEY, item TEXT)")
            orders.execute("INSERT INTO plain (item) VALUES ('first')")
        with pytest.raises(SourceError, match=r"plain\.id must be INTEGER PRIMARY KEY AUTOINCREMENT"):
            testing.read_batch(self.configure({**options, "table": "plain"}))


class TestPostgresTable(testing.SourceTests):
    source = PostgresTable
    arrive_late = staticmethod(late_order)

    @pytest.fixture(autouse=True)
    def server(self, postgres: LocalPostgres) -> None:
        self.conninfo = postgres.conninfo

    def options(self) -> Mapping[str, str]:
        return order_table(self.conninfo)

    def grow(self, options: Mapping[str, str]) -> None:
        with psycopg.connect(self.conninfo) as database:
            add_order(database, "more", options["table"])

    def test_a_query_that_begins_beside_an_open_transaction_does_not_miss_it(self) -> None:
        options = self.options()
        query = testing.MicroBatchEngine(lambda: self.configure(options, Boundedness.CONTINUOUS_UNBOUNDED))
        with psycopg.connect(self.conninfo) as slow, psycopg.connect(self.conninfo) as database:
            database.execute(f"TRUNCATE {options['table']}")
            database.commit()
            add_order(slow, "slow", options["table"])
            add_order(database, "fast", options["table"])
            database.commit()
            query.run()
            assert query.rows == []
            slow.commit()
            query.run()
        assert [row["item"] for row in query.rows] == ["slow", "fast"]


class TestPagedApi(testing.SourceTests):
    source = PagedApi

    @pytest.fixture(autouse=True)
    def served(self) -> Iterator[None]:
        Items.items = [{"id": number} for number in range(350)]
        with paged_api_source.serving() as self.url:
            yield

    def options(self) -> Mapping[str, str]:
        return {"url": self.url}

    def grow(self, options: Mapping[str, str]) -> None:
        Items.items += [{"id": number} for number in range(350, 500)]


class TestObjectEvents(testing.SourceTests):
    source = ObjectEvents

    def options(self) -> Mapping[str, str]:
        bucket = Path(tempfile.mkdtemp())
        for number in range(4):
            put_object(bucket, number, lines=3)
        return {"bucket": str(bucket)}


class TestFolderTree(testing.SourceTests):
    source = FolderTree

    def options(self) -> Mapping[str, str]:
        make_tree(Path(root := tempfile.mkdtemp()))
        return {"root": root, "pageFiles": "2"}


class TestOutbox(testing.SourceTests):
    source = Outbox

    def options(self) -> Mapping[str, str]:
        database = f"{tempfile.mkdtemp()}/outbox.db"
        add_events(database, '{"kind": "paid", "amount": 3}', "oops", '{"at": "2026-01-02"}')
        return {"database": database}

    def grow(self, options: Mapping[str, str]) -> None:
        add_events(options["database"], '{"kind": "late"}', "{}")


@pytest.mark.slow
def test_each_example_runs(
    spark: SparkSession, capsys: pytest.CaptureFixture[str], postgres: LocalPostgres
) -> None:
    Items.items = []
    for example in (paged_api_source, object_events_source, folder_tree_source):
        example.main(spark)
    outbox_source.main(spark)
    postgres_source.main(spark, postgres.conninfo)
    work_queue_source.main(spark)
    manifest_files_source.main(spark)
    budget_source.main(spark)
    printed = capsys.readouterr().out.splitlines()
    assert printed == [
        "250 items",
        "500 items",
        "30 lines, 0 events left",
        "60 lines, 0 events left",
        "39 files, 54 bytes",
        "1 first 12.50 None",
        "2 None None oops",
        "3 second 12.50 None",
        "4 None None oops",
        "0 rows",
        "2 rows",
        "100 messages, 0 left",
        "200 messages, 0 left",
        "files 1 3",
        "files 1 3 7",
        "12 lines of 12",
        "16 lines of 16",
    ]


@pytest.mark.slow
def test_a_source_of_main_runs_with_one_command_also_on_a_cluster() -> None:
    command = [sys.executable, "examples/sqlite_source.py", "local-cluster[1,2,1024]"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert done.stdout.splitlines() == ["1000 rows", "2000 rows"], done.stderr[-4_000:]


def test_the_sqlite_source_is_short() -> None:
    assert len((ROOT / "examples" / "sqlite_source.py").read_text().splitlines()) < 75
