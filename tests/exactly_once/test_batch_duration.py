"""Batches that take as long as wanted, in real Spark, with a sink whose speed is known."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from local_kafka import LocalKafka

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

TARGET_S = 6
DEMO = {"source": "demo", "rows": "100000000", "rowsPerSecond": "1", "splits": "2"}
"""A huge backlog."""

TRIGGERS = pytest.mark.parametrize(
    ("trigger", "knows"),
    [
        ("0 seconds", "checkpointLocation"),
        ("0 seconds", "triggerInterval"),
        ("5 seconds", "checkpointLocation"),
        ("5 seconds", "triggerInterval"),
        ("60 seconds", "checkpointLocation"),
    ],
)


@dataclass
class PacedQuery:
    """A query into a sink that takes a time for each row.

    Args:
        spark: the session.
        checkpoint: of the query.
        trigger: its interval, as Spark writes it.
        knows: the option that tells a batch's time from the wait for the trigger.
    """

    spark: SparkSession
    checkpoint: Path
    trigger: str
    knows: str

    @contextmanager
    def running(self, options: Mapping[str, str], rows_per_s: Callable[[int], float]) -> Iterator[Any]:
        """Run it from here to the end of the block.

        Args:
            options: of the source.
            rows_per_s: how fast the sink is, by the number of the batch in the checkpoint.
        """
        nothing = threading.Event()

        def write(frame: DataFrame, batch: int) -> None:
            nothing.wait(frame.count() / rows_per_s(batch))

        known = str(self.checkpoint) if self.knows == "checkpointLocation" else self.trigger
        stream = self.spark.readStream.format("headwater").options(**options)
        stream = stream.option("targetBatchDuration", f"{TARGET_S}s")
        query = (
            stream.option(self.knows, known.replace(" seconds", "s"))
            .load()
            .writeStream.foreachBatch(write)
            .option("checkpointLocation", str(self.checkpoint))
            .trigger(processingTime=self.trigger)
            .start()
        )
        try:
            yield query
            assert query.exception() is None
        finally:
            query.stop()

    def are_as_wanted(self, took_s: list[float]) -> bool:
        """Whether all these times are those that are wanted.

        A batch that ends at a trigger may have waited there, and the next one is a little larger to find out.
        """
        off = 0.3 if self.knows == "triggerInterval" and self.trigger != "0 seconds" else 0.2
        return all((1 - off) * TARGET_S < each < (1 + off) * TARGET_S for each in took_s)


def durations_s(query: Any) -> list[float]:
    """How long each batch with rows took, from trigger to commit."""
    reports = [report for report in query.recentProgress if report["numInputRows"]]
    return [report["durationMs"]["triggerExecution"] / 1_000 for report in reports]


def first_s(query: Any, batches: int) -> list[float]:
    """Wait for so many batches, the processor left to them; return how long each took."""
    deadline = time.monotonic() + 62 * batches
    while len(durations_s(query)) < batches and not query.awaitTermination(0.5):
        assert time.monotonic() < deadline, f"{batches} batches do not come"
    return durations_s(query)


@pytest.mark.long
@pytest.mark.timeout(1_200)
@TRIGGERS
def test_five_batches_after_the_start_batches_take_as_long_as_wanted(
    spark: SparkSession, tmp_path: Path, trigger: str, knows: str
) -> None:
    """A huge backlog. The query is stopped, and goes on with a sink of a quarter of the speed.

    From there on the sink becomes slower with each batch.
    """
    paced = PacedQuery(spark, tmp_path / "checkpoint", trigger, knows)
    batches = 9 if trigger != "60 seconds" else 8
    speeds: tuple[Callable[[int], float], ...] = (
        lambda _: 20_000,
        lambda batch: 5_000 / 1.05 ** (batch - batches),
    )
    for restarts, speed in enumerate(speeds):
        with paced.running(DEMO, speed) as query:
            took = first_s(query, batches)
            sizes = rows(query)
        print(f"trigger {trigger}, by {knows}, after {restarts} restarts: {took}", flush=True)
        # The first batch after the restart is the one that was planned before it.
        assert sizes[restarts] < 30_000, "a run begins cautiously"
        assert paced.are_as_wanted(took[6:]), took


@pytest.mark.long
@pytest.mark.timeout(1_800)
@TRIGGERS
def test_five_batches_after_a_step_they_do_again(
    spark: SparkSession, tmp_path: Path, trigger: str, knows: str
) -> None:
    """The sink becomes four times as slow, and then as fast as before."""
    paced = PacedQuery(spark, tmp_path / "checkpoint", trigger, knows)
    with paced.running(DEMO, lambda batch: 5_000 if 6 <= batch < 13 else 20_000) as query:
        took = first_s(query, 20)
    print(f"trigger {trigger}, by {knows}, slow from 6 to 12: {took}", flush=True)
    assert paced.are_as_wanted([*took[5:6], *took[11:13], *took[18:]]), took


@pytest.mark.long
@pytest.mark.timeout(1_200)
@TRIGGERS
def test_a_burst_after_an_idle_time_begins_with_the_size_that_was_known(  # noqa: PLR0917 - fixtures
    spark: SparkSession, kafka: LocalKafka, topic: str, tmp_path: Path, trigger: str, knows: str
) -> None:
    paced = PacedQuery(spark, tmp_path / "checkpoint", trigger, knows)
    kafka.create_topic(topic, partitions=1)
    options = {"source": "kafka", "kafka.bootstrap.servers": kafka.bootstrap_servers, "subscribe": topic}
    # The burst is there all at once.
    options["kafka.isolation.level"] = "read_committed"
    kafka.produce(topic, [b"x" * 50] * 140_000)
    with paced.running({**options, "startingOffsets": "earliest"}, lambda _: 5_000) as query:
        known: list[int] = []
        while sum(known) < 140_000:
            first_s(query, len(known) + 1)
            known = rows(query)
        for small in (1, 2):
            kafka.produce(topic, [b"x" * 50] * 100)
            first_s(query, len(known) + small)
        kafka.produce_transaction(topic, [b"x" * 50] * 100_000, commit=True)
        took = first_s(query, len(known) + 2 + 3)
        sizes = rows(query)
        print(f"trigger {trigger}, by {knows}: {took}, rows {sizes}", flush=True)
    # The last batch of the backlog had what was left.
    assert all(0.8 * known[-2] < size < 1.3 * known[-2] for size in sizes[-3:]), sizes
    assert paced.are_as_wanted([sorted(took[-3:])[1]]), took


def rows(query: Any) -> list[int]:
    """How many rows each batch had that had any."""
    return [report["numInputRows"] for report in query.recentProgress if report["numInputRows"]]


def test_batches_grow_to_what_the_query_manages(spark: SparkSession, tmp_path: Path) -> None:
    checkpoint = str(tmp_path / "checkpoint")
    query = (
        spark.readStream.format("headwater")
        .options(source="demo", rows="600000", rowsPerSecond="1", splits="2", maxRowsPerTrigger="400000")
        .options(targetBatchDuration="1h", checkpointLocation=checkpoint)
        .load()
        .writeStream.format("noop")
        .option("checkpointLocation", checkpoint)
        .trigger(availableNow=True)
        .start()
    )
    assert query.awaitTermination(120)
    first, *more = [report["numInputRows"] for report in query.recentProgress]
    assert first < 30_000, "the first batch is cautious"
    assert first < more[0] <= 10 * first
    assert max(more) == 400_000, "hard limits stay hard"
    assert sum([first, *more]) >= 600_000
