"""An incremental SQLite table by key range: it is read as a stream, grows, and is read on.

SQLite lets one writer in at a time and gives the key inside that writer's transaction, so keys become visible
in their order, if writers leave the key to SQLite. With ``AUTOINCREMENT`` the key of a row that was deleted
is not given again: the row that got it would never be read. Databases with several writers at once need more:
see ``examples/postgres_source.py``.
"""

import sqlite3
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing

import pyarrow as pa
from pyspark.sql import SparkSession

import headwater as hw


class SqliteTable(hw.SimpleSource, hw.Heads):
    """Rows in the order of their key, which SQLite gives. Rows are not changed; gaps do no harm."""

    name = "sqlite"
    schema = pa.schema((("id", pa.int64()), ("item", pa.string())))
    OPTIONS = (
        hw.options.Option("database", hw.options.text, None, "A file on each executor.", required=True),
        hw.options.Option("table", hw.options.text, "orders", "The table, with the columns id and item."),
    )

    def discover(self) -> list[hw.NamedSplit]:
        return [hw.NamedSplit(self.options["table"])]

    def head(self, split: hw.NamedSplit) -> int:
        with closing(sqlite3.connect(self.options["database"])) as database:
            given = "SELECT seq FROM sqlite_sequence WHERE name = ?"
            query = f'SELECT ({given}), max(id) FROM "{split.name}"'
            last, largest = database.execute(query, (split.name,)).fetchone()
        if last is None and largest is not None:
            raise ValueError(f"{split.name}.id must be INTEGER PRIMARY KEY AUTOINCREMENT")
        return 1 if last is None else int(last) + 1

    def read(self, split: hw.NamedSplit, position: int, stop: int | None = None) -> Iterator[hw.Page]:
        query = f'SELECT id, item FROM "{split.name}" WHERE id >= ? AND id < ? ORDER BY id'
        with closing(sqlite3.connect(self.options["database"])) as database:
            rows = database.execute(query, (position, stop))
            while page := rows.fetchmany(10_000):
                yield hw.Page(page, page[-1][0] + 1)


_CREATE = "CREATE TABLE IF NOT EXISTS orders (id INTEGER PRIMARY KEY AUTOINCREMENT, item TEXT)"
INSERT = "INSERT INTO orders (item) VALUES (?)"


def add_orders(database: str, first: int, stop: int) -> None:
    with closing(sqlite3.connect(database)) as orders, orders:
        orders.execute(_CREATE)
        orders.executemany(INSERT, [(f"item {n}",) for n in range(first, stop)])


def main(spark: SparkSession) -> None:
    folder = tempfile.mkdtemp()
    hw.register(spark, SqliteTable)
    for first in (0, 1_000):
        add_orders(f"{folder}/db", first, first + 1_000)
        stream = spark.readStream.format("sqlite").options(database=f"{folder}/db", maxRowsPerTrigger=1_000)
        writer = stream.load().writeStream.trigger(availableNow=True).format("parquet")
        writer.option("checkpointLocation", f"{folder}/checkpoint").start(f"{folder}/rows").awaitTermination()
        print(f"{spark.read.parquet(f'{folder}/rows').count()} rows")


if __name__ == "__main__":
    master = sys.argv[1] if len(sys.argv) > 1 else "local[2]"
    main(hw.session("sqlite_source", master=master, conf={"spark.log.level": "ERROR"}))
