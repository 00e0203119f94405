"""Count what is in a Kafka topic, partition by partition.

Run a broker beside it:  python scripts/local_kafka.py --produce 1000/s
Then:                    python examples/kafka_batch.py localhost:9092 orders
"""

from __future__ import annotations

import sys

import headwater as hw


def main(bootstrap_servers: str, topic: str) -> None:
    spark = hw.session("kafka_batch", master="local[*]")
    records = (
        spark.read.format("headwater")
        .option("source", "kafka")
        .option("kafka.bootstrap.servers", bootstrap_servers)
        .option("subscribe", topic)
        .option("columns", "partition,offset,timestamp")
        .load()
    )
    records.groupBy("partition").agg({"offset": "count", "timestamp": "max"}).orderBy("partition").show()
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:3])
