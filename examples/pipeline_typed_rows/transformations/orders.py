"""Streaming tables of typed rows from Kafka and from files, and a materialized view over both."""

from __future__ import annotations

from pyspark import pipelines as dp
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

spark = SparkSession.active()


@dp.table
def orders() -> DataFrame:
    """Orders of a topic. A value that is no JSON keeps its text in `_corrupt_record`."""
    return (
        spark.readStream.format("headwater")
        .option("source", "kafka")
        .option("kafka.bootstrap.servers", spark.conf.get("shop.servers"))
        .option("subscribe", "orders")
        .option("startingOffsets", "earliest")
        .option("valueFormat", "json")
        .option("valueSchema", "product string, quantity int")
        .option("columnNameOfCorruptRecord", "_corrupt_record")
        .option("columns", "value.*,partition,offset")
        # A pipeline has no trigger that a batch would wait for, and its checkpoint is not known.
        .option("targetBatchDuration", "10s")
        .option("triggerInterval", "0s")
        .load()
    )


@dp.table
def returns() -> DataFrame:
    """Files of JSON whose schema is inferred once, and kept at a place of its own."""
    return (
        spark.readStream.format("headwater")
        .option("source", "files")
        .option("format", "json")
        .option("path", spark.conf.get("shop.inbox"))
        .option("timeZone", "UTC")
        .option("schemaName", "returns")
        .option("stateLocation", spark.conf.get("shop.state"))
        .load()
    )


@dp.materialized_view
def bad_orders() -> DataFrame:
    """What stands in for an expectation: the rows that break it, to be counted and looked at."""
    return spark.table("orders").where("_corrupt_record IS NOT NULL OR quantity <= 0")


@dp.materialized_view
def balance() -> DataFrame:
    """By product: what was ordered, less what came back."""
    ordered = spark.table("orders").where("quantity > 0").select("product", "quantity")
    back = spark.table("returns").select("product", (-F.col("quantity")).alias("quantity"))
    return ordered.unionByName(back).groupBy("product").agg(F.sum("quantity").alias("quantity"))
