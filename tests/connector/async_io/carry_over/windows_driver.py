"""A query with windows behind an operator that carries rows over, in a process that a test kills.

The one argument is JSON.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

import headwater as hw
from tests.connector.async_io.functions import slow_for_some
from tests.exactly_once.sessions import session


def main() -> None:
    job: dict[str, Any] = json.loads(sys.argv[1])
    spark = session(job)
    folder = job["folder"]
    files = spark.readStream.schema("id long, at timestamp").option("maxFilesPerTrigger", 1)
    asked = hw.unordered_wait(
        files.parquet(f"{folder}/in"),
        slow_for_some,
        schema="answer long",
        carry_over="100ms",
        event_time="at",
        delay="2 seconds",
    )
    counted = asked.groupBy(F.window("at", "5 seconds")).agg(F.count("*").alias("rows"))
    query = (
        counted.writeStream.format("parquet")
        .option("path", f"{folder}/out")
        .option("checkpointLocation", f"{folder}/out-log")
        .trigger(**job["trigger"])
        .start()
    )
    query.awaitTermination()


if __name__ == "__main__":
    main()
