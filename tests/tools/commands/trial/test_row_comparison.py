"""Rows are the same in any order, and every drawn change of one of them is found, with its place."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest

from headwater.tools.commands.trial.row_comparison import columns_that_differ, digest, first_places

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = (
    "topic string, partition int, offset bigint, value binary, `a.b` double, "
    "headers array<struct<key string, value binary>>, tags map<string, int>"
)
ROWS = 40


def rows(rng: random.Random) -> list[tuple[Any, ...]]:
    return [
        (
            "t",
            at % 3,
            at // 3,
            rng.choice([None, b"", b"\xff", b"text"]),
            rng.choice([None, 0.0, float("nan"), 1.5]),
            rng.choice([None, [], [("k", None)], [(None, b"k")]]),
            rng.choice([None, {}, {"a": None}, {"a": 1}]),
        )
        for at in range(ROWS)
    ]


CHANGES: dict[int, list[Any]] = {
    3: [None, b"", b"\xff", b"\xfe"],
    4: [None, 0.0, float("nan"), 2.5],
    5: [None, [], [("k", None)], [(None, b"k")], [("k", b"")]],
    6: [None, {}, {"a": None}, {"a": 2}],
}


def test_every_change_of_a_row_is_found_with_its_place(spark: SparkSession, rng: random.Random) -> None:
    before = rows(rng)
    place = ("topic", "partition", "offset")
    sparks = spark.createDataFrame(before, SCHEMA)
    assert digest(sparks) == digest(spark.createDataFrame(rng.sample(before, ROWS), SCHEMA).repartition(3))
    after = [*before]
    changes = {}
    for at, (column, values) in zip(
        sorted(rng.sample(range(ROWS), len(CHANGES))), CHANGES.items(), strict=True
    ):
        value = rng.choice([each for each in values if repr(each) != repr(before[at][column])])
        after[at] = (*before[at][:column], value, *before[at][column + 1 :])
        changes[f"t {at % 3} {at // 3}: "] = {sparks.columns[column]}
    ours = spark.createDataFrame(after, SCHEMA)
    assert digest(ours) != digest(sparks), changes
    found = first_places(sparks, ours, place, len(CHANGES) + 1)
    assert {each.text[: each.text.index(": ") + 2]: each.columns for each in found} == changes


def test_rows_that_are_missing_or_come_twice_are_found(spark: SparkSession, rng: random.Random) -> None:
    before = rows(rng)
    sparks = spark.createDataFrame(before, SCHEMA)
    place = ("topic", "partition", "offset")
    ours = spark.createDataFrame([*before[2:], before[5], before[5]], SCHEMA)
    texts = [each.text for each in first_places(sparks, ours, place, 5)]
    assert [text[:20] for text in texts] == [
        "t 0 0: 1 of Spark's ",
        "t 1 0: 1 of Spark's ",
        "t 2 1: 1 of Spark's ",
    ]
    assert "alone" in texts[0]
    assert "3 of headwater" in texts[2]
    assert first_places(sparks, sparks, place, 5) == []


@pytest.mark.parametrize("kind", ["double", "float", "array<double>", "struct<x: double>"])
def test_a_zero_below_zero_is_another_value(spark: SparkSession, kind: str) -> None:
    text = {"array<double>": "array({})", "struct<x: double>": "named_struct('x', {})"}.get(kind, "{}")
    number = "CAST('{}' AS " + ("float" if kind == "float" else "double") + ")"
    one, other = (
        spark.sql(f"SELECT 1 AS id, {text.format(number.format(zero))} AS v") for zero in ("0.0", "-0.0")
    )
    assert digest(one) != digest(other)
    assert [place.columns for place in first_places(one, other, ["id"], 5)] == [{"v"}]


def test_the_order_of_the_entries_of_a_map_does_not_count(spark: SparkSession) -> None:
    for kind, one, other in (
        ("map<string,int>", "map('a', 1, 'b', 2)", "map('b', 2, 'a', 1)"),
        (
            "array<struct<m: map<int, map<int, int>>>>",
            "array(struct(map(1, map(1, 2, 3, 4), 2, null) as m), null)",
            "array(struct(map(2, null, 1, map(3, 4, 1, 2)) as m), null)",
        ),
    ):
        digests = {digest(spark.sql(f"select cast({each} as {kind}) as a")) for each in (one, other)}
        assert len(digests) == 1, kind


def test_columns_of_other_types_are_told_before_rows(spark: SparkSession) -> None:
    one, other = spark.sql("select 1 as a"), spark.sql("select 1L as a")
    assert columns_that_differ(one, one) == []
    assert columns_that_differ(one, other) == ["columns: a int of Spark's source, and a bigint of headwater"]
