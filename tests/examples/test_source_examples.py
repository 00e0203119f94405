"""The example sources pass the suites, and run as their headings say."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from examples import folder_tree_source, object_events_source, paged_api_source
from examples.folder_tree_source import FolderTree, make_tree
from examples.object_events_source import ObjectEvents, put_object
from examples.paged_api_source import Items, PagedApi
from examples.sqlite_source import SqliteTable, add_orders
from headwater import testing
from tests.patience import PATIENCE_S

ROOT = Path(__file__).parent.parent.parent


def some_orders() -> Mapping[str, str]:
    database = f"{tempfile.mkdtemp()}/orders.db"
    add_orders(database, 0, 7)
    add_orders(database, 10, 13)
    return {"database": database}


class TestSqliteTable(testing.SourceTests, testing.SparkTests):
    source = SqliteTable
    options = staticmethod(some_orders)


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


@pytest.mark.slow
def test_each_example_runs(spark: SparkSession, capsys: pytest.CaptureFixture[str]) -> None:
    Items.items = []
    for example in (paged_api_source, object_events_source, folder_tree_source):
        example.main(spark)
    printed = capsys.readouterr().out.splitlines()
    assert printed == [
        "250 items",
        "500 items",
        "30 lines, 0 events left",
        "60 lines, 0 events left",
        "39 files, 54 bytes",
    ]


@pytest.mark.slow
def test_a_source_of_main_runs_with_one_command_also_on_a_cluster() -> None:
    command = [sys.executable, "examples/sqlite_source.py", "local-cluster[1,2,1024]"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert done.stdout.splitlines() == ["1000 rows", "2000 rows"], done.stderr[-4_000:]


def test_the_sqlite_source_is_short() -> None:
    assert len((ROOT / "examples" / "sqlite_source.py").read_text().splitlines()) < 60
