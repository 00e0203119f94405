"""What alignment by event time costs a catch-up."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator

import headwater as hw
from benchmarks.bench import Bench, BenchmarkError, Scale
from benchmarks.children import run_in_child
from benchmarks.results import Figure, Section, Target, median_of
from benchmarks.subjects import HEADWATER, spark_session
from timed_records import append_at

__all__ = ["run", "steps"]

AT_LEAST = 0.8
TOPIC = "event-time"
PLAIN = "shares of the backlog"
ALIGNED = "maxEventTimeSkew=1m"
_HOUR_MS = 3_600_000
_VALUE_BYTES = 100
_BATCHES = 10


def steps(_: Scale) -> int:
    """Return how often `run` calls ``bench.step``."""
    return 2


def run(bench: Bench) -> Section:
    """Catch up with the same backlog in both ways, in turn."""
    rows = bench.scale.format_rows // 4
    fill(bench, rows)
    bench.step(f"{4 * rows:,} records written")
    found = list(
        run_in_child(
            measure,
            bootstrap=bench.kafka.bootstrap_servers,
            rows=4 * rows,
            rounds=bench.scale.rounds,
            warmups=bench.scale.warmups,
        )
    )
    figures = [
        Figure(way, HEADWATER, "rows/s", tuple(speed for each, speed in found if each == way))
        for way in (PLAIN, ALIGNED)
    ]
    medians = [median_of(figures, way, HEADWATER) for way in (PLAIN, ALIGNED)]
    ratio = medians[1] / medians[0]
    bench.step(f"{ratio:.2f}x")
    return Section(
        "event_time",
        "Catching up, rows a second",
        f"{4 * rows:,} records of {_VALUE_BYTES} B; three partitions hold the last hour, one holds three. "
        f"AvailableNow into `noop`, {_BATCHES} batches, `local[2]`, `hw.recommended_conf()`.",
        ("", PLAIN, ALIGNED, "ratio"),
        [(HEADWATER, *(f"{median:,.0f}" for median in medians), f"**{ratio:.2f}x**")],
        figures,
        [Target(f"{ALIGNED} / {PLAIN}", AT_LEAST, ratio, at_least=True)],
    )


def fill(bench: Bench, rows: int) -> None:
    """Make the topic: so many records in each of four partitions."""
    end_ms = time.time_ns() // 1_000_000
    bench.kafka.create_topic(TOPIC, 4)
    for partition in range(4):
        span_ms = _HOUR_MS if partition else 3 * _HOUR_MS
        times = (end_ms - span_ms + span_ms * at // rows for at in range(rows))
        append_at(bench.kafka, TOPIC, partition, times, value_bytes=_VALUE_BYTES)


def measure(*, bootstrap: str, rows: int, rounds: int, warmups: int) -> Iterator[tuple[str, float]]:
    """In a process of its own.

    Yield the rows a second of both ways, in turn.
    """
    spark = spark_session(hw.recommended_conf())
    for number in range(warmups + rounds):
        for way in (PLAIN, ALIGNED) if number % 2 else (ALIGNED, PLAIN):
            options = {"subscribe": TOPIC, "startingOffsets": "earliest"}
            options["maxOffsetsPerTrigger"] = str(rows // _BATCHES)
            if way == ALIGNED:
                options["maxEventTimeSkew"] = "1m"
            with tempfile.TemporaryDirectory() as checkpoint:
                query = (
                    spark.readStream.format("headwater")
                    .options(source="kafka", **options)
                    .option("kafka.bootstrap.servers", bootstrap)
                    .load()
                    .writeStream.format("noop")
                    .option("checkpointLocation", checkpoint)
                    .trigger(availableNow=True)
                    .start()
                )
                query.awaitTermination()
            reports = [report for report in query.recentProgress if report["numInputRows"]]
            if sum(report["numInputRows"] for report in reports) != rows:
                raise BenchmarkError(f"{way}: not every record was read")
            if number >= warmups:
                # In the first batch processes are started.
                counted = reports[1:]
                read = sum(report["numInputRows"] for report in counted)
                spent_ms = sum(report["durationMs"]["triggerExecution"] for report in counted)
                yield way, 1_000 * read / spent_ms
    spark.stop()
