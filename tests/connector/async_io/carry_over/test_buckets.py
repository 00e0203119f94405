"""Rows survive their packing, and buckets meet Spark's own partitions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import Row

from headwater.connector.async_io.carry_over.buckets import (
    Packing,
    PiecesInOrder,
    bucket_keys,
    bucket_of,
    unpacked,
)
from headwater.connector.async_io.carry_over.event_time import EventTime
from headwater.core.errors import OptionError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_rows_are_packed_by_their_keys() -> None:
    batch = pa.RecordBatch.from_arrays(
        [pa.array(range(10)), pa.array([n % 3 for n in range(10)], pa.int32())], names=["id", "key"]
    )
    [out] = Packing([0, 1, 2], None).packed([batch])
    assert out.column("key").to_pylist() == [0, 1, 2]
    assert out.column("number").to_pylist() == [0, 0, 0]
    rows = pa.RecordBatch.from_arrays([out.column("rows")], names=["rows"])
    assert [each.column("id").to_pylist() for each in unpacked([rows])] == [
        [0, 3, 6, 9],
        [1, 4, 7],
        [2, 5, 8],
    ]


def test_each_bucket_is_a_shuffle_partition_of_its_own(spark: SparkSession) -> None:
    partitions = 11
    keys = bucket_keys(8, partitions)
    assert len(bucket_keys(8, 2)) == 2, "never more than there are partitions"
    df = spark.createDataFrame([(key,) for key in keys], "key int").selectExpr(
        f"pmod(hash(key), {partitions}) partition"
    )
    assert len({row.partition for row in df.collect()}) == len(keys) == 8


def test_equal_rows_have_one_bucket_and_maps_do_not_count(spark: SparkSession) -> None:
    df = spark.range(0, 40, 1, 4).selectExpr(
        "id % 10 id", "array(struct(id % 10)) nested", "map('n', id) unhashed"
    )
    keyed = (
        df.withColumn("key", bucket_of(df, [5, 9, 0], df.columns)).select("id", "key").distinct().collect()
    )
    assert len(keyed) == 10
    assert {row.key for row in keyed} == {5, 9, 0}
    with pytest.raises(OptionError, match="'carry_over': needs an input column that is no map"):
        bucket_of(df.select("unhashed"), [0, 1], df.columns)


def test_a_bucket_follows_from_the_keys_alone(spark: SparkSession) -> None:
    df = spark.range(0, 40, 1, 4).selectExpr("id", "id % 10 customer")
    keyed = df.withColumn("key", bucket_of(df, [5, 9, 0], ["customer"])).select("customer", "key").distinct()
    assert keyed.count() == 10


@given(st.data())
def test_pieces_come_in_the_order_of_each_task_however_spark_merges_what_it_spilled(
    data: st.DataObject,
) -> None:
    counts = data.draw(st.lists(st.integers(0, 6), max_size=4), label="pieces of each task")
    pieces = [
        Row(task=task, number=number, rows=bytes([task, number]))
        for task in range(len(counts))
        for number in range(counts[task])
    ]
    order = PiecesInOrder()
    taken = [tuple(rows) for piece in data.draw(st.permutations(pieces)) for rows in order.taken(piece)]
    for task, count in enumerate(counts):
        assert [number for of, number in taken if of == task] == list(range(count))


def test_every_key_hears_the_latest_time_of_the_rows_of_all_keys() -> None:
    def rows(*times: int | None) -> pa.RecordBatch:
        keys = pa.array([number % 2 for number in range(len(times))], pa.int32())
        times_us = [None if time is None else time * 1000 for time in times]
        return pa.RecordBatch.from_arrays(
            [pa.array(times_us, pa.timestamp("us", "UTC")), keys], names=["at", "key"]
        )

    packing = Packing([0, 1, 7], EventTime("at", 10))
    *_, last = packing.packed([rows(5, None, 900), rows(17, 3)])
    assert last.select(["key", "rows", "latest_ms"]).to_pylist() == [
        {"key": key, "rows": None, "latest_ms": 900} for key in (0, 1, 7)
    ]
    assert len(list(packing.packed([rows(None)]))) == 1, "no row has a time"
