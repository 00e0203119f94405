"""Debezium's changes as AUTO CDC: the table as it is (SCD type 1), and what its rows were (SCD type 2)."""

from __future__ import annotations

from typing import Literal

from pyspark import pipelines as dp
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

spark = SparkSession.active()


@dp.temporary_view
def changes() -> DataFrame:
    """One row for each change: the columns of the table, and which change it is."""
    events = (
        spark.readStream.format("headwater")
        .option("source", "kafka")
        .option("kafka.bootstrap.servers", spark.conf.get("shop.servers"))
        .option("subscribe", spark.conf.get("shop.topic"))
        .option("startingOffsets", "earliest")
        .option("valueFormat", "debezium-json")
        .option("valueSchema", "id long, name string")
        .option("mode", "FAILFAST")
        .option("columns", "value.*,offset")
        .load()
    )
    row = F.when(F.col("op") == "d", F.col("before")).otherwise(F.col("after"))
    # Without tombstones. All changes of a key are in one partition, where offsets order them.
    changed = events.where("op IN ('r', 'c', 'u', 'd')").select("op", "offset", row.alias("row"))
    return changed.select("op", "offset", "row.*")


def follow(target: str, kind: Literal[1, 2]) -> None:
    """Make a table that the changes are applied to."""
    dp.create_streaming_table(target)
    dp.create_auto_cdc_flow(
        target=target,
        source="changes",
        keys=["id"],
        sequence_by="offset",
        apply_as_deletes="op = 'd'",
        except_column_list=["op", "offset"],
        stored_as_scd_type=kind,
    )


follow("customers", 1)
follow("customers_history", 2)
