"""A program with a source of its own: the class exists nowhere but in ``__main__``.

A client of Spark Connect. The one argument: the address of its server.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql import SparkSession

import headwater as hw

ROWS = 20


class Countdown(hw.SimpleSource, hw.Heads):
    """Numbers below twenty, in two splits."""

    name = "countdown"
    schema = pa.schema((("split", pa.string()), ("number", pa.int64())))

    def discover(self) -> list[hw.NamedSplit]:
        return [hw.NamedSplit("even"), hw.NamedSplit("odd")]

    def head(self, split: hw.NamedSplit) -> int:
        return ROWS // 2

    def read(self, split: hw.NamedSplit, position: int, stop: int | None = None) -> Iterator[hw.Page]:
        numbers = range(position, stop or ROWS // 2)
        yield hw.Page([(split.name, 2 * number + (split.name == "odd")) for number in numbers], numbers.stop)


def main() -> None:
    spark = SparkSession.builder.remote(sys.argv[1]).getOrCreate()
    hw.register(spark, Countdown)
    batch = spark.read.format("countdown").load()
    with tempfile.TemporaryDirectory() as folder:
        stream = spark.readStream.format("countdown").load()
        query = (
            stream.writeStream.trigger(availableNow=True)
            .option("checkpointLocation", f"{folder}/checkpoint")
            .start(f"{folder}/rows", "parquet")
        )
        assert query.awaitTermination(300)
        streamed = spark.read.parquet(f"{folder}/rows").collect()
    print(json.dumps([sorted(row.number for row in rows) for rows in (batch.collect(), streamed)]))
    spark.stop()


if __name__ == "__main__":
    main()
