"""How many rows a second a batch read brings into Spark."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import headwater as hw
from benchmarks.bench import Bench, BenchmarkError, Scale
from benchmarks.children import run_in_child
from benchmarks.results import Figure, Section, Target, median_of
from benchmarks.subjects import CEILING, HEADWATER, INFLATING_CEILING, JVM, read_batch, spark_session

__all__ = ["run", "steps"]

SUBJECTS = (JVM, HEADWATER, CEILING)
OF_CEILING = 0.95


@dataclass(frozen=True)
class Case:
    """One table row.

    Attributes:
        name: of the row.
        topic: which of the scale's topics.
        value_only: whether one column is read, or all seven.
        wanted: how many times as fast as the JVM source headwater is to be.
    """

    name: str
    topic: str
    value_only: bool
    wanted: float

    @property
    def subjects(self) -> tuple[str, ...]:
        """What reads it."""
        compressed = TOPICS[self.topic][1] is not None
        return (*SUBJECTS, INFLATING_CEILING) if compressed else SUBJECTS


CASES = (
    Case("100 B", "100 B", value_only=False, wanted=3.5),
    Case("1 KB", "1 KB", value_only=False, wanted=1.7),
    Case("zstd 100 B", "zstd 100 B", value_only=False, wanted=3.5),
    Case("100 B, value only", "100 B", value_only=True, wanted=5.5),
)
TOPICS: dict[str, tuple[int, str | None]] = {
    "100 B": (100, None),
    "1 KB": (1_000, None),
    "zstd 100 B": (100, "zstd"),
}
"""Size of a value, and codec."""


def steps(scale: Scale) -> int:
    """Return how often `run` calls ``bench.step``."""
    return len(TOPICS) + sum(len(case.subjects) for case in CASES) * (scale.warmups + scale.rounds)


def run(bench: Bench) -> Section:
    """Fill the topics, and let all subjects read them in turn, in one Spark."""
    topics: dict[str, str] = {}
    for name, (value_bytes, codec) in TOPICS.items():
        topics[name] = bench.topic(
            f"throughput-{len(topics)}", bench.scale.topics[name], value_bytes, compression=codec
        )
        bench.step(f"{bench.scale.topics[name]:,} records in the topic {name}")
    samples: dict[tuple[str, str], list[float]] = {}
    results = run_in_child(
        measure,
        bootstrap=bench.kafka.bootstrap_servers,
        topics=topics,
        rows=dict(bench.scale.topics),
        warmups=bench.scale.warmups,
        rounds=bench.scale.rounds,
        jars=list(bench.jars),
    )
    for result in results:
        if result["measured"]:
            samples.setdefault((result["case"], result["subject"]), []).append(result["rows_per_s"])
        rate = f"{result['rows_per_s'] / 1e6:.2f} M rows/s"
        warming = "" if result["measured"] else " (warming up)"
        bench.step(f"{result['case']}, {result['subject']}: {rate}{warming}")
    # In the order of the table, not in that of the first measured turn.
    return _section(
        [
            Figure(case.name, subject, "rows/s", tuple(samples[case.name, subject]))
            for case in CASES
            for subject in case.subjects
        ],
        bench.scale,
    )


def measure(
    *,
    bootstrap: str,
    topics: dict[str, str],
    rows: dict[str, int],
    warmups: int,
    rounds: int,
    jars: list[str],
) -> Iterator[dict[str, Any]]:
    """In a process of its own.

    Read every topic with every subject, one after the other, in an order that turns with every round.
    """
    spark = spark_session(hw.recommended_conf(), jars)
    from benchmarks.ceiling import CeilingDataSource, InflatingCeilingDataSource

    spark.dataSource.register(CeilingDataSource)
    spark.dataSource.register(InflatingCeilingDataSource)
    for case in CASES:
        for turn in range(warmups + rounds):
            for i in range(len(case.subjects)):
                subject = case.subjects[(turn + i) % len(case.subjects)]
                began = time.perf_counter()
                frame = read_batch(spark, subject, bootstrap, topics[case.topic], value_only=case.value_only)
                frame.write.format("noop").mode("overwrite").save()
                seconds = time.perf_counter() - began
                if turn == 0 and (found := frame.count()) != rows[case.topic]:
                    raise BenchmarkError(
                        f"{subject} read {found} of {rows[case.topic]} records of the topic {case.topic}"
                    )
                yield {
                    "case": case.name,
                    "subject": subject,
                    "rows_per_s": rows[case.topic] / seconds,
                    "measured": turn >= warmups,
                }
    spark.stop()


def _section(figures: Sequence[Figure], scale: Scale) -> Section:
    rows = []
    targets = []
    for case in CASES:
        jvm, ours, *most = (median_of(figures, case.name, subject) for subject in case.subjects)
        rows.append(
            (
                case.name,
                _millions(jvm),
                _millions(ours),
                f"**{ours / jvm:.2f}x**",
                " / ".join(_millions(ceiling) for ceiling in most),
                " / ".join(f"{ours / ceiling:.0%}" for ceiling in most),
                " / ".join(_spread(figures, case.name, subject) for subject in case.subjects),
            )
        )
        targets.append(Target(f"{case.name}: headwater / JVM source", case.wanted, ours / jvm))
    least = min(
        median_of(figures, case.name, HEADWATER) / median_of(figures, case.name, case.subjects[-1])
        for case in CASES
    )
    targets.append(Target("headwater / ceiling, the least of them", OF_CEILING * 100, least * 100, unit="%"))
    return Section(
        "throughput",
        "Batch read, million rows a second",
        "`spark.read` of a topic with 4 partitions into the `noop` sink, `local[2]`, broker on the same two "
        f"cores, all seven columns unless the row says otherwise; median of {scale.rounds} rounds in turn in "
        "one Spark with `hw.recommended_conf()`. The ceiling fetches the same bytes, decodes nothing and "
        "hands over a batch that was made before; where records are compressed, a second ceiling "
        "decompresses what it fetches. The spread is that of the rounds, for all in this order: half of what "
        "lies between the slowest and the fastest, of the median.",
        ("records", JVM, HEADWATER, "ratio", CEILING, "of the ceiling", "spread"),
        rows,
        figures,
        targets,
    )


def _spread(figures: Sequence[Figure], case: str, subject: str) -> str:
    """Return how far the rounds lie apart: half of the range, of the median."""
    (samples,) = (figure.samples for figure in figures if (figure.case, figure.subject) == (case, subject))
    return f"±{(max(samples) - min(samples)) / 2 / median_of(figures, case, subject):.0%}"


def _millions(rows_per_s: float) -> str:
    return f"{rows_per_s / 1e6:.2f}"
