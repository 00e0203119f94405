"""A streaming job from Kafka into a Delta table, in a process of its own, for tests that kill it.

The one argument is JSON: ``conf``, ``servers``, ``topic``, ``folder``, and ``ends``: whether it reads what is
there in one batch, ends, and prints as JSON all rows of the table: partition, offset and key of each record.
"""

from __future__ import annotations

import json
import sys

from tests.exactly_once.sessions import session


def main() -> None:
    job = json.loads(sys.argv[1])
    spark = session(job)
    table = f"{job['folder']}/table"
    records = (
        spark.readStream.format("headwater")
        .option("source", "kafka")
        .option("kafka.bootstrap.servers", job["servers"])
        .option("subscribe", job["topic"])
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", 10_000_000 if job["ends"] else 60)
        .load()
    )
    writer = (
        records.selectExpr("partition", "offset", "cast(cast(key as string) as int) as key")
        .writeStream.format("delta")
        .option("path", table)
        .option("checkpointLocation", f"{job['folder']}/checkpoint")
    )
    trigger = {"availableNow": True} if job["ends"] else {"processingTime": "0 seconds"}
    writer.trigger(**trigger).start().awaitTermination()
    rows = spark.read.format("delta").load(table).collect()
    sys.stdout.write(json.dumps([tuple(row) for row in rows]))


if __name__ == "__main__":
    main()
