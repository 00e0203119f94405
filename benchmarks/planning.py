"""How long the coordinator takes to plan a batch over very many partitions, when Kafka answers at once."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Collection, Iterator, Mapping
from unittest.mock import patch

from benchmarks.bench import Bench, BenchmarkError, Scale
from benchmarks.children import run_in_child
from benchmarks.results import Figure, Section, Target, median_of, percentile
from benchmarks.subjects import HEADWATER
from headwater.connector.sources.kafka.configure import configure_kafka
from headwater.connector.spark.stream_reader import StreamReader
from headwater.core.source import Boundedness
from headwater.enumerators.kafka import lookup
from headwater.enumerators.kafka.client.metadata import (
    EARLIEST,
    MAX_TIMESTAMP,
    ClusterMetadata,
    PartitionMetadata,
    TopicMetadata,
    TopicPartition,
)

__all__ = ["run", "steps"]

MOST_MS = 100
TOPIC = "wide"
PLAN = "latestOffset"
TASKS = "partitions"
BOTH = "both"
ALIGNED = "latestOffset with maxEventTimeSkew"
MOST_ALIGNED_MS = 300
_NEW_ROWS = 100
_BEGIN_MS = 1_795_000_000_000
_ROW_MS = 600
"""Between two records of a partition."""


def steps(_: Scale) -> int:
    """Return how often `run` calls ``bench.step``."""
    return 2


def run(bench: Bench) -> Section:
    """Plan some batches, in each of which every partition has new records."""
    partitions = bench.scale.planning_partitions
    rounds = bench.scale.planning_rounds
    found = list(run_in_child(plan, partitions=partitions, rounds=rounds))
    bench.step(f"{len(found)} batches over {partitions:,} partitions planned")
    aligned = list(run_in_child(plan, partitions=partitions, rounds=rounds, aligned=True))
    bench.step(f"{len(aligned)} batches planned by event time")
    samples = {
        PLAN: [plan for plan, _ in found],
        TASKS: [tasks for _, tasks in found],
        BOTH: [sum(both) for both in found],
        ALIGNED: [plan for plan, _ in aligned],
    }
    figures = [Figure(what, HEADWATER, "ms", tuple(taken)) for what, taken in samples.items()]
    rows = [
        (what, f"{median_of(figures, what, HEADWATER):.0f}", f"{percentile(taken, 99):.0f}")
        for what, taken in samples.items()
    ]
    return Section(
        "planning",
        f"Planning a batch over {partitions:,} partitions, milliseconds",
        "The coordinator alone: Kafka's answers come from memory, every partition has new records.",
        ("", "p50", "p99"),
        rows,
        figures,
        [
            Target(
                f"{PLAN} and {TASKS}, p50",
                MOST_MS,
                median_of(figures, BOTH, HEADWATER),
                at_least=False,
                unit="ms",
            ),
            Target(
                f"{ALIGNED}, p50",
                MOST_ALIGNED_MS,
                median_of(figures, ALIGNED, HEADWATER),
                at_least=False,
                unit="ms",
            ),
        ],
    )


def plan(partitions: int, rounds: int, *, aligned: bool = False) -> Iterator[tuple[float, float]]:
    """Yield the milliseconds of `StreamReader.latestOffset` and of `partitions`, batch after batch.

    In a process of its own.

    Args:
        partitions: of the topic.
        rounds: how many batches.
        aligned: whether a batch takes half of what is new, up to the same event time in all partitions.
    """
    options = {"kafka.bootstrap.servers": "nowhere:9092", "subscribe": TOPIC, "startingoffsets": "earliest"}
    if aligned:
        options |= {"maxeventtimeskew": "1s", "maxoffsetspertrigger": str(partitions * _NEW_ROWS // 2)}
    configured = configure_kafka(options, Boundedness.CONTINUOUS_UNBOUNDED)
    cluster = MemoryCluster(partitions)
    with patch.object(lookup, "Cluster", lambda _: cluster):
        reader = StreamReader(configured, configured.schema())
        limit = reader.getDefaultReadLimit()
        start = reader.latestOffset(reader.initialOffset(), limit)
        for _ in range(rounds):
            cluster.produce(_NEW_ROWS)
            began = time.perf_counter()
            end = reader.latestOffset(start, limit)
            planned = time.perf_counter()
            tasks = reader.partitions(start, end)
            done = time.perf_counter()
            if sum(len(task.value.ranges) for task in tasks) < partitions:
                raise BenchmarkError(f"the plan leaves out some of {partitions} partitions")
            yield (planned - began) * 1000, (done - planned) * 1000
            start = json.loads(json.dumps(end))  # as Spark gives it back
        reader.stop()


class MemoryCluster:
    """Stands in for `headwater.enumerators.kafka.client.cluster.Cluster`.

    One topic, and answers that cost next to nothing.
    """

    def __init__(self, partitions: int) -> None:
        topic = TopicMetadata(
            TOPIC,
            str(uuid.UUID(int=1)),
            is_internal=False,
            partitions=dict.fromkeys(range(partitions), PartitionMetadata(1, 0)),
        )
        self._metadata = ClusterMetadata({}, {TOPIC: topic})
        self._end = _NEW_ROWS

    def produce(self, rows: int) -> None:
        """Let every partition have this many more records."""
        self._end += rows

    def metadata(self, topics: Collection[str] | None) -> ClusterMetadata:
        return self._metadata

    def list_offsets(
        self, specs: Mapping[TopicPartition, int], *, read_committed: bool | None = None
    ) -> dict[TopicPartition, int | None]:
        end = self._end
        return {tp: 0 if spec == EARLIEST else end for tp, spec in specs.items()}

    def list_times(self, specs: Mapping[TopicPartition, int]) -> dict[TopicPartition, tuple[int, int]]:
        found = {}
        for tp, spec in specs.items():
            at = self._end - 1 if spec == MAX_TIMESTAMP else max(0, -((_BEGIN_MS - spec) // _ROW_MS))
            if at < self._end:
                found[tp] = at, _BEGIN_MS + at * _ROW_MS
        return found

    def log_sizes(self, topics: Collection[str]) -> dict[TopicPartition, int]:
        return {
            TopicPartition(TOPIC, partition): 100 * self._end
            for partition in self._metadata.topics[TOPIC].partitions
        }

    def close(self) -> None:
        pass
