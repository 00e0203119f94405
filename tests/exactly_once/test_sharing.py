"""One stream that is read twice: by one query, or by two."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from pyspark.sql.functions import col

from local_kafka import LocalKafka
from tests.exactly_once.pipeline import Pipeline
from tests.exactly_once.producing import produce

Make = Callable[..., Pipeline]


def test_a_stream_united_with_itself_brings_each_record_twice(
    pipeline: Make, kafka: LocalKafka, topic: str
) -> None:
    kafka.create_topic(topic, partitions=2)
    job = pipeline(maxOffsetsPerTrigger=8)
    produced = produce(kafka, topic, 20)
    frame = job.frame()
    job.drain(frame.union(frame))
    assert job.places() == sorted([*produced, *produced])


def test_a_stream_joined_with_itself_matches_each_record_once(
    pipeline: Make, kafka: LocalKafka, topic: str
) -> None:
    kafka.create_topic(topic, partitions=2)
    job = pipeline(columns="partition,offset")
    produced = produce(kafka, topic, 20)
    frame = job.frame()
    job.drain(
        frame.join(
            frame.select(col("partition"), col("offset"), col("offset").alias("other")),
            ["partition", "offset"],
        )
    )
    assert job.places() == sorted(produced)


def test_two_queries_on_one_frame_each_read_everything_once(
    pipeline: Make, kafka: LocalKafka, topic: str
) -> None:
    kafka.create_topic(topic, partitions=2)
    job = pipeline()
    other = replace(job, folder=job.folder / "other")
    produced = produce(kafka, topic, 20)
    frame = job.frame()
    queries = [job.start(frame, availableNow=True), other.start(frame, availableNow=True)]
    assert [sum(each.finish(query)) for each, query in zip((job, other), queries, strict=True)] == [20, 20]
    assert job.places() == other.places() == sorted(produced)


def test_a_stream_without_news_brings_nothing_when_another_one_of_its_query_has_some(
    pipeline: Make, kafka: LocalKafka, topic: str
) -> None:
    quiet = kafka.create_topic(f"{topic}-quiet")
    busy = kafka.create_topic(f"{topic}-busy")
    one = pipeline(subscribe=quiet)
    other = pipeline(subscribe=busy)
    produce(kafka, quiet, 3)
    with one.running(one.frame().union(other.frame())) as query:
        produce(kafka, busy, 2)
        query.processAllAvailable()
    one.crash_before_commit()
    produce(kafka, busy, 2)
    one.drain(one.frame().union(other.frame()))
    assert one.rows("topic", "offset") == [
        *((busy, offset) for offset in range(4)),
        *((quiet, offset) for offset in range(3)),
    ]
