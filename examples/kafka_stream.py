"""Stream a Kafka topic into Parquet, exactly once, and print how far it is behind.

Ctrl-C ends it; start it again and it goes on.

Run a broker beside it:  python scripts/local_kafka.py --produce 1000/s
Then:                    python examples/kafka_stream.py localhost:9092 orders /tmp/orders
With --available-now it reads what is there and ends.
Kafka's tools show its lag:
    kafka-consumer-groups.sh --bootstrap-server localhost:9092 --describe --group kafka_stream
"""

from __future__ import annotations

import argparse
import signal
import threading

import headwater as hw


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("bootstrap_servers")
    parser.add_argument("topic")
    parser.add_argument("folder")
    parser.add_argument("--available-now", action="store_true")
    args = parser.parse_args()

    spark = hw.session("kafka_stream", master="local[*]")
    lag = hw.LagListener()
    spark.streams.addListener(lag)

    records = (
        spark.readStream.format("headwater")
        .option("source", "kafka")
        .option("kafka.bootstrap.servers", args.bootstrap_servers)
        .option("subscribe", args.topic)
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", 1_000_000)
        .option("commitOffsetsToGroup", "kafka_stream")
        .load()
    )
    writer = (
        records.selectExpr("cast(key as string)", "cast(value as string)", "partition", "offset", "timestamp")
        .writeStream.queryName(args.topic)
        .format("parquet")
        .option("path", f"{args.folder}/rows")
        .option("checkpointLocation", f"{args.folder}/checkpoint")
    )
    if args.available_now:
        writer = writer.trigger(availableNow=True)
    else:
        writer = writer.trigger(processingTime="1 second")
    query = writer.start()
    # Not inside `awaitTermination`: what Ctrl-C breaks off there fills the screen with tracebacks.
    ctrl_c = threading.Event()
    signal.signal(signal.SIGINT, lambda *_: ctrl_c.set())
    while query.isActive and not ctrl_c.wait(2):
        print(lag)
    query.stop()
    query.awaitTermination()  # raises what the query has failed with
    if args.available_now and query.lastProgress is not None:
        print(f"ended after batch {query.lastProgress['batchId']}")
    spark.stop()


if __name__ == "__main__":
    main()
