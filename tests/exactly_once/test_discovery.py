"""Topics and partitions that appear under a running query."""

from __future__ import annotations

from collections.abc import Callable

from local_kafka import LocalKafka
from tests.exactly_once.pipeline import Pipeline
from tests.exactly_once.producing import produce
from tests.exactly_once.waiting import until

Make = Callable[..., Pipeline]


def test_a_topic_that_comes_to_match_the_pattern_is_read_from_its_earliest(
    pipeline: Make, kafka: LocalKafka, topic: str
) -> None:
    first = kafka.create_topic(f"{topic}-a")
    job = pipeline().but("subscribe", subscribePattern=f"{topic}-.", startingOffsets="latest")
    produce(kafka, first, 3)
    with job.running() as query:
        second = kafka.create_topic(f"{topic}-b", partitions=2)
        kafka.create_topic(f"{topic}-other")
        written = [(second, *place) for place in produce(kafka, second, 6)] + [
            (first, *place) for place in produce(kafka, first, 2)
        ]
        until(lambda: second in job.planned(job.batch_ids()[-1])["positions"], "the new topic to be found")
        query.processAllAvailable()
        assert job.rows("topic", "partition", "offset") == sorted(written)


def test_a_partition_added_under_a_running_query_is_read_from_its_earliest(
    pipeline: Make, kafka: LocalKafka, topic: str
) -> None:
    kafka.create_topic(topic)
    job = pipeline(startingOffsets="latest")
    with job.running() as query:
        kafka.add_partitions(topic, 3)
        produced = produce(kafka, topic, 9)
        until(
            lambda: "2" in job.planned(job.batch_ids()[-1])["positions"][topic],
            "the new partitions to be found",
        )
        query.processAllAvailable()
        assert job.places() == sorted(produced)
