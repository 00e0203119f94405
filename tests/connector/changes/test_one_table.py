"""`hw.changes_of`: rows of several tables become those that a stream of one table has."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StringType, StructField, StructType

import headwater as hw
from headwater.connector.sources.spark_schema import spark_schema
from headwater.errors import OptionError
from headwater.readers.postgres.change_rows import META
from headwater.testing import MicroBatchEngine
from local_postgres import LocalPostgres
from tests.connector.sources.postgres.changes import changed_table
from tests.connector.sources.postgres.test_postgres_values import VALUES

SEVERAL = "_op string, _unchanged array<string>, _table string, before string, after string"
OWN_TYPES = ("mood", "price", "pair")
ORDERS = "id bigint, item string, amount decimal(4, 2)"


def frame(spark: SparkSession, *rows: tuple[Any, ...]) -> DataFrame:
    return spark.createDataFrame(list(rows), SEVERAL)


def changed(spark: SparkSession, after: str, schema: str = ORDERS) -> list[tuple[Any, ...]]:
    rows = frame(spark, ("u", [], "public.orders", None, after))
    return [tuple(row)[2:] for row in hw.changes_of(rows, "public.orders", schema=schema).collect()]


def test_rows_of_one_table_have_its_columns_and_of_a_deleted_row_what_is_known(spark: SparkSession) -> None:
    rows = frame(
        spark,
        ("r", [], "public.orders", None, '{"id":"1","item":"tea \\"x\\"","amount":"1.50"}'),
        ("c", [], "public.people", None, '{"code":"z"}'),
        ("u", ["item"], "public.orders", '{"id":"1"}', '{"id":"1","amount":null}'),
        ("d", [], "public.orders", '{"id":"1"}', None),
        ("t", [], "public.orders", None, None),
    )
    found = hw.changes_of(rows, "public.orders", schema=ORDERS)
    assert found.columns == ["_op", "_unchanged", "id", "item", "amount"]
    assert [(op, names, number, item, amount and str(amount)) for op, names, number, item, amount in
            map(tuple, found.collect())] == [
        ("r", [], 1, 'tea "x"', "1.50"),
        ("u", ["item"], 1, None, None),
        ("d", [], 1, None, None),
        ("t", [], None, None, None),
    ]  # fmt: skip
    assert hw.changes_of(rows, "public.people", schema="code string").count() == 1


@pytest.mark.parametrize("ansi", ["true", "false"])
@pytest.mark.parametrize(
    ("kind", "text", "said"),
    [
        ("decimal(4, 2)", "1.239", "the value 1.239 has no place in the type decimal(4,2)"),
        ("decimal(4, 2)", "NaN", "the value NaN"),
        ("int", "3000000000", "the value 3000000000"),
        ("int", "1.5", "the value 1.5"),
        ("date", "infinity", "the value infinity"),
        ("date", "2026-01-01 10:00:00", "the value 2026-01-01 10:00:00"),
        ("timestamp", "2026-01-01 10:00:00", "has no place in the type timestamp"),
        ("timestamp_ntz", "2026-01-01 10:00:00+00", "has no place in the type timestamp_ntz"),
        ("boolean", "yes", "the value yes"),
    ],
)
def test_a_value_without_a_place_fails_the_query_and_no_part_of_it_is_dropped(
    spark: SparkSession, kind: str, text: str, said: str, ansi: str
) -> None:
    spark.conf.set("spark.sql.ansi.enabled", ansi)
    try:
        with pytest.raises(Exception, match=r"(?s).*") as caught:
            changed(spark, json.dumps({"v": text}), f"v {kind}")
    finally:
        spark.conf.unset("spark.sql.ansi.enabled")
    message = hw.explain(caught.value)
    assert said in message
    assert "table public.orders, column 'v'" in message


def test_a_large_value_comes_whole(spark: SparkSession) -> None:
    """Spark's parser of JSON has a limit by default."""
    rows = spark.range(1).selectExpr(
        "'u' AS _op", "'public.orders' AS _table", "NULL AS before",
        """concat('{"v":"', repeat('x', 120000000), '"}') AS after""",
    )  # fmt: skip
    found = hw.changes_of(rows, "public.orders", schema="v string")
    assert found.selectExpr("length(v)").first() == (120_000_000,)


def test_a_column_that_the_schema_does_not_name_fails_the_query_by_its_name(spark: SparkSession) -> None:
    assert changed(spark, '{"id":"1"}') == [(1, None, None)]
    with pytest.raises(Exception, match="has the columns added, more, which schema does not name"):
        changed(spark, '{"id":"1","added":null,"more":"x"}')


@pytest.mark.parametrize(
    ("table", "schema", "said"),
    [
        ("orders", ORDERS, "the schema and the name of a table"),
        ("public.orders", "id bigint, tags array<string>", "'tags' cannot be array<string>"),
        ("public.orders", "_op string", "'_op', which the frame has"),
        ("public.orders", "id bigint,", "is no schema in Spark's DDL"),
        ("public.orders", "bigint", "must be Spark's DDL, such as id bigint"),
        ("public.orders", 7, "or a StructType, not 7"),
    ],
)
def test_what_cannot_be_is_refused_at_once(spark: SparkSession, table: str, schema: Any, said: str) -> None:
    with pytest.raises(OptionError, match=said):
        hw.changes_of(frame(spark), table, schema=schema)
    with pytest.raises(OptionError, match="no column '_table'"):
        hw.changes_of(spark.range(1), "public.orders", schema=ORDERS)


def test_values_of_all_types_are_those_of_a_stream_of_the_table_alone(
    postgres: LocalPostgres, spark: SparkSession
) -> None:
    built_in = {kind: values for kind, values in VALUES.items() if kind.strip("[]") not in OWN_TYPES}
    columns = ", ".join(f"c{number} {kind}" for number, kind in enumerate(built_in))
    with changed_table(postgres, "typed_again", f"id int PRIMARY KEY, {columns}") as table:
        options = {name: value for name, value in table.options.items() if name != "table"}
        several = MicroBatchEngine.of(
            "postgres", {**options, "tables": "typed_again", "slot": "slot_typed_json"}
        )
        try:
            assert table.rows() == []
            several.run()
            for number in range(max(map(len, built_in.values()))):
                drawn = [each[number % len(each)] for each in built_in.values()]
                table.execute(f"INSERT INTO typed_again VALUES ({number}, {', '.join(drawn)})")
            table.execute("INSERT INTO typed_again VALUES (-1)", "DELETE FROM typed_again WHERE id = 0")
            several.run()
        finally:
            table.drop_slot("slot_typed_json")
        alone = list(spark_schema(table.source().source.schema(), "postgres"))
        expected = spark.createDataFrame([tuple(row.values()) for row in table.rows()], StructType(alone))
        meta = alone[: len(META)]
        names = ("_table", "before", "after")
        rows = spark.createDataFrame(
            [tuple(row.values()) for row in several.rows],
            StructType([*meta, *(StructField(name, StringType()) for name in names)]),
        )
        schema = StructType([StructField(field.name, field.dataType) for field in alone[len(META) :]])
        found = hw.changes_of(rows, "public.typed_again", schema=schema)
        assert found.columns == expected.columns
        assert list(map(repr, found.collect())) == list(map(repr, expected.collect()))
