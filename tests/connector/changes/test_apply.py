"""`hw.apply_changes` into tables with MERGE, in the catalogue in memory of Spark's own tests."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import SparkRuntimeException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

import headwater as hw
from tests.connector.changes.apply_drawn import apply_drawn

CHANGES = "_op string, _lsn bigint, _seq int, _unchanged array<string>, id bigint, note string, n int"
TABLE = "n int, id bigint, note string"
BIG = ["note"]
OLD = (1, 1, "old")


@pytest.fixture(scope="module")
def catalog(spark: SparkSession) -> Iterator[str]:
    """A namespace for tables with MERGE."""
    home = "org.apache.spark.sql.connector.catalog"
    spark.conf.set("spark.sql.catalog.changes", f"{home}.InMemoryRowLevelOperationTableCatalog")
    spark.sql("CREATE NAMESPACE IF NOT EXISTS changes.shop")
    yield "changes.shop"
    spark.sql("DROP NAMESPACE changes.shop CASCADE")


@pytest.fixture
def table(spark: SparkSession, catalog: str) -> Iterator[str]:
    """A table with one row, `OLD`."""
    spark.sql(f"CREATE TABLE {catalog}.orders ({TABLE})")
    spark.createDataFrame([OLD], TABLE).writeTo(f"{catalog}.orders").append()
    yield f"{catalog}.orders"
    spark.sql(f"DROP TABLE {catalog}.orders")


def rows_of(spark: SparkSession, table: str) -> list[tuple[Any, ...]]:
    return sorted(map(tuple, spark.table(table).collect()), key=repr)


CASES: dict[str, tuple[Sequence[tuple[Any, ...]], list[tuple[Any, ...]]]] = {
    "insert": ([("c", 5, 0, None, 2, "b", 2)], [OLD, (2, 2, "b")]),
    "the last of a transaction": ([("u", 5, 1, [], 1, "b", 2), ("u", 5, 0, [], 1, "a", 9)], [(2, 1, "b")]),
    "null is a value": ([("u", 5, 0, [], 1, None, None)], [(None, 1, None)]),
    "delete": ([("d", 5, 0, None, 1, None, None)], []),
    "delete of no row": ([("d", 5, 0, None, 7, None, None)], [OLD]),
    "key move": ([("d", 5, 0, [], 1, None, None), ("c", 5, 1, [], 3, "old", 1)], [(1, 3, "old")]),
    "unchanged across batches": ([("u", 5, 0, BIG, 1, None, 2)], [(2, 1, "old")]),
    "unchanged behind an insert": (
        [("c", 5, 0, [], 2, "big", 1), ("u", 6, 0, BIG, 2, None, 2), ("u", 7, 0, BIG, 2, None, None)],
        [OLD, (None, 2, "big")],
    ),
    "unchanged behind NULL": (
        [("u", 5, 0, [], 1, None, 2), ("u", 6, 0, BIG, 1, None, 3)],
        [(3, 1, None)],
    ),
    "unchanged, then gone and again": (
        [("u", 5, 0, BIG, 1, None, 2), ("d", 6, 0, [], 1, None, None), ("c", 7, 0, [], 1, "new", 3)],
        [(3, 1, "new")],
    ),
    "truncate": ([("c", 4, 0, [], 2, "b", 2), ("t", 5, 0, [], None, None, None)], []),
    "truncate, then rows": (
        [("t", 5, 0, [], None, None, None), ("c", 5, 1, [], 1, "x", 8), ("u", 6, 0, BIG, 1, None, 9)],
        [(9, 1, "x")],
    ),
    "snapshot": ([("r", 4, -1, [], 1, "new", 5), ("u", 4, 0, BIG, 1, None, 6)], [(6, 1, "new")]),
    "nothing": ([], [OLD]),
}


@pytest.mark.parametrize("name", CASES)
def test_a_batch_leaves_the_table_as_the_changed_one_is_at_its_end_however_often_it_comes(
    spark: SparkSession, table: str, name: str
) -> None:
    changes, expected = CASES[name]
    for _ in range(2):
        hw.apply_changes(spark.createDataFrame(changes, CHANGES), into=table, key=["ID"])
        assert rows_of(spark, table) == expected


@pytest.mark.parametrize("number", range(3))
def test_any_log_cut_anywhere_and_applied_with_repeats_ends_as_the_table(
    spark: SparkSession, catalog: str, rng: random.Random, number: int
) -> None:
    rng.seed(rng.random() + number)
    apply_drawn(spark, f"{catalog}.drawn{number}", "", rng, 6)


SYNCED = "_op string, _lsn bigint, _seq int, _sync int, id bigint, note string, n int"


def test_a_later_synchronisation_counts_whatever_its_positions_are_and_needs_a_column(
    spark: SparkSession, table: str
) -> None:
    rows = [("c", 900, 0, 0, 2, "b", 1), ("r", 5, -1, 1, 2, "new", 2)]
    frame = spark.createDataFrame(rows, SYNCED)
    with pytest.raises(hw.HeadwaterError, match="ADD COLUMN _sync INT"):
        hw.apply_changes(frame, into=table, key=["id"])
    spark.sql(f"ALTER TABLE {table} ADD COLUMN _sync INT")
    hw.apply_changes(frame, into=table, key=["id"])
    assert rows_of(spark, table) == [(*OLD, None), (2, 2, "new", 1)]


@pytest.mark.parametrize("words", ["headwater", "spark"])
def test_rows_that_did_not_come_back_are_deleted_with_the_first_change_behind_all_rows(
    spark: SparkSession, table: str, words: str
) -> None:
    spark.sql(f"ALTER TABLE {table} ADD COLUMN _sync INT")
    batches: list[tuple[Any, list[Any]]] = [
        (("c", 5, 0, 0, 2, "b", 2), [OLD, (2, 2, "b")]),
        (("r", 4, -1, 1, 3, "c", 3), [OLD, (2, 2, "b"), (3, 3, "c")]),
        (("r", 4, -1, 1, 2, "b", 2), [OLD, (2, 2, "b"), (3, 3, "c")]),
        (("d", 6, 0, 1, 7, None, None), [(2, 2, "b"), (3, 3, "c")]),
        (("u", 7, 0, 1, 3, "d", 3), [(2, 2, "b"), (3, 3, "d")]),
    ]
    names = {"r": "insert", "c": "insert", "u": "update_postimage", "d": "delete"}
    for (op, *rest), expected in batches:
        frame = spark.createDataFrame([(op, *rest)], SYNCED)
        if words == "spark":
            frame = spark.createDataFrame([(names[op], *rest)], SYNCED)
            frame = frame.withColumnsRenamed({"_op": "_change_type", "_lsn": "_commit_version"})
        for _ in range(2):
            hw.apply_changes(frame, into=table, key=["id"])
            assert [row[:3] for row in rows_of(spark, table)] == expected


def test_a_batch_with_the_end_of_one_reading_and_all_of_the_next_has_the_rows_of_the_next(
    spark: SparkSession, table: str
) -> None:
    spark.sql(f"ALTER TABLE {table} ADD COLUMN _sync INT")
    rows = [("c", 900, 0, 0, 2, "gone", 2), ("r", 5, -1, 1, 3, "c", 3), ("d", 6, 0, 1, 7, None, None)]
    for _ in range(2):
        hw.apply_changes(spark.createDataFrame(rows, SYNCED), into=table, key=["id"])
        assert rows_of(spark, table) == [(3, 3, "c", 1)]


def test_the_page_shows_how_an_appended_log_gives_the_table_at_its_end(spark: SparkSession) -> None:
    page = (Path(__file__).parents[3] / "docs" / "apply-changes.md").read_text()
    (shown,) = re.findall(r"```python\n(order = .*?)```", page, re.DOTALL)
    log = [
        ("c", 900, 0, 0, 1, "gone", 1),
        ("c", 901, 0, 0, 2, "old", 1),
        ("r", 5, -1, 1, 2, "new", 2),
        ("r", 5, -1, 1, 3, "c", 3),
        ("d", 6, 0, 1, 3, None, None),
        ("c", 7, 0, 1, 4, "d", 4),
        ("r", 3, -1, 2, 2, "newer", 2),
    ]
    names: dict[str, Any] = {"F": F, "log": spark.createDataFrame(log, SYNCED)}
    exec(shown, names)
    # Of the last reading not all rows have come: those of the one before it are still there.
    assert sorted(row["note"] for row in names["orders"].collect()) == ["d", "newer"]


@pytest.mark.parametrize("has_seq", [False, True])
def test_changes_in_the_words_of_spark(spark: SparkSession, table: str, has_seq: bool) -> None:
    rows = [
        ("insert", 5, 0, 2, "b", 1),
        ("delete", 6, 0, 2, "b", 1),
        ("insert", 6, 1, 2, "c", 2),
        ("update_preimage", 7, 0, 1, "old", 1),
        ("update_postimage", 7, 0, 9, "moved", 1),
    ]
    schema = "_change_type string, _commit_version bigint, _seq int, id bigint, note string, n int"
    frame = spark.createDataFrame(rows, schema)
    hw.apply_changes(frame if has_seq else frame.drop("_seq"), into=table, key=["id"])
    assert rows_of(spark, table) == [(1, 9, "moved"), (2, 2, "c")]


def test_a_value_that_was_not_sent_stays_also_where_names_differ_in_case(
    spark: SparkSession, catalog: str
) -> None:
    spark.sql(f"CREATE TABLE {catalog}.cased (ID bigint, Note string)")
    schema = "_op string, _lsn bigint, _seq int, _unchanged array<string>, id bigint, note string"
    created: list[Any] = [("c", 5, 0, [], 1, "big")]
    for rows in (created, [("u", 6, 0, BIG, 1, None)], [("u", 7, 0, ["NOTE"], 1, None)]):
        hw.apply_changes(spark.createDataFrame(rows, schema), into=f"{catalog}.cased", key=["id"])
    assert rows_of(spark, f"{catalog}.cased") == [(1, "big")]


def test_debeziums_placeholders_in_arrays_are_values_that_were_not_sent(
    spark: SparkSession, catalog: str
) -> None:
    spark.sql(
        f"CREATE TABLE {catalog}.arrays (id bigint, tags array<string>, n array<int>, big array<bigint>)"
    )
    kind = "struct<id bigint, tags array<string>, n array<int>, big array<bigint>>"
    text = "__debezium_unavailable_value"
    codes = list(text.encode())
    for offset, after in enumerate([(1, ["a"], [2], [3]), (1, [text], codes, codes)]):
        rows = [(0, offset, "u" if offset else "c", None, after)]
        frame = spark.createDataFrame(
            rows, f"partition int, offset bigint, op string, before {kind}, after {kind}"
        )
        hw.apply_changes(frame, into=f"{catalog}.arrays", key=["id"])
    assert rows_of(spark, f"{catalog}.arrays") == [(1, ["a"], [2], [3])]


def test_a_truncate_in_the_words_of_spark_and_rows_before_changes(spark: SparkSession, table: str) -> None:
    schema = "_change_type string, _commit_version bigint, _seq int, id bigint, note string, n int"
    rows = [("truncate", 5, 0, None, None, None, None), ("insert", 5, 1, 2, "b", 2, None)]
    frame = spark.createDataFrame(rows, f"{schema}, before struct<id bigint, note string, n int>")
    hw.apply_changes(frame, into=table, key=["id"])
    assert rows_of(spark, table) == [(2, 2, "b")]


ENVELOPE = "id bigint, note string, n int"
DEBEZIUM = f"partition int, offset bigint, op string, before struct<{ENVELOPE}>, after struct<{ENVELOPE}>"


def test_changes_of_debezium(spark: SparkSession, table: str) -> None:
    rows = [
        (0, 1, "c", None, (2, "b", 1)),
        (0, 2, "u", (2, "b", 1), (2, "__debezium_unavailable_value", 5)),
        (1, 0, "u", None, (1, "__debezium_unavailable_value", 7)),
        (1, 1, "c", None, (3, "c", 1)),
        (1, 2, "d", (3, None, None), None),
        (1, 3, None, None, None),
        (1, 4, "m", None, None),
    ]
    hw.apply_changes(spark.createDataFrame(rows, DEBEZIUM), into=table, key=["id"])
    assert rows_of(spark, table) == [(5, 2, "b"), (7, 1, "old")]


def test_columns_that_describe_a_change_are_written_where_the_table_has_them(
    spark: SparkSession, catalog: str
) -> None:
    spark.sql(f"CREATE TABLE {catalog}.kept (id bigint, `_lsn` bigint)")
    rows = [("c", 5, 0, 1), ("u", 6, 0, 1)]
    frame = spark.createDataFrame(rows, "_op string, _lsn bigint, _seq int, id bigint")
    hw.apply_changes(frame, into=f"{catalog}.kept", key=["id"])
    assert rows_of(spark, f"{catalog}.kept") == [(1, 6)]


def test_a_table_that_is_its_key_alone(spark: SparkSession, catalog: str) -> None:
    spark.sql(f"CREATE TABLE {catalog}.keys (id bigint)")
    frame = spark.createDataFrame(
        [("c", 5, 0, 1), ("d", 6, 0, 1), ("c", 6, 1, 2)], "_op string, _lsn bigint, _seq int, id bigint"
    )
    for _ in range(2):
        hw.apply_changes(frame, into=f"{catalog}.keys", key=["id"])
    assert rows_of(spark, f"{catalog}.keys") == [(2,)]


ROW: tuple[Any, ...] = ("u", 5, 0, [], 1, "b", 2)
REFUSED: dict[str, tuple[Any, str, dict[str, Any], str]] = {
    "an operation": ([("x", 5, 0, [], 1, "b", 2)], CHANGES, {}, "the operation of a change is 'x'"),
    "no operation": ([(None, 5, 0, [], 1, "b", 2)], CHANGES, {}, "the operation of a change is 'NULL'"),
    "no order": ([("u", None, 0, [], 1, "b", 2)], CHANGES, {}, "NULL in _sync or _lsn or _seq"),
    "no key": (
        [("u", 5, 0, [], None, "b", 2)],
        CHANGES,
        {},
        "option 'key': column 'id' is NULL in 1 changes",
    ),
    "an update without a row": ([("u", 5, 0, BIG, 8, None, 2)], CHANGES, {}, "value of column 'note'"),
    "an update behind a delete": (
        [("d", 5, 0, [], 1, None, None), ("u", 6, 0, BIG, 1, None, 2)],
        CHANGES,
        {},
        "value of column 'note'",
    ),
    "a column that was renamed": (
        [("u", 5, 0, ["text"], 1, None, 2)],
        CHANGES,
        {},
        "names 'text' in _unchanged, and has no such column",
    ),
    "a move without a value": ([("c", 5, 1, BIG, 8, None, 2)], CHANGES, {}, "REPLICA IDENTITY FULL"),
    "more columns": ([(*ROW, 1)], f"{CHANGES}, extra int", {}, "the table lacks 'extra'"),
    "fewer columns": ([ROW[:-1]], CHANGES.removesuffix(", n int"), {}, "the changes lack 'n'"),
    "a key of another type": ([ROW], CHANGES.replace("id bigint", "id int"), {}, "cast it before"),
    "a column that is no key": ([ROW], CHANGES, {"key": ["ident"]}, "has no column 'ident'"),
    "a key twice": ([ROW], CHANGES, {"key": ["id", "ID"]}, "names a column twice"),
    "a key as a text": ([ROW], CHANGES, {"key": "id"}, "option 'key': must be a list of names"),
    "no table": ([ROW], CHANGES, {"into": "changes.shop.none"}, "there is no table changes.shop.none"),
    "no changes": ([(1,)], "id bigint", {}, "must be a frame of changes"),
    "two of a version": (
        [("insert", 5, 2, "b", 1), ("insert", 5, 2, "c", 1)],
        "_change_type string, _commit_version bigint, id bigint, note string, n int",
        {},
        "several changes of one kind in one _commit_version",
    ),
    "two partitions": (
        [(0, 1, "c", None, (2, "b", 1)), (1, 0, "u", None, (2, "c", 1))],
        DEBEZIUM,
        {},
        "changes in several partitions",
    ),
    "two topics": (
        [("a", 0, 1, "c", None, (2, "b", 1)), ("b", 0, 1, "u", None, (2, "c", 1))],
        f"topic string, {DEBEZIUM}",
        {},
        "changes in several partitions or topics",
    ),
    "truncate without an order": (
        [("truncate", 5, None, None, None), ("insert", 5, 2, "b", 1)],
        "_change_type string, _commit_version bigint, id bigint, note string, n int",
        {},
        "without the column _seq: keep that column",
    ),
    "a table read again, without an order": (
        [("insert", 5, 1, 2, "b", 1)],
        "_change_type string, _commit_version bigint, _sync int, id bigint, note string, n int",
        {},
        "read again as a whole (_sync), and without the column _seq",
    ),
    "truncate of debezium": ([(0, 1, "t", None, None)], DEBEZIUM, {}, "a TRUNCATE of Debezium"),
    "corrupt events": (
        [(0, 1, "c", None, None, "x")],
        f"{DEBEZIUM}, _corrupt_record string",
        {},
        "'_corrupt_record'",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_applied_is_refused_and_nothing_is_written(
    spark: SparkSession, table: str, name: str
) -> None:
    rows, schema, arguments, message = REFUSED[name]
    with pytest.raises((hw.HeadwaterError, Py4JJavaError, SparkRuntimeException)) as caught:
        hw.apply_changes(spark.createDataFrame(rows, schema), **{"into": table, "key": ["id"], **arguments})
    assert message in str(caught.value)
    assert rows_of(spark, table) == [OLD]


def test_a_table_without_merge_is_refused_with_what_to_do(spark: SparkSession) -> None:
    spark.sql(f"CREATE TABLE plain_orders ({TABLE}) USING parquet")
    frame = spark.createDataFrame([ROW], CHANGES)
    with pytest.raises(hw.HeadwaterError, match=r"table plain_orders has no MERGE: .* USING delta"):
        hw.apply_changes(frame, into="plain_orders", key=["id"])
    spark.sql("DROP TABLE plain_orders")


def test_a_stream_is_refused(spark: SparkSession) -> None:
    stream = spark.readStream.format("rate").load()
    with pytest.raises(hw.HeadwaterError, match="is a stream: call"):
        hw.apply_changes(stream, into="orders", key=["id"])
