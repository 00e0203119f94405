"""Rows survive their packing, and buckets meet Spark's own partitions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from headwater.connector.async_io.carry_over.buckets import (
    bucket_keys,
    bucket_of,
    pack,
    packed,
    unpack,
    unpacked,
)
from headwater.core.errors import OptionError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_what_is_packed_is_unpacked_piece_by_piece() -> None:
    batch = pa.RecordBatch.from_pydict({"id": list(range(3000)), "nested": [{"n": [n]} for n in range(3000)]})
    pieces = [unpack(piece) for piece in pack(batch)]
    assert [piece.num_rows for piece in pieces] == [1024, 1024, 952]
    assert pa.Table.from_batches(pieces).equals(pa.Table.from_batches([batch]))


def test_rows_are_packed_by_their_keys() -> None:
    batch = pa.RecordBatch.from_arrays(
        [pa.array(range(10)), pa.array([n % 3 for n in range(10)], pa.int32())], names=["id", "key"]
    )
    [out] = packed([batch])
    assert out.column("key").to_pylist() == [0, 1, 2]
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
        df.withColumn("key", bucket_of(df, df.columns, [5, 9, 0])).select("id", "key").distinct().collect()
    )
    assert len(keyed) == 10
    assert {row.key for row in keyed} == {5, 9, 0}
    with pytest.raises(OptionError, match="'columns': must hold a column that is no map"):
        bucket_of(df, ["unhashed"], [0, 1])
