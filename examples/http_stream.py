"""Stream a REST API into Parquet, exactly once, in two runs: the second goes on where the first stopped.

    python -m examples.http_stream

It starts the API itself (examples/http_server.py): 2,000 items in linked pages, every hundredth with a list
of comments of its own. Between the runs 500 items are added. Rows, checkpoint and state location are in a
folder that goes when the program ends.
"""

from __future__ import annotations

import tempfile

from pyspark.sql import SparkSession

import headwater as hw
from examples.http_server import Api, serving


def main() -> None:
    spark = hw.session("http_stream", master="local[2]")

    api = Api(0, items=2_000, page=100)
    serving(api)
    with tempfile.TemporaryDirectory() as folder:
        run(spark, api.url, folder)
        api.items += 500
        run(spark, api.url, folder)
    api.shutdown()
    api.server_close()
    spark.stop()


def run(spark: SparkSession, url: str, folder: str) -> None:
    """Read what the API has now, to its end, and count what was written so far."""
    items = (
        spark.readStream.format("headwater")
        .option("source", "http")
        .option("url", url)
        .option("childrenField", "comments")
        .option("stateLocation", f"{folder}/state")
        .load()
    )
    writer = (
        items.writeStream.format("parquet")
        .option("path", f"{folder}/rows")
        .option("checkpointLocation", f"{folder}/checkpoint")
    )
    writer.trigger(availableNow=True).start().awaitTermination()
    rows = spark.read.parquet(f"{folder}/rows")
    listed = rows.where("resource like '%/items'").count()
    print(f"{listed} items, {rows.count() - listed} comments", flush=True)


if __name__ == "__main__":
    main()
