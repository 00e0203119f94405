"""Do micro-batches get as many tasks as the work behind the source wants?

A grid of the time per row, the rows of a batch, the partitions, and the tasks that Spark runs at once. Each
row sleeps on the JVM's side, so that eight tasks are eight times as fast as one on two cores too.
"""

from __future__ import annotations

import itertools
import json
import statistics
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import headwater as hw
from benchmarks.bench import Bench, Scale
from benchmarks.children import run_in_child
from benchmarks.results import Figure, Section, Target
from benchmarks.subjects import HEADWATER, JVM, read_batch, read_stream, spark_session
from local_kafka import LocalKafka

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

__all__ = ["fill", "micro_batches_ms", "run", "steps"]

CORES = (2, 8)
PARTITIONS = (8, 2_000)
ROWS = (10, 100, 1_000, 10_000)
ROW_MS = (0, 1, 5, 20)
AT_MOST = 1.1
LEARNING = 8
"""Batches at the start of a run in which the JVM warms up, and headwater learns how many tasks are best."""

_ENOUGH_BATCHES = 4
_ENOUGH_S = 15.0
"""A query of Spark's own source that has so many batches, and has run for so long, is stopped: with 2,000
tasks a batch takes many seconds, and it has nothing to learn. Its first batch does not count."""

_LOOK_S = 1

STREAM = "micro-batch"
BATCH = "batch read"
_KINDS = (STREAM, BATCH)


class Cell(NamedTuple):
    """One point of the grid."""

    cores: int
    partitions: int
    rows: int
    row_ms: int

    @property
    def topic(self) -> str:
        return f"parallelism-{self.partitions}-{self.rows}"

    @property
    def work_s(self) -> float:
        """How long the rows of a batch take if they are spread evenly."""
        return self.rows * self.row_ms / min(self.cores, self.rows, self.partitions) / 1_000


def steps(_: Scale) -> int:
    """Return how often `run` calls ``bench.step``."""
    return len(CORES) * len(PARTITIONS) * 2


def run(bench: Bench) -> Section:
    """Measure every cell: both subjects in a Spark of their own, cell after cell."""
    samples: dict[Cell, dict[str, dict[str, list[float]]]] = {}
    for cores, partitions in itertools.product(CORES, PARTITIONS):
        cells = [
            cell
            for cell in itertools.starmap(Cell, itertools.product([cores], [partitions], ROWS, ROW_MS))
            if cell.work_s <= bench.scale.parallelism_work_s
        ]
        for cell in cells:
            fill(bench.kafka, cell.topic, partitions, cell.rows, bench.scale.parallelism_batches)
        for subject in (JVM, HEADWATER):
            found = run_in_child(
                measure,
                subject=subject,
                cores=cores,
                cells=[[cell.topic, partitions, cell.rows, cell.row_ms] for cell in cells],
                bootstrap=bench.kafka.bootstrap_servers,
                jars=list(bench.jars) if subject == JVM else [],
            )
            for cell, taken in zip(cells, found, strict=True):
                samples.setdefault(cell, {})[subject] = taken
            bench.step(f"{subject}, local[{cores}], {partitions} partitions")
    return _section(samples)


def fill(kafka: LocalKafka, topic: str, partitions: int, rows: int, batches: int) -> None:
    """Make a topic, if it is not there, with so many batches of so many rows.

    The rows of a batch are spread over all partitions; where there are more partitions than rows, the first
    have one each.
    """
    if topic in kafka.topics():
        return
    kafka.create_topic(topic, partitions)
    if rows >= partitions:
        kafka.produce(topic, [b"x" * 100] * (rows * batches))
    else:
        for partition in range(rows):
            kafka.produce(topic, [b"x" * 100] * batches, partition=partition)


def measure(
    *, subject: str, cores: int, cells: Sequence[tuple[str, int, int, int]], bootstrap: str, jars: list[str]
) -> Iterator[dict[str, list[float]]]:
    """In a process of its own.

    Yield for each cell the milliseconds of its micro-batches, and of batch reads of as many rows.
    """
    spark = spark_session({**hw.recommended_conf(), "spark.master": f"local[{cores}]"}, jars)
    for topic, partitions, rows, row_ms in cells:
        ends = {partition: -(-(rows - partition) // partitions) for partition in range(partitions)}
        ending = json.dumps({topic: {str(partition): max(0, end) for partition, end in ends.items()}})
        yield {
            STREAM: micro_batches_ms(spark, subject, bootstrap, topic, rows, row_ms=row_ms),
            BATCH: [
                _batch_read_ms(spark, subject, bootstrap, topic, ending, row_ms=row_ms) for _ in range(3)
            ][1:],
        }
    spark.stop()


def micro_batches_ms(
    spark: SparkSession, subject: str, bootstrap: str, topic: str, rows: int, *, row_ms: int = 0
) -> list[float]:
    """Return how long each micro-batch of a query took that counts, from its trigger to its commit."""
    frame = read_stream(
        spark, subject, bootstrap, topic, starting="earliest", options={"maxOffsetsPerTrigger": str(rows)}
    )
    with tempfile.TemporaryDirectory(prefix="benchmark-checkpoint-") as checkpoint:
        writer = _sleeping(frame, row_ms).writeStream.format("noop").option("checkpointLocation", checkpoint)
        began_s = time.monotonic()
        query = writer.trigger(availableNow=True).start()
        while not query.awaitTermination(_LOOK_S):
            is_long = time.monotonic() - began_s > _ENOUGH_S
            if subject == JVM and is_long and len(_taken_ms(query)) > _ENOUGH_BATCHES:
                query.stop()
        taken_ms = _taken_ms(query)
        return taken_ms[LEARNING if len(taken_ms) > LEARNING + _ENOUGH_BATCHES else 1 :]


def _taken_ms(query: StreamingQuery) -> list[float]:
    return [
        float(batch.durationMs["triggerExecution"]) for batch in query.recentProgress if batch.numInputRows
    ]


def _batch_read_ms(
    spark: SparkSession, subject: str, bootstrap: str, topic: str, ending: str, *, row_ms: int
) -> float:
    """Return how long a batch read took."""
    began = time.perf_counter()
    frame = read_batch(spark, subject, bootstrap, topic, options={"endingOffsets": ending})
    _sleeping(frame, row_ms).write.format("noop").mode("append").save()
    return (time.perf_counter() - began) * 1_000


def _sleeping(frame: DataFrame, row_ms: int) -> DataFrame:
    if not row_ms:
        return frame
    return frame.selectExpr("offset", f"java_method('java.lang.Thread', 'sleep', {row_ms}L) AS slept")


def _section(samples: Mapping[Cell, Mapping[str, Mapping[str, Sequence[float]]]]) -> Section:
    figures = []
    rows = []
    worst = dict.fromkeys(_KINDS, 0.0)
    for cell, subjects in samples.items():
        row = [f"local[{cell.cores}]", f"{cell.partitions:,}", f"{cell.rows:,}", f"{cell.row_ms}"]
        for kind in _KINDS:
            jvm, ours = (statistics.median(subjects[subject][kind]) for subject in (JVM, HEADWATER))
            row += [f"{jvm:,.0f}", f"{ours:,.0f}", f"**{ours / jvm:.2f}x**"]
            worst[kind] = max(worst[kind], ours / jvm)
        rows.append(tuple(row))
        case = f"local[{cell.cores}], {cell.partitions} partitions, {cell.rows} rows of {cell.row_ms} ms"
        figures += [
            Figure(f"{case}, {kind}", subject, "ms", tuple(subjects[subject][kind]))
            for kind in _KINDS
            for subject in (JVM, HEADWATER)
        ]
    return Section(
        "parallelism",
        "Rows that take time behind the source, milliseconds a batch",
        "Micro-batches of so many rows, each of which sleeps on the JVM's side, AvailableNow into `noop`, "
        f"after {LEARNING} that do not count; and batch reads of as many rows. Medians; `parallelism` is not "
        f"given. Where {JVM} takes seconds a batch, {_ENOUGH_BATCHES} of its batches count.",
        (
            "Spark",
            "partitions",
            "rows",
            "ms a row",
            *(
                f"{kind}: {subject}" if subject else "ratio"
                for kind in _KINDS
                for subject in (JVM, HEADWATER, "")
            ),
        ),
        rows,
        figures,
        [
            Target(f"{kind}, worst cell: headwater / JVM source", AT_MOST, found, at_least=False)
            for kind, found in worst.items()
        ],
    )
