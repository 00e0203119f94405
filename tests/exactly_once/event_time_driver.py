"""Windows over a backlog, aligned by event time, in a process of its own, for tests that kill it.

The one argument is JSON: ``conf``, ``master``, ``bootstrap_servers``, ``folder``, ``options``; with ``ends``
the query ends when it has caught up. Each batch writes its windows into a file that has its number.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from pyspark.sql import DataFrame
from pyspark.sql.functions import col, unix_millis, window

from tests.exactly_once.sessions import session

MINUTE_MS = 60_000


def windows(frame: DataFrame) -> DataFrame:
    """Count the records of each partition and minute, with a watermark of ten minutes."""
    counted = (
        frame.select("partition", "timestamp")
        .withWatermark("timestamp", "10 minutes")
        .groupBy("partition", window("timestamp", "1 minute"))
        .count()
    )
    return counted.select("partition", (unix_millis(col("window.start")) / MINUTE_MS).cast("long"), "count")


def main() -> None:
    job = json.loads(sys.argv[1])
    spark = session(job)
    folder = Path(job["folder"])
    (folder / "windows").mkdir(exist_ok=True)

    def update(rows: DataFrame, batch: int) -> None:
        written = folder / "windows" / f"{batch}.tmp"
        written.write_text(json.dumps([list(row) for row in rows.collect()]))
        # A batch that is replayed writes the same file again.
        written.replace(written.with_suffix(".json"))

    frame = (
        spark.readStream.format("headwater")
        .options(source="kafka", startingOffsets="earliest", columns="partition,timestamp")
        .option("kafka.bootstrap.servers", job["bootstrap_servers"])
        .options(**job["options"])
        .load()
    )
    writer = windows(frame).writeStream.outputMode("update").foreachBatch(update)
    writer = writer.option("checkpointLocation", str(folder / "checkpoint"))
    if job.get("ends"):
        writer = writer.trigger(availableNow=True)
    writer.start().awaitTermination()


if __name__ == "__main__":
    main()
