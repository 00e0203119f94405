"""A streaming job from a barrier source into Parquet, in a process of its own, for tests that kill it.

It runs until it is killed or the trigger ends it.

The one argument is JSON: ``master``, ``conf``, ``options``, ``columns``, ``folder``, ``trigger``, ``united``,
and ``peeks``: the first batch is left after its first rows, and nothing of it is written.
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

__all__ = ["start"]


def start(spark: SparkSession, job: dict[str, Any]) -> StreamingQuery:
    """Start the query."""
    frame = spark.readStream.format("headwater").options(**job["options"]).load().selectExpr(*job["columns"])
    if job["united"]:
        frame = frame.union(frame)

    def write_all_but_the_first(batch: DataFrame, number: int) -> None:
        if number == 0:
            assert not batch.isEmpty()
        else:
            # A batch that is run again takes the place of its first run.
            batch.write.mode("overwrite").parquet(f"{job['folder']}/batches/batch={number}")

    if job.get("peeks"):
        writer = frame.writeStream.foreachBatch(write_all_but_the_first)
    else:
        writer = frame.writeStream.format("parquet").option("path", f"{job['folder']}/rows")
    writer = writer.option("checkpointLocation", f"{job['folder']}/checkpoint")
    return (writer.trigger(**job["trigger"]) if job["trigger"] else writer).start()


def main() -> None:
    from tests.exactly_once.sessions import session

    job = json.loads(sys.argv[1])
    start(session(job), job).awaitTermination()


if __name__ == "__main__":
    main()
