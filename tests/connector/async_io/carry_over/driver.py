"""Queries in a process of their own, for a test that kills it: one drains each batch, others carry over.

The one argument is JSON.
"""

from __future__ import annotations

import json
import sys
from functools import partial
from typing import TYPE_CHECKING, Any

from pyspark.sql import SparkSession

import headwater as hw
from tests.connector.async_io.functions import HttpCache, Lookup, customer
from tests.exactly_once.sessions import session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery


def rows(spark: SparkSession, folder: str, behaviour: str, gated: str) -> DataFrame:
    """One file a batch; row 5 is the one that waits for the gate."""
    files = spark.readStream.schema("id long").option("maxFilesPerTrigger", 1).parquet(folder)
    return files.selectExpr("id", "id % 4 customer", f"if(id = 5, '{gated}', '{behaviour}') behaviour")


def start_queries(spark: SparkSession, job: dict[str, Any]) -> list[StreamingQuery]:
    """Start the queries of a job."""
    url = job["url"]
    folder = job["folder"]
    cache = hw.async_io.CacheSettings(key=customer, shared=HttpCache(url))
    by_customer = Lookup(url, "cached", "customer_name")
    plain = rows(spark, f"{folder}/in", "plain", "gated")
    cached = hw.unordered_wait(
        plain, by_customer, schema="customer_name string", columns=["customer"], cache=cache
    )
    asked = hw.unordered_wait(cached, Lookup(url), schema="name string")
    waits: dict[str, Any] = {
        "carried": hw.unordered_wait,
        "ordered": hw.ordered_wait,
        "keyed": partial(hw.keyed_wait, keys=["customer"]),
    }
    frames = {
        name: wait(
            rows(spark, f"{folder}/in", name, f"gated-{name}"),
            Lookup(url),
            schema="name string",
            carry_over=job["carry_over"],
        )
        for name, wait in waits.items()
    }
    frames["asked"] = asked
    return [
        frame.writeStream.format("parquet")
        .option("path", f"{folder}/{name}")
        .option("checkpointLocation", f"{folder}/{name}-checkpoint")
        .trigger(**job["trigger"])
        .start()
        for name, frame in frames.items()
        if name in job["queries"]
    ]


def main() -> None:
    job: dict[str, Any] = json.loads(sys.argv[1])
    for query in start_queries(session(job), job):
        query.awaitTermination()


if __name__ == "__main__":
    main()
