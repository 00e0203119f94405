"""Batches that take as long as wanted, in real Spark, with a sink whose speed is known."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.exactly_once.waiting import until

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

TARGET_S = 6
ROWS_PER_S = 20_000
"""Of the sink."""


def durations_s(query: Any) -> list[float]:
    """How long each batch with rows took, from trigger to commit."""
    reports = [report for report in query.recentProgress if report["numInputRows"]]
    return [report["durationMs"]["triggerExecution"] / 1_000 for report in reports]


@pytest.mark.long
@pytest.mark.timeout(1_200)
@pytest.mark.parametrize(
    ("trigger", "knows"),
    [
        ("0 seconds", "checkpointLocation"),
        ("0 seconds", "triggerInterval"),
        ("5 seconds", "checkpointLocation"),
        ("5 seconds", "triggerInterval"),
        ("60 seconds", "checkpointLocation"),
    ],
)
def test_five_batches_after_the_start_batches_take_as_long_as_wanted(
    spark: SparkSession, tmp_path: Path, trigger: str, knows: str
) -> None:
    """A huge backlog. The query is stopped, and goes on with a sink of a quarter of the speed.

    From there on the sink becomes slower with each batch.
    """
    checkpoint = str(tmp_path / "checkpoint")
    nothing = threading.Event()
    slow = 1

    def write(frame: DataFrame, batch: int) -> None:
        # A slow sink.
        ramp = 1 if slow == 1 else 1.05 ** (batch - batches)
        nothing.wait(frame.count() * slow * ramp / ROWS_PER_S)

    options = {"source": "demo", "rows": "100000000", "rowsPerSecond": "1", "splits": "2"}
    options["targetBatchDuration"] = f"{TARGET_S}s"
    options[knows] = checkpoint if knows == "checkpointLocation" else trigger.replace(" seconds", "s")
    # A batch that ends at a trigger may have waited there, and the next one is a little larger to find out.
    off = 0.3 if knows == "triggerInterval" and trigger != "0 seconds" else 0.2
    batches = 9 if trigger != "60 seconds" else 8

    def run() -> list[float]:
        query = (
            spark.readStream.format("headwater")
            .options(**options)
            .load()
            .writeStream.foreachBatch(write)
            .option("checkpointLocation", checkpoint)
            .trigger(processingTime=trigger)
            .start()
        )
        try:
            until(lambda: len(durations_s(query)) >= batches or not query.isActive, "batches", 60 * batches)
            assert query.exception() is None
            return durations_s(query)
        finally:
            query.stop()

    for slow in (1, 4):
        took = run()
        print(f"trigger {trigger}, by {knows}, sink {slow}: {took}", flush=True)
        # The first batch after the restart is the one that was planned before it.
        assert took[slow > 1] < 1.5 * TARGET_S, "a run begins cautiously"
        assert all((1 - off) * TARGET_S < each < (1 + off) * TARGET_S for each in took[6:]), took


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
