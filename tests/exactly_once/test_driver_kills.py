"""The driver is killed (SIGKILL) repeatedly while records keep coming.

With it die its JVM, Spark's source runner and the Python workers.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from local_kafka import LocalKafka
from tests.exactly_once.checkpoint_steps import STEPS, Disk, Step
from tests.exactly_once.pipeline import Pipeline, logged
from tests.exactly_once.processes import Program
from tests.exactly_once.producing import Producer
from tests.exactly_once.watching import FolderWatch
from tests.patience import PATIENCE_S

Make = Callable[..., Pipeline]

ROUNDS = int(os.environ.get("HEADWATER_CRASH_ROUNDS", "6"))
"""Kills at seeded points in long rounds. Each costs the start of a JVM."""

IN_ROUNDS = pytest.mark.parametrize("rounds", [3, pytest.param(ROUNDS, marks=pytest.mark.long)])

PARTITIONS = 4
MOST_EVENTS = 80
"""About what five batches write into the folders that are watched."""


@pytest.fixture
def disk(pipeline: Make) -> Disk:
    made = Disk(pipeline(maxOffsetsPerTrigger=60, minPartitions=2))
    made.make()
    return made


@pytest.fixture
def start(disk: Disk, spark_conf: dict[str, Any], tmp_path: Path) -> Callable[[], Program]:
    """Start a driver on the test's checkpoint."""
    job = {**disk.job.job(spark_conf), "master": "local[2]", "trigger": {}}
    return lambda: Program("driver.py", job, tmp_path / "driver.log")


@pytest.mark.crash
@pytest.mark.slow
def test_a_driver_killed_at_every_step_of_a_checkpoint(
    disk: Disk, start: Callable[[], Program], kafka: LocalKafka, topic: str, rng: random.Random
) -> None:
    kafka.create_topic(topic, PARTITIONS)
    producer = Producer(kafka, topic, PARTITIONS)
    with producer.running():
        for step in STEPS:
            replays = disk.last(disk.logs[0]) > disk.last(disk.logs[-1])
            # The tasks of a replay are those of the very next batch.
            ahead = 0 if step is Step.TASKS_RUN and replays else rng.randint(1, 2)
            target = disk.last(disk.logs[-1]) + 1 + ahead
            with FolderWatch(disk.folders) as watch, start() as driver:
                reached = (disk.step(event) for event in watch.files(PATIENCE_S, driver.check))
                batch_id = next(
                    at[1] for at in reached if at is not None and at[0] is step and at[1] >= target
                )
                driver.kill()
            late = disk.set_back(batch_id, step)
            remarks = [remark for remark, holds in ((", set back", late), (", a replay", replays)) if holds]
            print(f"killed at {step.name} of batch {batch_id}{''.join(remarks)}: {disk}", flush=True)
    everything_once(disk.job, producer.written)


@pytest.mark.crash
@pytest.mark.slow
@pytest.mark.timeout(600 + 60 * ROUNDS)
@IN_ROUNDS
def test_a_driver_killed_at_seeded_points(
    disk: Disk,
    start: Callable[[], Program],
    kafka: LocalKafka,
    *,
    topic: str,
    rng: random.Random,
    rounds: int,
) -> None:
    kafka.create_topic(topic, PARTITIONS)
    producer = Producer(kafka, topic, PARTITIONS)
    late: list[tuple[int, int]] = []
    with producer.running():
        for number in range(rounds):
            fatal = rng.randrange(MOST_EVENTS)
            with FolderWatch(disk.folders) as watch, start() as driver:
                watch.wait_for(fatal, driver.check)
                kill = rng.choice([driver.kill, driver.kill_jvm])
                kill()
            print(
                f"round {number + 1} of {rounds}: {kill.__name__} at file event {fatal}: {disk}", flush=True
            )
            if number == rounds // 2:
                kafka.add_partitions(topic, PARTITIONS + 1)
                late = kafka.produce(topic, [b"late"] * 10, keys=[b"-1"] * 10, partition=PARTITIONS)
    everything_once(disk.job, [*producer.written, *((*place, -1) for place in late)])


@pytest.mark.crash
@pytest.mark.slow
@pytest.mark.timeout(600 + 60 * ROUNDS)
@IN_ROUNDS
def test_a_driver_killed_around_the_records_that_end_partitions(
    pipeline: Make,
    spark_conf: dict[str, Any],
    tmp_path: Path,
    kafka: LocalKafka,
    *,
    topic: str,
    rng: random.Random,
    rounds: int,
) -> None:
    kafka.create_topic(topic, PARTITIONS)
    ends = {str(partition): rng.randrange(200) for partition in range(PARTITIONS - 1)}
    for partition in range(PARTITIONS):
        at = ends.get(str(partition))
        values = [b"end" if number == at else b"row" for number in range(250)]
        kafka.produce(topic, values, partition=partition)
    # Together, all rounds come past the ends.
    disk = Disk(
        pipeline(maxOffsetsPerTrigger=max(120 // rounds, PARTITIONS), stopAtRecord='{"value": "end"}')
    )
    disk.make()
    job = {**disk.job.job(spark_conf), "master": "local[2]", "trigger": {}}
    for number in range(rounds):
        # One batch at the least in each round, and fewer than there are in all rounds together.
        fatal = rng.randrange(MOST_EVENTS // 5, MOST_EVENTS // 2)
        with FolderWatch(disk.folders) as watch, Program("driver.py", job, tmp_path / "log") as driver:
            watch.wait_for(fatal, driver.check)
            driver.kill()
        print(f"round {number + 1} of {rounds}: killed at file event {fatal}: {disk}", flush=True)
    for _ in range(2):
        disk.job.drain()
        kafka.produce(topic, [b"behind"], partition=0)
    due = [(partition, at) for partition in range(PARTITIONS) for at in range(ends.get(str(partition), 250))]
    assert disk.job.rows("partition", "offset") == sorted(due)
    offset = logged(disk.job.checkpoint, disk.job.batch_ids()[-1])
    behind = {partition: at + 1 for partition, at in ends.items()}
    assert offset["ends"]["splits"] == {topic: behind}
    assert offset["positions"] == {topic: {**behind, str(PARTITIONS - 1): 250}}


def everything_once(job: Pipeline, written: list[tuple[int, int, int]]) -> None:
    """Read the rest in this process, and check that each record that was produced is in the sink once."""
    job.but(maxOffsetsPerTrigger=100_000).drain()
    assert job.rows("partition", "offset", "cast(cast(key as string) as int)") == sorted(written)
    print(f"{len(written)} records, each written once, in {job.batch_ids()[-1] + 1} batches")
