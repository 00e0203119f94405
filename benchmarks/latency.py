"""How long a record takes from its producer into ``foreachBatch``.

The latency of Spark's own source differs from minute to minute by more than the two sources differ. So both
are measured in rounds that alternate, until the figure of Spark's own source has repeated itself; the last
two rounds count.
"""

from __future__ import annotations

import statistics
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

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
SETTINGS = (DEFAULT, RECOMMENDED)
SUBJECTS = (JVM, HEADWATER)
WANTED = {(DEFAULT, 50): 0.9}
"""The ratios that are to be reached, by settings and percentile; 1 for the others."""

REPEATED = 0.1
"""The figure of Spark's own source has repeated itself when two rounds in a row differ by no more."""

_COUNTED_ROUNDS = 2
_FIRST_BATCH_S = 120
_LAST_BATCH_S = 10

Round: TypeAlias = dict[str, dict[str, Any]]
"""What `listen` found, by subject."""


def steps(scale: Scale) -> int:
    """Return how often `run` calls ``bench.step`` at most."""
    return len(SETTINGS) * len(SUBJECTS) * scale.latency_rounds


def run(bench: Bench) -> Section:
    """Produce at a steady pace, and let one query after the other listen.

    Each has a process and a Spark of its own.
    """
    topic = bench.kafka.create_topic("latency", PARTITIONS)
    with Pacer(bench.kafka.bootstrap_servers, topic, PARTITIONS, RATE):
        rounds = {conf: alternate(bench, topic, conf) for conf in SETTINGS}
    return _section(rounds, bench.scale)


def alternate(bench: Bench, topic: str, conf: str) -> list[Round]:
    """Measure both subjects in turn, until the figure of Spark's own source has repeated itself."""
    scale = bench.scale
    rounds: list[Round] = []
    while len(rounds) < scale.latency_rounds and not has_repeated([_p50(done[JVM]) for done in rounds]):
        done: Round = {}
        # Who comes first changes: a machine that slows down for a while does not hit one of them alone.
        for subject in SUBJECTS[:: -1 if len(rounds) % 2 else 1]:
            (done[subject],) = run_in_child(
                listen,
                subject=subject,
                recommended=conf == RECOMMENDED,
                bootstrap=bench.kafka.bootstrap_servers,
                topic=topic,
                jars=list(bench.jars) if subject == JVM else [],
                warm_s=scale.latency_warm_s,
                measure_s=scale.latency_s,
            )
            bench.step(f"{subject}, {conf}: p50 {_p50(done[subject]):.0f} ms")
        rounds.append(done)
    return rounds


def has_repeated(figures: Sequence[float]) -> bool:
    """Return whether the last two of these differ by at most a tenth of the smaller one."""
    if len(figures) < _COUNTED_ROUNDS:
        return False
    low, high = sorted(figures[-_COUNTED_ROUNDS:])
    return high <= low * (1 + REPEATED)


def _p50(found: dict[str, Any]) -> float:
    return percentile(found["latencies_ms"], 50)


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


def _section(rounds: Mapping[str, Sequence[Round]], scale: Scale) -> Section:
    figures = [
        Figure(f"{conf}, p{percent}", subject, "ms", (percentile(_counted(rounds[conf], subject), percent),))
        for conf in SETTINGS
        for subject in SUBJECTS
        for percent in (50, 99)
    ]
    rows = []
    targets = []
    for conf in SETTINGS:
        medians = [_p50(done[JVM]) for done in rounds[conf]]
        spread = ", ".join(f"{ms:.0f}" for ms in medians) + (
            "" if has_repeated(medians) else ": has not repeated"
        )
        for percent in (50, 99):
            case = f"{conf}, p{percent}"
            jvm, ours = (median_of(figures, case, subject) for subject in SUBJECTS)
            rows.append(
                (case, f"{jvm:.0f}", f"{ours:.0f}", f"**{ours / jvm:.2f}x**", spread if percent == 50 else "")
            )
            wanted = WANTED.get((conf, percent), 1.0)
            targets.append(Target(f"{case}: headwater / JVM source", wanted, ours / jvm, at_least=False))
    return Section(
        "latency",
        "Micro-batch latency, milliseconds",
        f"From `send` in the producer to the end of an action in `foreachBatch`: {RATE:,} records a second "
        f"over {PARTITIONS} partitions, no trigger interval, each query in a Spark of its own, "
        f"{scale.latency_s} s after {scale.latency_warm_s} s of warm-up. Both take turns until the p50 of "
        f"the JVM source repeats within {REPEATED:.0%} ({scale.latency_rounds} rounds at most); the last two "
        "rounds count.",
        ("settings", JVM, HEADWATER, "ratio", f"{JVM}, p50 of each round"),
        rows,
        figures,
        targets,
        {
            conf: [
                {
                    subject: {
                        "records": len(found["latencies_ms"]),
                        "p50_ms": _p50(found),
                        "phases_ms": found["phases_ms"],
                    }
                    for subject, found in done.items()
                }
                for done in rounds[conf]
            ]
            for conf in SETTINGS
        },
    )


def _counted(rounds: Sequence[Round], subject: str) -> list[float]:
    """Return the latencies of one subject in the rounds that count."""
    return [ms for done in rounds[-_COUNTED_ROUNDS:] for ms in done[subject]["latencies_ms"]]
