"""Read orders out of Parquet files first, and then go on with the topic, in one query, without a gap.

Run a broker beside it:  python scripts/local_kafka.py --produce 1000/s
Then:                    python examples/hybrid_stream.py localhost:9092 orders /tmp/orders-chain

The first run copies what the topic has by now to Parquet: that is the history. Each run reads what there is,
and prints how many orders there are, and how many come twice.
"""

from __future__ import annotations

import argparse
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

from pyspark.sql import SparkSession

import headwater as hw

COLUMNS = "order_id long, ordered_at timestamp, amount decimal(9,2)"


def write_history(spark: SparkSession, servers: str, topic: str, folder: Path) -> None:
    """Copy the orders of a topic to Parquet. The seam lies before the last of them: both sides have these."""
    seam = datetime.now(UTC) - timedelta(seconds=10)
    orders = hw.read.kafka(
        spark,
        servers=servers,
        topics=[topic],
        value_format="json",
        value_schema=COLUMNS,
        time_zone="UTC",
        columns=["value.*"],
    )
    orders.write.parquet(f"{folder}/history")
    (folder / "seam").write_text(seam.isoformat())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("bootstrap_servers")
    parser.add_argument("topic")
    parser.add_argument("folder", type=Path)
    args = parser.parse_args()

    spark = hw.session("hybrid_stream", master="local[2]", conf={"spark.log.level": "ERROR"})
    if not (args.folder / "seam").exists():
        write_history(spark, args.bootstrap_servers, args.topic, args.folder)
    orders = hw.read_stream.hybrid(
        spark,
        sources=["history", "live"],
        parts={
            "history.source": "files",
            "history.format": "parquet",
            "history.path": f"{args.folder}/history",
            "live.source": "kafka",
            "live.kafka.bootstrap.servers": args.bootstrap_servers,
            "live.subscribe": args.topic,
            "live.valueFormat": "json",
            "live.valueSchema": COLUMNS,
            "live.timeZone": "UTC",
            "live.columns": "value.*",
        },
        seam_column="ordered_at",
        seam_time=(args.folder / "seam").read_text(),
    )
    query = (
        orders.writeStream.format("parquet")
        .option("path", f"{args.folder}/rows")
        .option("checkpointLocation", f"{args.folder}/checkpoint")
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    rows = spark.read.parquet(f"{args.folder}/rows")
    count = rows.count()
    print(json.dumps({"orders": count, "twice": count - rows.select("order_id").distinct().count()}))
    spark.stop()


if __name__ == "__main__":
    main()
