"""Stream JSON orders from a Kafka topic as typed columns into Parquet; what is no order keeps its text.

Run a broker beside it:  python scripts/local_kafka.py --produce 1000/s
Then:                    python examples/kafka_typed_rows.py localhost:9092 orders /tmp/typed-orders

It reads what is there, prints the sum of each product, and ends; started again, it goes on.
"""

from __future__ import annotations

import argparse

import headwater as hw


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("bootstrap_servers")
    parser.add_argument("topic")
    parser.add_argument("folder")
    args = parser.parse_args()

    spark = hw.session("kafka_typed_rows", master="local[2]", conf={"spark.log.level": "ERROR"})
    orders = (
        spark.readStream.format("headwater")
        .option("source", "kafka")
        .option("kafka.bootstrap.servers", args.bootstrap_servers)
        .option("subscribe", args.topic)
        .option("startingOffsets", "earliest")
        .option("valueFormat", "json")
        .option("valueSchema", "order_id long, ordered_at timestamp, product string, amount double")
        .option("timeZone", "UTC")
        .option("columnNameOfCorruptRecord", "corrupt")
        .option("columns", "value.*,partition,offset")
        .load()
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
    for row in rows.groupBy("product").sum("amount").orderBy("product").collect():
        print(*row)
    print(rows.where("corrupt is not null").count(), "corrupt")
    spark.stop()


if __name__ == "__main__":
    main()
