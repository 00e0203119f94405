"""Events of an outbox table in SQLite, whose JSON becomes typed columns: ``hw.decode``.

``python examples/outbox_source.py`` writes events, one of them broken, and streams them in two runs.
"""

from __future__ import annotations

import json
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing

import pyarrow as pa
from pyspark.sql import SparkSession

import headwater as hw


class Outbox(hw.SimpleSource, hw.Heads):
    """Rows of a key, which SQLite gives, and a text. See ``examples/sqlite_source.py`` for such keys."""

    name = "outbox"
    schema = pa.schema((("number", pa.int64()), ("event", pa.string())))
    OPTIONS = (
        hw.options.Option("database", hw.options.text, None, "A file on each executor.", required=True),
    )

    def decoding(self) -> hw.contracts.Decoding:
        return hw.decode(
            "json",
            column="event",
            schema="kind string, amount decimal(10, 2), at timestamp",
            options={"timeZone": "UTC", "columnNameOfCorruptRecord": "corrupt"},
        )

    def discover(self) -> list[hw.NamedSplit]:
        return [hw.NamedSplit("outbox")]

    def head(self, split: hw.NamedSplit) -> int:
        with closing(sqlite3.connect(self.options["database"])) as database:
            (last,) = database.execute("SELECT max(seq) FROM sqlite_sequence").fetchone()
        return int(last or 0) + 1

    def read(self, split: hw.NamedSplit, position: int, stop: int | None = None) -> Iterator[hw.Page]:
        query = "SELECT number, event FROM outbox WHERE number >= ? AND number < ? ORDER BY number"
        with closing(sqlite3.connect(self.options["database"])) as database:
            rows = database.execute(query, (position, stop))
            while page := rows.fetchmany(10_000):
                yield hw.Page(page, page[-1][0] + 1)


def add_events(path: str, *events: str) -> None:
    with closing(sqlite3.connect(path)) as database, database:
        database.execute(
            "CREATE TABLE IF NOT EXISTS outbox (number INTEGER PRIMARY KEY AUTOINCREMENT, event TEXT)"
        )
        database.executemany("INSERT INTO outbox (event) VALUES (?)", [(event,) for event in events])


def main(spark: SparkSession) -> None:
    folder = tempfile.mkdtemp()
    hw.register(spark, Outbox)
    for run in ("first", "second"):
        event = {"kind": run, "amount": 12.5, "at": "2026-01-02T03:04:05"}
        add_events(f"{folder}/db", json.dumps(event), "oops")
        stream = spark.readStream.format("outbox").option("database", f"{folder}/db").load()
        writer = stream.writeStream.trigger(availableNow=True).format("parquet")
        writer.option("checkpointLocation", f"{folder}/checkpoint").start(f"{folder}/rows").awaitTermination()
    rows = spark.read.parquet(f"{folder}/rows").orderBy("number")
    for row in rows.select("number", "kind", "amount", "corrupt").collect():
        print(*row)


if __name__ == "__main__":
    main(hw.session("outbox_source", master="local[2]", conf={"spark.log.level": "ERROR"}))
