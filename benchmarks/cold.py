"""How long the first batch takes, from nothing: a new Python process, a new Spark, a small topic."""

from __future__ import annotations

import os
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import headwater as hw
from benchmarks.bench import Bench, BenchmarkError, Scale
from benchmarks.children import run_in_child
from benchmarks.results import Figure, Section, Target, median_of
from benchmarks.subjects import EMPTY, HEADWATER, JVM, read_batch, read_stream, spark_session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["run", "steps"]

ROWS = 10_000
BATCH = "spark.read"
STREAM = "spark.readStream"
DEFAULT = ""
RECOMMENDED = " with recommended settings"
CONTESTANTS = ((JVM, DEFAULT), (EMPTY, DEFAULT), (HEADWATER, DEFAULT), (HEADWATER, RECOMMENDED))
_TIMEOUT_S = 120


def steps(scale: Scale) -> int:
    """Return how often `run` calls ``bench.step``."""
    return 2 * len(CONTESTANTS) * (1 + scale.rounds)


def run(bench: Bench) -> Section:
    """Start everything anew for every sample, in turn.

    The first turn does not count: it brings files into the system's cache, and compiles the kernel if this
    host has not done so before.
    """
    topic = bench.topic("cold", ROWS, 100)
    samples: dict[tuple[str, str], list[float]] = {}
    for turn in range(1 + bench.scale.rounds):
        for kind in (BATCH, STREAM):
            for subject, conf in CONTESTANTS:
                began = time.perf_counter()
                results = run_in_child(
                    first_batch,
                    subject=subject,
                    kind=kind,
                    recommended=conf == RECOMMENDED,
                    bootstrap=bench.kafka.bootstrap_servers,
                    topic=topic,
                    jars=list(bench.jars) if subject == JVM else [],
                )
                next(results)
                seconds = time.perf_counter() - began
                list(results)
                if turn:
                    samples.setdefault((kind, subject + conf), []).append(seconds)
                bench.step(f"{kind}, {subject}{conf}: {seconds:.1f} s{'' if turn else ' (warming up)'}")
    return _section(
        [Figure(kind, name, "s", tuple(found)) for (kind, name), found in samples.items()], bench.scale
    )


def first_batch(
    *, subject: str, kind: str, recommended: bool, bootstrap: str, topic: str, jars: list[str]
) -> Iterator[dict[str, Any]]:
    """In a process of its own: start Spark, read the topic once, and yield."""
    if recommended:
        os.environ.update(hw.recommended_environment())
    spark = spark_session(hw.recommended_conf() if recommended else {}, jars)
    if subject == EMPTY:
        from benchmarks.empty import EmptyDataSource

        spark.dataSource.register(EmptyDataSource)
    if kind == BATCH:
        _into_noop(read_batch(spark, subject, bootstrap, topic))
    else:
        _stream_once(spark, subject, bootstrap, topic)
    yield {}
    spark.stop()


def _stream_once(spark: SparkSession, subject: str, bootstrap: str, topic: str) -> None:
    arrived = threading.Event()

    def take(batch: DataFrame, _: int) -> None:
        _into_noop(batch)
        arrived.set()

    with tempfile.TemporaryDirectory(prefix="benchmark-checkpoint-") as checkpoint:
        frame = read_stream(spark, subject, bootstrap, topic, starting="earliest")
        query = frame.writeStream.foreachBatch(take).option("checkpointLocation", checkpoint).start()
        if not arrived.wait(_TIMEOUT_S):
            raise BenchmarkError(f"no batch in {_TIMEOUT_S} s: {query.exception()}")
        query.stop()


def _into_noop(frame: DataFrame) -> None:
    frame.write.format("noop").mode("overwrite").save()


def _section(figures: Sequence[Figure], scale: Scale) -> Section:
    names = [subject + conf for subject, conf in CONTESTANTS]
    rows = []
    targets = []
    for kind in (BATCH, STREAM):
        medians = {name: median_of(figures, kind, name) for name in names}
        rows.append((f"`{kind}`", *(f"{median:.1f}" for median in medians.values())))
        targets += [
            Target(
                f"first batch of {kind}: {name} / JVM source",
                1.0,
                medians[name] / medians[JVM],
                at_least=False,
            )
            for name in names[2:]
        ]
    return Section(
        "cold",
        "First batch after a cold start, seconds",
        f"New Python process, new Spark, {ROWS:,} records of 100 B into `noop`: everything from the start of "
        f"`python` to the end of the first batch. Median of {scale.rounds}; the kernel has been compiled on "
        "this host before. The empty Python source reads nothing: Spark itself takes so long. The "
        "recommended settings are `hw.recommended_conf()` and `hw.recommended_environment()`.",
        ("", *names),
        rows,
        figures,
        targets,
    )
