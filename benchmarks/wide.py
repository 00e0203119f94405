"""What very many partitions cost: micro-batches with one record of each, beside as many records of ten."""

from __future__ import annotations

from collections.abc import Iterator

import headwater as hw
from benchmarks.bench import Bench, Scale
from benchmarks.children import run_in_child
from benchmarks.parallelism import LEARNING, fill, micro_batches_ms
from benchmarks.results import Figure, Section, Target, median_of
from benchmarks.subjects import HEADWATER, JVM, spark_session

__all__ = ["run", "steps"]

ROWS = 2_000
PARTITIONS = (10, ROWS)
AT_MOST = 1.5


def steps(_: Scale) -> int:
    """Return how often `run` calls ``bench.step``."""
    return 2


def run(bench: Bench) -> Section:
    """Read both topics with both subjects, each subject in a Spark of its own."""
    batches = LEARNING + bench.scale.parallelism_batches
    for partitions in PARTITIONS:
        fill(bench.kafka, _topic(partitions), partitions, ROWS, batches)
    figures = []
    for subject in (JVM, HEADWATER):
        taken = run_in_child(
            measure,
            subject=subject,
            bootstrap=bench.kafka.bootstrap_servers,
            jars=list(bench.jars) if subject == JVM else [],
        )
        figures += [
            Figure(f"{partitions:,} partitions", subject, "ms", tuple(found))
            for partitions, found in zip(PARTITIONS, taken, strict=True)
        ]
        bench.step(f"{subject}: {figures[-2].median:.0f} and {figures[-1].median:.0f} ms")
    few, many = (f"{partitions:,} partitions" for partitions in PARTITIONS)
    rows = []
    for subject in (JVM, HEADWATER):
        medians = [median_of(figures, case, subject) for case in (few, many)]
        rows.append((subject, *(f"{found:.0f}" for found in medians), f"**{medians[1] / medians[0]:.2f}x**"))
    ratio = median_of(figures, many, HEADWATER) / median_of(figures, few, HEADWATER)
    return Section(
        "wide",
        f"Micro-batches of {ROWS:,} records, milliseconds",
        f"AvailableNow into `noop`, `local[2]`, `hw.recommended_conf()`, medians after {LEARNING} batches "
        "that do not count.",
        ("", few, many, "ratio"),
        rows,
        figures,
        [Target(f"{many} / {few}", AT_MOST, ratio, at_least=False)],
    )


def measure(*, subject: str, bootstrap: str, jars: list[str]) -> Iterator[list[float]]:
    """In a process of its own.

    Yield the milliseconds of the micro-batches of both topics.
    """
    spark = spark_session(hw.recommended_conf(), jars)
    for partitions in PARTITIONS:
        yield micro_batches_ms(spark, subject, bootstrap, _topic(partitions), ROWS)
    spark.stop()


def _topic(partitions: int) -> str:
    return f"wide-{partitions}"
