"""AvailableNow, Once, limits and idle triggers: how much a batch takes, and when there is one at all."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from local_kafka import LocalKafka
from tests.exactly_once.pipeline import Pipeline
from tests.exactly_once.producing import produce

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Make = Callable[..., Pipeline]


def test_available_now_twice_on_one_checkpoint_reads_each_record_once(
    pipeline: Make, kafka: LocalKafka, topic: str
) -> None:
    kafka.create_topic(topic, partitions=2)
    job = pipeline()
    first = produce(kafka, topic, 10)
    assert sum(job.drain()) == 10
    assert sum(job.drain()) == 0
    kafka.add_partitions(topic, 3)
    more = [*produce(kafka, topic, 6), *produce(kafka, topic, 4, partition=2)]
    assert sum(job.drain()) == 10
    assert job.places() == sorted([*first, *more])


def test_available_now_ends_at_what_was_there_when_it_began(
    pipeline: Make, kafka: LocalKafka, topic: str
) -> None:
    kafka.create_topic(topic, partitions=2)
    job = pipeline(maxOffsetsPerTrigger=4)
    first = produce(kafka, topic, 10)
    late: list[tuple[int, int]] = []
    read: list[tuple[int, int]] = []

    def read_and_produce_more(batch: DataFrame, batch_id: int) -> None:
        if batch_id == 0:
            kafka.add_partitions(topic, 3)
            late.extend([*produce(kafka, topic, 4), *produce(kafka, topic, 2, partition=2)])
        read.extend((row.partition, row.offset) for row in batch.select("partition", "offset").collect())

    writer = (
        job.frame()
        .writeStream.foreachBatch(read_and_produce_more)
        .option("checkpointLocation", str(job.checkpoint))
    )
    job.finish(writer.trigger(availableNow=True).start())
    assert (sorted(read), len(late)) == (sorted(first), 6)
    job.finish(writer.trigger(availableNow=True).start())
    assert sorted(read) == sorted([*first, *late])


def test_available_now_does_not_wait_for_the_minimum(pipeline: Make, kafka: LocalKafka, topic: str) -> None:
    kafka.create_topic(topic)
    job = pipeline(minOffsetsPerTrigger=100)
    produced = produce(kafka, topic, 3)
    job.drain()
    assert job.places() == produced


def test_available_now_replays_an_uncommitted_batch_after_a_partition_was_added(
    pipeline: Make, kafka: LocalKafka, topic: str
) -> None:
    kafka.create_topic(topic, partitions=1)
    job = pipeline(maxOffsetsPerTrigger=6)
    first = produce(kafka, topic, 10)
    assert job.drain() == [6, 4]
    job.crash_before_commit()
    kafka.add_partitions(topic, 2)
    added = produce(kafka, topic, 5, partition=1)
    assert job.drain() == [4, 5]
    assert job.places() == sorted([*first, *added])


def test_once_reads_everything_in_one_batch_whatever_the_limits_say(
    pipeline: Make, kafka: LocalKafka, topic: str
) -> None:
    kafka.create_topic(topic, partitions=2)
    job = pipeline(maxOffsetsPerTrigger=4, minOffsetsPerTrigger=3)
    first = produce(kafka, topic, 10)
    assert job.finish(job.start(once=True)) == [10]
    more = produce(kafka, topic, 2)
    assert job.finish(job.start(once=True)) == [2]
    assert job.places() == sorted([*first, *more])


def test_max_offsets_per_trigger_limits_batches_and_starves_no_partition(
    pipeline: Make, kafka: LocalKafka, topic: str
) -> None:
    kafka.create_topic(topic, partitions=2)
    job = pipeline(maxOffsetsPerTrigger=40)
    produced = [*produce(kafka, topic, 99, partition=0), *produce(kafka, topic, 1, partition=1)]
    assert job.drain() == [40, 40, 20]
    assert job.planned(0)["positions"] == {topic: {"0": 39, "1": 1}}
    assert job.places() == sorted(produced)


def test_max_bytes_per_trigger_limits_batches_by_the_size_of_records(
    pipeline: Make, kafka: LocalKafka, topic: str
) -> None:
    kafka.create_topic(topic)
    job = pipeline(maxBytesPerTrigger=50_000)
    produced = kafka.produce(topic, [bytes(1_000)] * 200)
    batches = job.drain()
    assert all(40 <= rows <= 50 for rows in batches[:-1])
    assert job.places() == sorted(produced)


def test_min_offsets_per_trigger_waits_for_enough_or_for_the_delay(
    pipeline: Make, kafka: LocalKafka, topic: str
) -> None:
    kafka.create_topic(topic)
    job = pipeline(minOffsetsPerTrigger=10, maxTriggerDelay="1h")
    with job.running() as query:
        produced = produce(kafka, topic, 9)
        query.processAllAvailable()
        assert job.batch_ids() == [0]
        produced += produce(kafka, topic, 1)
        query.processAllAvailable()
        assert [
            progress["numInputRows"] for progress in query.recentProgress if progress["numInputRows"]
        ] == [10]
        produced += produce(kafka, topic, 3)
        query.processAllAvailable()
        assert job.batch_ids() == [0, 1]
    with job.running():
        assert job.places() == sorted(produced)


def test_idle_triggers_make_no_batches(pipeline: Make, kafka: LocalKafka, topic: str) -> None:
    kafka.create_topic(topic, partitions=2)
    job = pipeline()
    produced = produce(kafka, topic, 10)
    with job.running() as query:
        before = {entry.name: entry.stat().st_mtime_ns for entry in (job.checkpoint / "offsets").iterdir()}
        for _ in range(20):
            query.processAllAvailable()
        assert {
            entry.name: entry.stat().st_mtime_ns for entry in (job.checkpoint / "offsets").iterdir()
        } == before
        assert job.batch_ids() == [0]
    with job.running():
        assert job.batch_ids() == [0]
    assert job.places() == sorted(produced)
