"""What every benchmark is given: a broker, sizes, and a way to show progress."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from local_kafka import LocalKafka

__all__ = ["FULL", "QUICK", "ROOT", "Bench", "BenchmarkError", "Scale", "Step"]

ROOT = Path(__file__).resolve().parent.parent


class BenchmarkError(RuntimeError):
    """A benchmark cannot be run, or what it measured was not what it meant to measure."""


@dataclass(frozen=True)
class Scale:
    """How much of everything.

    Attributes:
        rounds: how often each thing is measured; medians are shown.
        warmups: how often it is run before that, unmeasured.
        topics: of `throughput`: how many records.
        format_rows: of `formats`: how many records of each topic.
        latency_s: how long latency is measured, for each subject in each round.
        latency_rounds: in how many rounds at most.
        latency_warm_s: how long each subject runs before it counts.
        memory_rows: of the small and of the large topic of 1 KB records.
        planning_partitions: of the one big topic.
        planning_rounds: how many batches are planned.
        parallelism_batches: of `parallelism` and `wide`: how many micro-batches, all together.
        parallelism_work_s: of `parallelism`: cells whose batches take longer than this are left out.
    """

    rounds: int
    warmups: int
    topics: Mapping[str, int]
    format_rows: int
    latency_s: int
    latency_rounds: int
    latency_warm_s: int
    memory_rows: tuple[int, int]
    planning_partitions: int = 10_000
    planning_rounds: int = 40
    parallelism_batches: int = 24
    parallelism_work_s: float = 30


FULL = Scale(
    rounds=5,
    warmups=2,
    topics={"100 B": 12_000_000, "1 KB": 4_000_000, "zstd 100 B": 12_000_000},
    format_rows=4_000_000,
    latency_s=30,
    latency_rounds=6,
    latency_warm_s=15,
    memory_rows=(400_000, 4_000_000),
)

QUICK = Scale(
    rounds=3,
    warmups=1,
    topics={"100 B": 2_000_000, "1 KB": 600_000, "zstd 100 B": 2_000_000},
    format_rows=400_000,
    latency_s=10,
    latency_rounds=3,
    latency_warm_s=8,
    memory_rows=(100_000, 600_000),
    planning_rounds=15,
    parallelism_batches=16,
    parallelism_work_s=2,
)


class Step(Protocol):
    """Shows that one step is done, and what came of it."""

    def __call__(self, done: str, /) -> None: ...


@dataclass(frozen=True)
class Bench:
    """What a benchmark works with.

    Attributes:
        kafka: a broker that runs, without topics: each benchmark makes its own.
        scale: how much.
        jars: of the JVM source.
        step: to be called as often as the benchmark's ``steps`` says.
    """

    kafka: LocalKafka
    scale: Scale
    jars: Sequence[str]
    step: Step

    def topic(
        self, name: str, rows: int, value_bytes: int, *, partitions: int = 4, compression: str | None = None
    ) -> str:
        """Return a topic of this name with this many records, made and filled if it is not there."""
        if name not in self.kafka.topics():
            self.kafka.create_topic(name, partitions)
            self.kafka.produce_bulk(name, rows, value_bytes, compression=compression)
        return name
