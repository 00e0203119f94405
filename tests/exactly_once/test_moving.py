"""A query with state goes from Spark's own Kafka source to headwater's and back, on one checkpoint.

Nothing is lost, nothing comes twice, and windows that were open at a change of the source are whole.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from headwater.tools.commands.main import main
from local_kafka import LocalKafka
from tests.exactly_once.checkpoint_steps import STEPS, Disk, Step
from tests.exactly_once.processes import Program
from tests.exactly_once.watching import FolderWatch
from tests.exactly_once.windows import HEADWATER, SPARK, NumberedRecords, WindowPipeline
from tests.patience import PATIENCE_S

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PARTITIONS = 2
BATCH = 80


@pytest.fixture
def records(kafka: LocalKafka, topic: str) -> NumberedRecords:
    kafka.create_topic(topic, PARTITIONS, {"retention.ms": "-1"})  # the records are of 2023
    return NumberedRecords(kafka, topic)


@pytest.fixture
def query(spark: SparkSession, records: NumberedRecords, tmp_path: Path) -> WindowPipeline:
    """The query, as it is written for Spark's own source."""
    options = {
        "format": SPARK,
        "subscribe": records.topic,
        "startingOffsets": "earliest",
        "maxOffsetsPerTrigger": BATCH,
    }
    return WindowPipeline(spark, records.kafka.bootstrap_servers, tmp_path, options)


@pytest.fixture
def kill(spark_conf: dict[str, Any], tmp_path: Path) -> Callable[..., bool]:
    """Run a query in a process of its own, and kill that at a step of its second batch from now.

    Return whether a batch is pending now.
    """

    def killing(query: WindowPipeline, step: Step) -> bool:
        disk = Disk(query)
        disk.make()
        job = {**query.job(spark_conf), "master": "local[2]"}
        target = disk.last(disk.logs[-1]) + 2
        with (
            FolderWatch(disk.folders) as watch,
            Program("windows_driver.py", job, tmp_path / "driver.log") as driver,
        ):
            reached = (disk.step(event) for event in watch.files(PATIENCE_S, driver.check))
            batch_id = next(at[1] for at in reached if at is not None and at[0] is step and at[1] >= target)
            driver.kill()
        disk.set_back(batch_id, step)
        print(f"{query.options['format']} killed at {step.name} of batch {batch_id}: {disk}", flush=True)
        return disk.last(disk.logs[0]) > disk.last(disk.logs[-1])

    return killing


def convert(query: WindowPipeline, to: str) -> None:
    assert main(["checkpoint", "convert", str(query.checkpoint), "--to", to]) == 0


@pytest.mark.long
@pytest.mark.crash
@pytest.mark.slow
def test_a_query_moves_to_headwater_with_a_pending_batch_and_back(
    query: WindowPipeline, records: NumberedRecords, kill: Callable[..., bool]
) -> None:
    headwater = query.but(format=HEADWATER)
    records.produce(3 * BATCH)
    assert kill(query, Step.OFFSET_LOGGED)
    # In place: the batch that Spark's source logged is read by headwater.
    assert headwater.drain()[0] == BATCH
    records.kafka.add_partitions(records.topic, PARTITIONS + 1)
    records.produce(BATCH)
    convert(query, "spark-kafka")
    assert sum(query.drain()) == BATCH
    records.produce(BATCH)
    assert sum(headwater.drain()) == BATCH
    records.close_windows()
    assert sum(headwater.drain()) == 1
    assert headwater.windows() == records.windows()


@pytest.mark.long
@pytest.mark.crash
@pytest.mark.slow
@pytest.mark.timeout(3_600)
def test_a_query_moves_to_and_fro_and_is_killed_at_every_step(
    query: WindowPipeline, records: NumberedRecords, kill: Callable[..., bool]
) -> None:
    headwater = query.but(format=HEADWATER)
    for step in STEPS:
        for moving, to in ((query, HEADWATER), (headwater, "spark-kafka")):
            records.produce(3 * BATCH)
            pending = kill(moving, step)
            if moving is headwater and pending:
                # Spark's source cannot read what headwater logged: the batch is finished first.
                moving.drain()
            # A pending batch of Spark's source is taken over in place, other checkpoints are converted: both
            # ways are to work.
            if moving is headwater or not pending:
                convert(query, to)
        print(f"{records.produced} records after a kill at {step.name} of each source", flush=True)
    query.drain()
    records.close_windows()
    query.drain()
    assert query.windows() == records.windows()
