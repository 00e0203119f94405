"""A PostgreSQL table that many write to at once, read as a stream without missing what is committed late.

    pip install 'psycopg[binary]'
    python examples/postgres_source.py 'host=localhost user=postgres' [local[2]]

Keys of a sequence are taken before the transaction commits: of two writers the one with the larger key may be
the first to commit, so "everything below max(id) is there" is not true. Transactions below the oldest one
that still runs have all ended. So rows are read in the order of their transactions, up to that one. It needs
PostgreSQL 13 or newer, and a column that only its default fills::

    CREATE TABLE orders (
        id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        item text,
        xid xid8 NOT NULL DEFAULT pg_current_xact_id()
    );
    CREATE INDEX ON orders (xid);

A transaction that stays open for an hour holds rows back for an hour; none is lost. Limits count
transactions.
"""

import sys
import tempfile
from collections.abc import Iterator
from itertools import groupby

import psycopg
import pyarrow as pa
from psycopg.rows import TupleRow
from psycopg.sql import SQL, Identifier
from pyspark.sql import SparkSession

import headwater as hw


class PostgresTable(hw.SimpleSource, hw.Heads):
    """Rows in the order of the transactions that wrote them. Rows are only added."""

    name = "postgres"
    schema = pa.schema((("id", pa.int64()), ("item", pa.string())))
    OPTIONS = (
        hw.options.Option("conninfo", hw.options.text, None, "How libpq reaches it.", required=True),
        hw.options.Option("table", hw.options.text, "orders", "With the columns id, item and xid."),
    )

    def discover(self) -> list[hw.NamedSplit]:
        return [hw.NamedSplit(self.options["table"])]

    def start(self, split: hw.NamedSplit) -> int:
        # Not the smallest that is there: an older transaction may still run.
        return self._transaction(f"SELECT least(min(xid), {_OLDEST_RUNNING}) FROM {{}}", split)

    def head(self, split: hw.NamedSplit) -> int:
        return self._transaction(f"SELECT {_OLDEST_RUNNING}", split)

    def read(self, split: hw.NamedSplit, position: int, stop: int | None = None) -> Iterator[hw.Page]:
        query = SQL(
            "SELECT xid::text::bigint, id, item FROM {} "
            "WHERE xid >= %s::text::xid8 AND xid < %s::text::xid8 ORDER BY xid, id"
        )
        with psycopg.connect(self.options["conninfo"]) as database, database.cursor("rows") as rows:
            rows.execute(query.format(Identifier(split.name)), (position, stop))
            page: list[TupleRow] = []
            transaction = position
            for transaction, written in groupby(rows, lambda row: int(row[0])):
                page += [row[1:] for row in written]
                if len(page) >= 10_000:  # a page ends between two transactions
                    yield hw.Page(page, transaction + 1)
                    page = []
            if page:
                yield hw.Page(page, transaction + 1)

    def _transaction(self, query: str, split: hw.NamedSplit) -> int:
        with psycopg.connect(self.options["conninfo"]) as database:
            found = database.execute(SQL(query).format(Identifier(split.name))).fetchone()
            assert found is not None
            return int(found[0])


_OLDEST_RUNNING = "pg_snapshot_xmin(pg_current_snapshot())"


def create_orders(conninfo: str, table: str = "orders") -> None:
    with psycopg.connect(conninfo) as database:
        database.execute(
            SQL(
                "CREATE TABLE IF NOT EXISTS {} (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, "
                "item text, xid xid8 NOT NULL DEFAULT pg_current_xact_id())"
            ).format(Identifier(table))
        )
        database.execute(SQL("CREATE INDEX ON {} (xid)").format(Identifier(table)))


def add_order(database: psycopg.Connection[TupleRow], item: str, table: str = "orders") -> None:
    database.execute(SQL("INSERT INTO {} (item) VALUES (%s)").format(Identifier(table)), (item,))


def main(spark: SparkSession, conninfo: str) -> None:
    folder = tempfile.mkdtemp()
    hw.register(spark, PostgresTable)
    create_orders(conninfo)
    with psycopg.connect(conninfo) as slow, psycopg.connect(conninfo) as fast:
        for writer in (slow, fast):
            add_order(writer, f"order {writer.info.backend_pid}")
        for ending in (fast.commit, slow.commit):
            ending()
            stream = spark.readStream.format("postgres").options(conninfo=conninfo).load()
            writing = stream.writeStream.trigger(availableNow=True).format("parquet")
            writing.option("checkpointLocation", f"{folder}/checkpoint").start(
                f"{folder}/rows"
            ).awaitTermination()
            print(f"{spark.read.schema(stream.schema).parquet(f'{folder}/rows').count()} rows")


if __name__ == "__main__":
    master = sys.argv[2] if len(sys.argv) > 2 else "local[2]"
    main(hw.session("postgres_source", master=master, conf={"spark.log.level": "ERROR"}), sys.argv[1])
