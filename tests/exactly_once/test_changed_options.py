"""Options that change between two starts on one checkpoint, also with a batch planned under the old ones."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

import pytest
from pyspark.errors import StreamingQueryException

from local_kafka import LocalKafka
from tests.exactly_once.pipeline import Pipeline
from tests.exactly_once.producing import produce

Make = Callable[..., Pipeline]


def test_a_narrowed_subscription_still_replays_the_uncommitted_batch_whole(
    pipeline: Make, kafka: LocalKafka, topic: str
) -> None:
    left = kafka.create_topic(f"{topic}-left")
    kept = kafka.create_topic(f"{topic}-kept")
    both = pipeline(subscribe=f"{left},{kept}")
    written = [(left, offset) for _, offset in produce(kafka, left, 5)] + [
        (kept, offset) for _, offset in produce(kafka, kept, 5)
    ]
    both.drain()
    both.crash_before_commit()
    narrowed = both.but(subscribe=kept)
    produce(kafka, left, 3)
    written += [(kept, offset) for _, offset in produce(kafka, kept, 2)]
    assert narrowed.drain() == [10, 2]
    assert narrowed.rows("topic", "offset") == sorted(written)
    assert narrowed.planned(1)["positions"] == {kept: {"0": 7}}


def test_a_widened_subscription_reads_the_new_topic_from_its_earliest(
    pipeline: Make, kafka: LocalKafka, topic: str
) -> None:
    old = kafka.create_topic(f"{topic}-old")
    new = kafka.create_topic(f"{topic}-new")
    job = pipeline(subscribe=old, startingOffsets="latest")
    produce(kafka, old, 5)
    written = [(new, offset) for _, offset in produce(kafka, new, 5)]
    with job.running():
        assert job.planned(0)["positions"] == {old: {"0": 5}}
    job.crash_before_commit()
    written += [(old, offset) for _, offset in produce(kafka, old, 2)]
    job.but(subscribe=f"{old},{new}").drain()
    assert job.rows("topic", "offset") == sorted(written)


def test_a_topic_that_left_and_came_back_is_read_from_its_earliest(
    pipeline: Make, kafka: LocalKafka, topic: str
) -> None:
    stays = kafka.create_topic(f"{topic}-stays")
    returns = kafka.create_topic(f"{topic}-returns")
    both = pipeline(subscribe=f"{stays},{returns}")
    produce(kafka, stays, 1)
    produce(kafka, returns, 3)
    both.drain()
    only = both.but(subscribe=stays)
    produce(kafka, stays, 1)
    only.drain()
    both.drain()
    assert both.rows("topic", "offset") == sorted(
        [(stays, 0), (stays, 1), *((returns, offset) for offset in (0, 0, 1, 1, 2, 2))]
    )


def test_changed_limits_and_tasks_replay_the_same_records(
    pipeline: Make, kafka: LocalKafka, topic: str
) -> None:
    kafka.create_topic(topic, partitions=2)
    job = pipeline(maxOffsetsPerTrigger=8)
    produced = produce(kafka, topic, 20)
    assert job.drain() == [8, 8, 4]
    job.crash_before_commit()
    changed = job.but(maxOffsetsPerTrigger=1, minPartitions=5, maxRecordsPerPartition=1)
    produced += produce(kafka, topic, 2)
    assert changed.drain()[0] == 4
    assert changed.places() == sorted(produced)


def test_changed_columns_count_from_the_replayed_batch_on(
    pipeline: Make, kafka: LocalKafka, topic: str
) -> None:
    kafka.create_topic(topic)
    job = pipeline(columns="partition,offset")
    produced = produce(kafka, topic, 5)
    job.drain()
    job.crash_before_commit()
    wider = job.but(columns="value,offset,partition")
    produced += produce(kafka, topic, 2)
    wider.drain()
    assert (
        wider.spark.read.schema("value binary").parquet(str(wider.sink)).where("value is not null").count()
        == 7
    )
    assert wider.places() == sorted(produced)


def test_starting_offsets_count_only_while_nothing_is_logged(
    pipeline: Make, kafka: LocalKafka, topic: str
) -> None:
    kafka.create_topic(topic)
    job = pipeline()
    produced = produce(kafka, topic, 5)
    job.drain()
    produced += produce(kafka, topic, 5)
    job.but(startingOffsets=json.dumps({topic: {"0": 1}})).drain()
    assert job.places() == sorted(produced)


def test_the_positions_of_an_offset_log_can_be_pasted_as_starting_offsets(
    pipeline: Make, kafka: LocalKafka, topic: str
) -> None:
    kafka.create_topic(topic, partitions=3)
    job = pipeline()
    produce(kafka, topic, 10)
    job.drain()
    pasted = json.dumps(job.planned(job.batch_ids()[-1])["positions"])
    more = produce(kafka, topic, 4)
    other = replace(job.but(startingOffsets=pasted), folder=job.folder / "other")
    other.drain()
    assert other.places() == sorted(more)


def test_a_topic_that_was_deleted_between_stop_and_restart_is_gone_without_only_if_loss_is_allowed(
    pipeline: Make, kafka: LocalKafka, topic: str
) -> None:
    goes = kafka.create_topic(f"{topic}-goes")
    stays = kafka.create_topic(f"{topic}-stays")
    job = pipeline(subscribe=f"{goes},{stays}", **{"fetchOffset.retryIntervalMs": "50ms"})
    produce(kafka, goes, 2)
    produce(kafka, stays, 2)
    job.drain()
    kafka.delete_topic(goes)
    produce(kafka, stays, 3)
    with pytest.raises(StreamingQueryException, match="failOnDataLoss=false"):
        job.drain()
    assert job.but(failOnDataLoss=False).drain() == [3]
    assert job.planned(1)["positions"] == {stays: {"0": 5}}
    assert job.planned(1)["kept"][goes]["0"]["position"] == 2
