"""A crash at a known step of a checkpoint, then a restart. The disk is left as by a crash."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from pyspark.errors import StreamingQueryException

from local_kafka import LocalKafka
from tests.exactly_once.checkpoint_steps import Disk
from tests.exactly_once.pipeline import Pipeline
from tests.exactly_once.producing import produce
from tests.exactly_once.watching import FolderWatch

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Make = Callable[..., Pipeline]

STOPS = 4
MOST_EVENTS = 50
"""About what three batches write into the folders that are watched."""


def test_latest_is_resolved_once_though_batch_0_never_committed(
    pipeline: Make, kafka: LocalKafka, topic: str
) -> None:
    kafka.create_topic(topic, partitions=2)
    job = pipeline(startingOffsets="latest")
    produce(kafka, topic, 20)
    with job.running():
        assert job.batch_ids() == [0]
    job.crash_before_commit()
    arrived_in_between = produce(kafka, topic, 7)
    job.drain()
    assert job.places() == sorted(arrived_in_between)


def test_records_that_arrive_after_an_empty_first_trigger_and_a_stop_are_read(
    pipeline: Make, kafka: LocalKafka, topic: str
) -> None:
    kafka.create_topic(topic, partitions=2)
    job = pipeline(startingOffsets="latest")
    with job.running():
        assert job.batch_ids() == [0]
    arrived_in_between = produce(kafka, topic, 7)
    with job.running():
        assert job.places() == sorted(arrived_in_between)


def test_batch_0_is_replayed_as_logged_whatever_arrived_meanwhile(
    pipeline: Make, kafka: LocalKafka, topic: str
) -> None:
    kafka.create_topic(topic, partitions=2)
    job = pipeline()
    first = produce(kafka, topic, 10)
    with job.running():
        assert job.places() == sorted(first)
    assert job.crash_before_commit() == 0
    more = produce(kafka, topic, 5)
    assert job.drain() == [10, 5]
    assert job.places() == sorted([*first, *more])


def test_a_batch_that_only_the_sink_committed_is_not_written_again(
    pipeline: Make, kafka: LocalKafka, topic: str
) -> None:
    kafka.create_topic(topic, partitions=2)
    job = pipeline()
    first = produce(kafka, topic, 10)
    job.drain()
    job.crash_before_commit(sink_too=False)
    more = produce(kafka, topic, 5)
    assert job.drain()[-1] == 5
    assert job.places() == sorted([*first, *more])


def test_a_partition_added_between_crash_and_restart_is_read_from_its_earliest_after_the_replay(
    pipeline: Make, kafka: LocalKafka, topic: str
) -> None:
    kafka.create_topic(topic, partitions=1)
    job = pipeline(startingOffsets="latest")
    produce(kafka, topic, 3)
    with job.running():
        first = produce(kafka, topic, 10)
    job.drain()
    replayed = job.crash_before_commit()
    kafka.add_partitions(topic, 2)
    added = produce(kafka, topic, 4, partition=1)
    with job.running():
        assert job.places() == sorted([*first, *added])
    assert job.planned(replayed)["positions"] == {topic: {"0": 13}}
    assert job.planned(replayed + 1)["starts"] == {topic: {"1": 0}}


def test_a_partition_whose_first_batch_crashed_is_read_once(
    pipeline: Make, kafka: LocalKafka, topic: str
) -> None:
    kafka.create_topic(topic, partitions=1)
    job = pipeline()
    first = produce(kafka, topic, 10)
    job.drain()
    kafka.add_partitions(topic, 2)
    added = produce(kafka, topic, 4, partition=1)
    job.drain()
    assert job.planned(job.crash_before_commit())["starts"] == {topic: {"1": 0}}
    more = produce(kafka, topic, 3, partition=1)
    assert job.drain() == [4, 3]
    assert job.places() == sorted([*first, *added, *more])


def test_a_batch_that_failed_in_foreach_batch_comes_again_with_the_same_id_and_records(
    pipeline: Make, kafka: LocalKafka, topic: str
) -> None:
    kafka.create_topic(topic, partitions=2)
    job = pipeline(maxOffsetsPerTrigger=6)
    produced = produce(kafka, topic, 10)
    seen: list[tuple[int, list[tuple[int, int]]]] = []

    def fail_once(batch: DataFrame, batch_id: int) -> None:
        seen.append(
            (
                batch_id,
                sorted((row.partition, row.offset) for row in batch.select("partition", "offset").collect()),
            )
        )
        if len(seen) == 2:
            raise RuntimeError("the sink is away")

    writer = (
        job.frame()
        .writeStream.foreachBatch(fail_once)
        .option("checkpointLocation", str(job.checkpoint))
        .trigger(availableNow=True)
    )
    with pytest.raises(StreamingQueryException, match="the sink is away"):
        job.finish(writer.start())
    produced += produce(kafka, topic, 4)
    job.finish(writer.start())
    assert seen[1] == seen[2]
    assert [batch_id for batch_id, _ in seen] == [0, 1, 1, 2]
    assert sorted(seen[0][1] + seen[2][1] + seen[3][1]) == sorted(produced)


@pytest.mark.slow
def test_a_query_stopped_at_seeded_points_goes_on_each_time(
    pipeline: Make, kafka: LocalKafka, topic: str, rng: random.Random
) -> None:
    kafka.create_topic(topic, partitions=2)
    job = pipeline(maxOffsetsPerTrigger=50)
    produced = produce(kafka, topic, 1_000)
    disk = Disk(job)
    disk.make()
    for _ in range(STOPS):
        fatal = rng.randrange(MOST_EVENTS)
        with FolderWatch(disk.folders) as watch:
            query = job.start()
            watch.wait_for(fatal, query.exception)
            query.stop()
        print(f"stopped at file event {fatal}: {disk}")
        produced += produce(kafka, topic, 50)
    job.but(maxOffsetsPerTrigger=100_000).drain()
    assert job.places() == sorted(produced)
