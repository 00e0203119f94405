"""The demo's Spark driver: orders out of Kafka into Parquet, until it is killed or everything is written.

Started, killed and started again by demo_run.py; what it does is what any streaming job does.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from pyspark.sql.functions import col, from_json

import headwater as hw


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("bootstrap_servers")
    parser.add_argument("folder")
    parser.add_argument("board_port", type=int)
    args = parser.parse_args()

    conf = {"spark.ui.enabled": "false", "spark.log.level": "ERROR"}
    spark = hw.session("headwater demo", master="local[2]", conf=conf)
    hw.Board(spark, port=args.board_port)

    orders = (
        spark.readStream.format("headwater")
        .option("source", "kafka")
        .option("kafka.bootstrap.servers", args.bootstrap_servers)
        .option("subscribe", "orders")
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", 20_000)
        .option("columns", "value,partition,offset")
        .load()
        .select(
            from_json(col("value").cast("string"), "order_id long, customer string, amount double").alias(
                "order"
            ),
            "partition",
            "offset",
        )
        .select("order.*", "partition", "offset")
    )
    query = (
        orders.writeStream.format("parquet")
        .queryName("orders to parquet")
        .option("path", f"{args.folder}/orders")
        .option("checkpointLocation", f"{args.folder}/checkpoint")
        .start()
    )
    Path(args.folder, "started").touch()
    query.awaitTermination()


if __name__ == "__main__":
    main()
