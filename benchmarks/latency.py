"""How long a record takes from its producer into ``foreachBatch``."""

from __future__ import annotations

import statistics
import tempfile
import threading
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa

import headwater as hw
from benchmarks.bench import Bench, BenchmarkError, Scale
from benchmarks.children import run_in_child
from benchmarks.pacer import Pacer
from benchmarks.results import Figure, Section, Target, median_of, percentile
from benchmarks.subjects import HEADWATER, JVM, read_stream, spark_session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["run", "steps"]

PARTITIONS = 4
RATE = 1_000
DEFAULT = "default settings"
RECOMMENDED = "recommended_conf()"
CONTESTANTS = tuple((subject, conf) for conf in (DEFAULT, RECOMMENDED) for subject in (JVM, HEADWATER))
_FIRST_BATCH_S = 120
_LAST_BATCH_S = 10


def steps(scale: Scale) -> int:
    """Return how often `run` calls ``bench.step``."""
    return len(CONTESTANTS) * scale.latency_turns


def run(bench: Bench) -> Section:
    """Produce at a steady pace, and let one query after the other listen.

    Each has a process and a Spark of its own.
    """
    scale = bench.scale
    topic = bench.kafka.create_topic("latency", PARTITIONS)
    samples: dict[tuple[str, str], list[float]] = {}
    phases: dict[str, list[dict[str, float]]] = {}
    with Pacer(bench.kafka.bootstrap_servers, topic, PARTITIONS, RATE):
        for _ in range(scale.latency_turns):
            for subject, conf in CONTESTANTS:
                (found,) = run_in_child(
                    listen,
                    subject=subject,
                    recommended=conf == RECOMMENDED,
                    bootstrap=bench.kafka.bootstrap_servers,
                    topic=topic,
                    jars=list(bench.jars) if subject == JVM else [],
                    warm_s=scale.latency_warm_s,
                    measure_s=scale.latency_s // scale.latency_turns,
                )
                samples.setdefault((conf, subject), []).extend(found["latencies_ms"])
                phases.setdefault(f"{subject}, {conf}", []).append(found["phases_ms"])
                bench.step(f"{subject}, {conf}: p50 {percentile(found['latencies_ms'], 50):.0f} ms")
    return _section(samples, scale, phases)


def listen(
    *,
    subject: str,
    recommended: bool,
    bootstrap: str,
    topic: str,
    jars: list[str],
    warm_s: float,
    measure_s: float,
) -> Iterator[dict[str, Any]]:
    """In a process of its own.

    Run a query, and yield the latency of every record produced in ``measure_s`` seconds, once it is warm.
    """
    spark = spark_session(
        {
            "spark.sql.streaming.numRecentProgressUpdates": "2000",
            **(hw.recommended_conf() if recommended else {}),
        },
        jars,
    )
    arrivals = Arrivals()
    with tempfile.TemporaryDirectory(prefix="benchmark-checkpoint-") as checkpoint:
        frame = read_stream(spark, subject, bootstrap, topic, starting="latest")
        query = frame.writeStream.foreachBatch(arrivals).option("checkpointLocation", checkpoint).start()
        arrivals.wait_until(0, _FIRST_BATCH_S)
        time.sleep(warm_s)
        begin_ms = time.time() * 1000
        time.sleep(measure_s)
        arrivals.wait_until(begin_ms + measure_s * 1000, _LAST_BATCH_S)
        progress = [dict(batch.durationMs) for batch in query.recentProgress if batch.numInputRows]
        progress = progress[-int(measure_s) :]
        query.stop()
    spark.stop()
    phases = {name: statistics.median(batch.get(name, 0) for batch in progress) for name in progress[-1]}
    yield {"latencies_ms": arrivals.between(begin_ms, begin_ms + measure_s * 1000), "phases_ms": phases}


class Arrivals:
    """A ``foreachBatch`` function that takes the batch's timestamps, and notes when it has them.

    Called by Spark on a thread of its own.
    """

    def __init__(self) -> None:
        self._seen: list[tuple[float, float]] = []
        self._latest_ms = -1.0
        self._changed = threading.Condition()

    def __call__(self, batch: DataFrame, batch_id: int) -> None:
        produced_ms = batch.select("timestamp").toArrow()["timestamp"].cast(pa.int64()).to_numpy() / 1000
        now_ms = time.time() * 1000
        with self._changed:
            self._seen += [(float(at_ms), now_ms - float(at_ms)) for at_ms in produced_ms]
            self._latest_ms = max([self._latest_ms, *produced_ms])
            self._changed.notify_all()

    def wait_until(self, produced_ms: float, timeout_s: float) -> None:
        """Block until a record that was produced after this moment has arrived."""
        with self._changed:
            if not self._changed.wait_for(lambda: self._latest_ms > produced_ms, timeout_s):
                raise BenchmarkError(f"no record arrived for {timeout_s} s")

    def between(self, begin_ms: float, end_ms: float) -> list[float]:
        """Return the latencies of the records produced in this time, in milliseconds."""
        with self._changed:
            return [round(latency_ms, 1) for at_ms, latency_ms in self._seen if begin_ms <= at_ms < end_ms]


def _section(samples: dict[tuple[str, str], list[float]], scale: Scale, phases: dict[str, Any]) -> Section:
    figures = [
        Figure(f"{conf}, p{percent}", subject, "ms", (percentile(found, percent),))
        for (conf, subject), found in samples.items()
        for percent in (50, 99)
    ]
    rows = []
    targets = []
    for conf in (DEFAULT, RECOMMENDED):
        for percent in (50, 99):
            case = f"{conf}, p{percent}"
            jvm, ours = (median_of(figures, case, subject) for subject in (JVM, HEADWATER))
            rows.append((case, f"{jvm:.0f}", f"{ours:.0f}", f"**{ours / jvm:.2f}x**"))
            targets.append(Target(f"{case}: headwater / JVM source", 1.0, ours / jvm, at_least=False))
    return Section(
        "latency",
        "Micro-batch latency, milliseconds",
        f"From `send` in the producer to the end of an action in `foreachBatch`: {RATE:,} records a second "
        f"over {PARTITIONS} partitions, no trigger interval, {scale.latency_s} s for each after "
        f"{scale.latency_warm_s} s of warm-up, each query in a Spark of its own.",
        ("settings", JVM, HEADWATER, "ratio"),
        rows,
        figures,
        targets,
        {
            "records": {f"{subject}, {conf}": len(found) for (conf, subject), found in samples.items()},
            "phases_ms": phases,
        },
    )
