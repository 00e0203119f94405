"""``spark.read`` of a table of a real PostgreSQL."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import psycopg
import pytest
from pyspark.sql import Row, SparkSession, functions

import headwater as hw
from headwater.connector.spark.lag import SnapshotProgress, query_lag
from local_postgres import LocalPostgres
from tests.connector.sources.postgres.changes import changed_table
from tests.patience import PATIENCE_S

CREATE = """
CREATE TYPE mood AS ENUM ('glad', 'sad');
CREATE DOMAIN price AS numeric(10, 2);
CREATE TABLE typed (
    flag boolean, small smallint, whole integer, long bigint, single real, double double precision,
    amount numeric(12, 3), cost price, free numeric, wide numeric(50, 2), day date,
    moment timestamptz, local timestamp, id uuid, bytes bytea, text text, short varchar(9), padded char(5),
    doc json, docb jsonb, mood mood, name name, number oid, address inet, list int[], span int4range,
    hour time
);
INSERT INTO typed VALUES (
    true, -7, 1000000, -5000000000, 1.5, 0.1, -1234.5, 19.99, 1e30, 5, '2024-02-29',
    '2024-02-29 12:00+02', '2024-02-29 12:00:00.000001', '00112233-4455-6677-8899-aabbccddeeff', '\\x00ff',
    'gr\u00fc\u00df', 'nine', 'ab', '{"a": 1}', '{"b":2}', 'sad', 'n', 4000000000, '10.0.0.1', '{1,NULL}',
    '[1,5)', '23:59:59.5'
);
INSERT INTO typed (whole) VALUES (2);
"""
EXPECTED: dict[str, Any] = {
    "flag": True,
    "small": -7,
    "whole": 1_000_000,
    "long": -5_000_000_000,
    "single": 1.5,
    "double": 0.1,
    "amount": Decimal("-1234.500"),
    "cost": Decimal("19.99"),
    "free": "1000000000000000000000000000000",
    "wide": "5.00",
    "day": dt.date(2024, 2, 29),
    "moment": dt.datetime(2024, 2, 29, 10),  # noqa: DTZ001 - PySpark's, in the session's zone
    "local": dt.datetime(2024, 2, 29, 12, 0, 0, 1),  # noqa: DTZ001 - without a zone
    "id": "00112233-4455-6677-8899-aabbccddeeff",
    "bytes": bytearray(b"\x00\xff"),
    "text": "gr\u00fc\u00df",
    "short": "nine",
    "padded": "ab   ",
    "doc": '{"a": 1}',
    "docb": '{"b": 2}',
    "mood": "sad",
    "name": "n",
    "number": 4_000_000_000,
    "address": "10.0.0.1",
    "list": "{1,NULL}",
    "span": "[1,5)",
    "hour": "23:59:59.5",
}


@pytest.fixture(scope="module")
def database(postgres: LocalPostgres) -> Iterator[psycopg.Connection[tuple[Any, ...]]]:
    with psycopg.connect(postgres.conninfo, autocommit=True) as connection:
        connection.execute("CREATE DATABASE typed_rows")
    with psycopg.connect(postgres.conninfo, dbname="typed_rows", autocommit=True) as connection:
        connection.execute(CREATE)
        yield connection


@pytest.fixture
def read(spark: SparkSession, postgres: LocalPostgres, database: Any) -> Callable[..., Any]:
    url = postgres.conninfo.replace("dbname=postgres", "dbname=typed_rows")

    def load(table: str, **options: Any) -> Any:
        return hw.read.postgres(spark, url=url, table=table, **options)

    return load


def test_rows_of_all_kinds_of_types_come_as_they_are(read: Callable[..., Any]) -> None:
    full, empty = sorted(read("public.typed").collect(), key=lambda row: row["flag"] is None)
    assert full.asDict() == EXPECTED
    assert empty.asDict() == {**dict.fromkeys(EXPECTED), "whole": 2}


def test_only_the_columns_that_are_asked_for_come_in_their_order(read: Callable[..., Any]) -> None:
    rows = read("typed", columns=["Whole", "day"], text_columns=["day"]).collect()
    assert sorted(rows) == sorted([Row(whole=1_000_000, day="2024-02-29"), Row(whole=2, day=None)])


def test_a_table_of_many_rows_comes_whole(
    read: Callable[..., Any], database: psycopg.Connection[tuple[Any, ...]]
) -> None:
    database.execute(
        "CREATE TABLE many AS SELECT i::bigint AS id, repeat('x', i % 3000) AS pad "
        "FROM generate_series(1, 20000) i"
    )
    found = read("many").selectExpr("count(*)", "sum(id)", "sum(length(pad))").first()
    assert found == database.execute("SELECT count(*), sum(id), sum(length(pad)) FROM many").fetchone()


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ("nothing", "there is no table nothing in database 'typed_rows'; check its schema"),
        ('"TYPED"', "there is public.typed"),
    ],
)
def test_a_table_that_is_not_there_is_an_error_that_names_those_that_look_alike(
    read: Callable[..., Any], table: str, said: str
) -> None:
    with pytest.raises(Exception, match="UnknownSplitError") as failed:
        read(table)
    assert said in hw.explain(failed.value)


def test_a_value_without_a_place_in_its_column_is_an_error_that_says_the_way_out(
    read: Callable[..., Any], database: psycopg.Connection[tuple[Any, ...]]
) -> None:
    database.execute("CREATE TABLE endless AS SELECT date 'infinity' AS day")
    with pytest.raises(Exception, match="SourceError") as failed:
        read("endless").collect()
    assert "table public.endless, column 'day' of type date: infinity has no place" in hw.explain(
        failed.value
    )
    assert read("endless", text_columns="day").collect() == [Row(day="infinity")]


def test_the_changes_of_a_table_are_a_stream(
    spark: SparkSession, database: Any, postgres: LocalPostgres, tmp_path: Path
) -> None:
    database.execute("CREATE TABLE changing (id int PRIMARY KEY, text text)")
    changes = hw.read_stream.postgres(
        spark,
        url=postgres.conninfo.replace("dbname=postgres", "dbname=typed_rows"),
        table="changing",
        slot="slot_changing",
        publication="pub_changing",
        create_publication=True,
    )
    writer = changes.writeStream.format("parquet").option("checkpointLocation", str(tmp_path / "log"))
    for statement in (
        None,
        "INSERT INTO changing VALUES (1, 'a'), (2, 'b')",
        "DELETE FROM changing WHERE id = 1",
    ):
        if statement is not None:
            database.execute(statement)
        query = writer.trigger(availableNow=True).start(str(tmp_path / "rows"))
        query.awaitTermination(PATIENCE_S)
        assert query.exception() is None
    rows = spark.read.parquet(str(tmp_path / "rows")).orderBy("_lsn", "_seq")
    told = [(row["_op"], row["id"], row["text"], row["_seq"], row["_unchanged"]) for row in rows.collect()]
    assert told == [("c", 1, "a", 0, []), ("c", 2, "b", 1, []), ("d", 1, None, 0, [])]
    database.execute("SELECT pg_drop_replication_slot('slot_changing')")


def test_rows_and_changes_of_several_tables_are_one_stream_whose_rows_are_read_as_maps(
    spark: SparkSession, database: Any, postgres: LocalPostgres, tmp_path: Path
) -> None:
    database.execute(
        "CREATE TABLE carts (id bigint PRIMARY KEY); CREATE TABLE people (code text PRIMARY KEY);"
        "INSERT INTO people VALUES ('z')"
    )
    url = postgres.conninfo.replace("dbname=postgres", "dbname=typed_rows")
    tables = ["public.carts", "public.people"]
    changes = hw.read_stream.postgres(
        spark,
        url=url,
        tables=tables,
        slot="slot_several",
        publication="pub_several",
        create_publication=True,
        starting_position="initial",
        state_location=str(tmp_path / "state"),
    )
    writer = changes.writeStream.format("parquet").option("checkpointLocation", str(tmp_path / "log"))
    for statement in (
        None,
        "INSERT INTO people VALUES ('a'); INSERT INTO carts VALUES (1);DELETE FROM people WHERE code = 'a'",
    ):
        if statement is not None:
            database.execute(statement)
        query = writer.trigger(availableNow=True).start(str(tmp_path / "rows"))
        query.awaitTermination(PATIENCE_S)
        assert query.exception() is None
    rows = spark.read.parquet(str(tmp_path / "rows")).orderBy("_lsn", "_seq")
    told = [(row["_op"], row["_table"], row["before"], row["after"]) for row in rows.collect()]
    assert told == [
        ("r", "public.people", None, '{"code":"z"}'),
        ("c", "public.people", None, '{"code":"a"}'),
        ("c", "public.carts", None, '{"id":"1"}'),
        ("d", "public.people", '{"code":"a"}', None),
    ]
    row = functions.from_json("after", "map<string,string>")
    carts = rows.where("_table = 'public.carts'").select("_op", row["id"].cast("long").alias("id"))
    assert carts.collect() == [Row(_op="c", id=1)]
    there = hw.read.postgres(spark, url=url, tables=tables).select("_op", "_table", row["id"].alias("id"))
    assert sorted(map(tuple, there.collect())) == [("r", "public.carts", "1"), ("r", "public.people", None)]
    database.execute("SELECT pg_drop_replication_slot('slot_several')")


def test_the_progress_of_a_stream_tells_chunks_lag_and_what_the_server_keeps(
    spark: SparkSession, postgres: LocalPostgres, tmp_path: Path
) -> None:
    with changed_table(postgres, "progress_of_a_stream", "id int PRIMARY KEY, s text") as table:
        table.execute(
            f"INSERT INTO {table.name} SELECT g, 'x' FROM generate_series(1, 50) g", f"ANALYZE {table.name}"
        )
        rows = hw.read_stream.postgres(
            spark,
            url=postgres.conninfo,
            table=table.name,
            slot=f"slot_{table.name}",
            publication=f"pub_{table.name}",
            create_publication=True,
            starting_position="initial",
            state_location=str(tmp_path / "state"),
            chunk_rows=10,
        )
        writer = rows.writeStream.format("noop").option("checkpointLocation", str(tmp_path / "checkpoint"))
        query = writer.trigger(availableNow=True).start()
        assert query.awaitTermination(PATIENCE_S)
        found = [query_lag(progress) for progress in query.recentProgress]
    told = [lag for lag in found if lag is not None]
    assert {lag.unit for lag in told} == {"bytes"}
    assert told[0].snapshot == SnapshotProgress(0, 5, 0)
    assert told[-1].snapshot == SnapshotProgress(5, 0, 50)
    assert (told[-1].total, told[-1].metrics["lagTime"]) == (0, 0)
    assert all(lag.metrics["retainedBytes"] > 0 for lag in told)
