"""A query with state: windows over Kafka's records, from either of the two Kafka sources, into Parquet.

The same windows computed without Spark say what the sink must hold in the end.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tests.exactly_once.pipeline import Pipeline

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from local_kafka import LocalKafka

__all__ = ["HEADWATER", "SPARK", "NumberedRecords", "WindowPipeline"]

SPARK = "kafka"
HEADWATER = "headwater"

FIRST_MS = 1_700_000_040_000
SPACING_MS = 1_000
WINDOW_MS = 60_000
KEYS = 3

Window = tuple[int, int, tuple[int, ...]]
"""Beginning in ms, key, and the numbers of its records."""


class WindowPipeline(Pipeline):
    """Writes each window once, when the watermark has passed it. The option ``format`` names the source."""

    def frame(self) -> DataFrame:
        from pyspark.sql.functions import col, collect_list, sort_array, unix_millis, window

        options = {**self.options}
        reader = self.spark.readStream.format(options.pop("format"))
        if self.options["format"] == HEADWATER:
            reader = reader.option("source", "kafka")
        reader = reader.option("kafka.bootstrap.servers", self.bootstrap_servers)
        numbers = (
            reader.options(**options).load().selectExpr("timestamp", "cast(string(value) as long) number")
        )
        grouped = numbers.withWatermark("timestamp", "30 seconds").groupBy(
            window("timestamp", f"{WINDOW_MS} milliseconds"), (col("number") % KEYS).alias("key")
        )
        return grouped.agg(sort_array(collect_list("number")).alias("numbers")).select(
            unix_millis("window.start").alias("begins"), "key", "numbers"
        )

    def windows(self) -> list[Window]:
        """Return the windows that were written, sorted. One that was written twice is there twice."""
        return [
            (begins, key, tuple(numbers)) for begins, key, numbers in self.rows("begins", "key", "numbers")
        ]


@dataclass
class NumberedRecords:
    """Records with numbers as values and event times in the order of the numbers."""

    kafka: LocalKafka
    topic: str
    produced: int = 0
    flushed: int = 0
    _windows: dict[tuple[int, int], list[int]] = field(default_factory=lambda: defaultdict(list))

    def produce(self, count: int) -> None:
        """Append records, round robin over all partitions that there are."""
        numbers = range(self.produced, self.produced + count)
        times = [FIRST_MS + number * SPACING_MS for number in numbers]
        self.kafka.produce(self.topic, [str(number).encode() for number in numbers], timestamps_ms=times)
        for number, time_ms in zip(numbers, times, strict=True):
            self._windows[time_ms - (time_ms - FIRST_MS) % WINDOW_MS, number % KEYS].append(number)
        self.produced += count

    def close_windows(self) -> None:
        """Append one record so late that the watermark passes all windows; its own is not closed."""
        self.flushed += 1
        late_ms = FIRST_MS + self.produced * SPACING_MS + self.flushed * 3_600_000
        self.kafka.produce(self.topic, [b"-1"], timestamps_ms=[late_ms])

    def windows(self) -> list[Window]:
        """Return the windows of all records, sorted."""
        return sorted((begins, key, tuple(numbers)) for (begins, key), numbers in self._windows.items())
