"""A chain of sources into Parquet, in a process of its own, for tests that kill it.

The one argument is JSON: ``conf``, ``master``, ``folder``, ``options``; with ``ends`` the query ends when it
has read what is there.
"""

from __future__ import annotations

import json
import sys

from tests.exactly_once.sessions import session


def main() -> None:
    job = json.loads(sys.argv[1])
    spark = session(job)
    frame = spark.readStream.format("headwater").options(source="hybrid", **job["options"]).load()
    writer = (
        frame.writeStream.format("parquet")
        .option("path", f"{job['folder']}/rows")
        .option("checkpointLocation", f"{job['folder']}/checkpoint")
    )
    if job.get("ends"):
        writer = writer.trigger(availableNow=True)
    writer.start().awaitTermination()


if __name__ == "__main__":
    main()
