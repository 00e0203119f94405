"""The same table by headwater and by Spark's own JDBC source: the same rows, and the differences by name."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from typing import Any, Final

import psycopg
import pytest
from pyspark.sql import DataFrame, SparkSession

import headwater as hw
from local_postgres import LocalPostgres
from spark_kafka_jars import POSTGRES, spark_format_jar
from tests.connector.sources.test_postgres_spark import CREATE

ROLE: Final = "beside_jdbc"
EDGES: Final = """
INSERT INTO typed (whole, small, long, single, double, amount, day, moment, local, text, bytes) VALUES
    (2147483647, 32767, 9223372036854775807, 'NaN', 'Infinity', 999999999.999, '1970-01-01',
     '1970-01-01 00:00:00+00', '1969-12-31 23:59:59.999999', '', ''),
    (-2147483648, -32768, -9223372036854775808, '-0', '-Infinity', -0.001, '2024-12-31',
     '2024-06-30 23:59:59.999999+00', '2038-01-19 03:14:08', '\U0001f600', '\\x')
"""

DIFFERENCES: Final = {
    "free": "decimal(38,18)",
    "wide": "decimal(38,0)",
    "number": "decimal(20,0)",
    "list": "array<int>",
    "hour": "timestamp_ntz",
}
"""What JDBC makes of these columns."""


@pytest.fixture(scope="module")
def typed(postgres: LocalPostgres) -> Iterator[dict[str, str]]:
    with psycopg.connect(postgres.conninfo, autocommit=True) as admin:
        admin.execute("CREATE DATABASE beside_jdbc")
        admin.execute(f"CREATE ROLE {ROLE} LOGIN PASSWORD '{ROLE}'")
    with psycopg.connect(postgres.conninfo, dbname="beside_jdbc", autocommit=True) as connection:
        connection.execute(CREATE)
        connection.execute(EDGES)
        connection.execute(f"GRANT SELECT ON typed TO {ROLE}")
        yield {"address": f"{postgres.url.rpartition('/')[0]}/beside_jdbc"}


@pytest.fixture
def frames(spark: SparkSession, typed: dict[str, str]) -> tuple[DataFrame, DataFrame]:
    spark.sql(f"ADD JAR '{spark_format_jar(POSTGRES)}'")
    ours = hw.read.postgres(spark, url=typed["address"], username=ROLE, password=ROLE, table="typed")
    jdbc = spark.read.format("jdbc").options(
        url=f"jdbc:{typed['address']}",
        dbtable="typed",
        user=ROLE,
        password=ROLE,
        driver="org.postgresql.Driver",
        preferTimestampNTZ="true",
    )
    return ours, jdbc.load()


def rows(frame: DataFrame, columns: list[str]) -> list[Any]:
    return sorted(map(repr, frame.select(*columns).collect()))


def test_rows_and_types_are_those_of_jdbc_and_the_differences_are_these(
    frames: tuple[DataFrame, DataFrame],
) -> None:
    ours, jdbc = frames
    theirs = dict(jdbc.dtypes)
    assert {name: theirs[name] for name, kind in ours.dtypes if kind != theirs[name]} == DIFFERENCES
    same = [name for name in ours.columns if name not in DIFFERENCES]
    assert rows(ours, same) == rows(jdbc, same)
    assert rows(ours, ["number"]) == rows(jdbc.selectExpr("cast(number as long) AS number"), ["number"])


def test_a_list_is_the_text_of_the_server_and_casts_to_what_jdbc_has(
    frames: tuple[DataFrame, DataFrame],
) -> None:
    ours, jdbc = frames
    cast = "from_csv(translate(list, '{}', ''), 'a int, b int')"
    assert ours.where("list is not null").selectExpr(cast).first() is not None
    assert {row["list"] for row in ours.select("list").collect()} == {None, "{1,NULL}"}
    assert [row["list"] for row in jdbc.where("list is not null").select("list").collect()] == [[1, None]]
    hours = [row["hour"] for row in jdbc.where("hour is not null").select("hour").collect()]
    assert hours == [dt.datetime(1970, 1, 1, 23, 59, 59, 500_000)]  # noqa: DTZ001 - PySpark's
