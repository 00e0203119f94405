"""What is read and what is counted as lost are together what was produced, wherever the tasks run."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyspark
import pytest

from local_kafka import LocalKafka
from tests.exactly_once.pipeline import Pipeline
from tests.exactly_once.processes import Program
from tests.exactly_once.producing import produce
from tests.exactly_once.waiting import until
from tests.patience import PATIENCE_S

pytestmark = [pytest.mark.long, pytest.mark.slow, pytest.mark.timeout(900)]

LOCAL_CLUSTER = {
    "SPARK_HOME": str(Path(pyspark.__file__).parent),
    "SPARK_SCALA_VERSION": "2.13",
    "SPARK_LOCAL_IP": "127.0.0.1",
}

NEAR = 500
"""How far from the last planned position records are deleted: about what a batch takes of a partition."""


@pytest.fixture
def replaying(pipeline: Callable[..., Pipeline], kafka: LocalKafka, topic: str) -> Pipeline:
    """A pipeline that will replay a batch of two tasks, of whose 40 records 12 are gone by now."""
    kafka.create_topic(topic, partitions=2)
    produce(kafka, topic, 40)
    job = pipeline(failOnDataLoss="false", minPartitions=2)
    job.drain()
    job.crash_before_commit()
    kafka.delete_records(topic, {0: 5, 1: 7})
    return job


def counted(job: Pipeline) -> tuple[int, int]:
    losses = job.planned(job.batch_ids()[-1])["losses"]
    return losses["rows"], losses["at_least_rows"]


def test_on_executors_in_processes_of_their_own(
    replaying: Pipeline, spark_conf: dict[str, Any], tmp_path: Path
) -> None:
    job = {
        **replaying.job(spark_conf),
        "master": "local-cluster[2,1,1024]",
        "trigger": {"availableNow": True},
    }
    with Program("driver.py", job, tmp_path / "driver.log", LOCAL_CLUSTER) as driver:
        driver.finish(PATIENCE_S)
    assert counted(replaying) == (0, 12)


@pytest.mark.usefixtures("spark_connect_port")
def test_over_spark_connect(replaying: Pipeline, spark_conf: dict[str, Any], tmp_path: Path) -> None:
    job = replaying.job(spark_conf)
    with Program("connect_client.py", job, tmp_path / "client.log", asked=True) as client:
        client.ask("stream")
        assert counted(replaying) == (0, 12)


def test_a_driver_that_dies_before_it_has_counted_finds_the_same_again(replaying: Pipeline) -> None:
    replaying.drain()
    # As a crash after the replay would leave it: what its tasks reported was counted nowhere.
    last = replaying.batch_ids()[-1]
    assert counted(replaying) == (0, 12)
    for log, batch_id in (("offsets", last), ("commits", last), ("commits", last - 1)):
        for name in (str(batch_id), f".{batch_id}.crc"):
            (replaying.checkpoint / log / name).unlink(missing_ok=True)
    for batch_id in (last, last - 1):
        for name in (str(batch_id), f".{batch_id}.crc"):
            (replaying.sink / "_spark_metadata" / name).unlink(missing_ok=True)
    replaying.drain()
    assert counted(replaying) == (0, 12)


def test_under_retention_each_record_is_read_once_or_counted_as_lost(
    pipeline: Callable[..., Pipeline], kafka: LocalKafka, topic: str, rng: random.Random
) -> None:
    """Records go at random places, before, behind and under the tasks, while a query reads on."""
    kafka.create_topic(topic, partitions=3)
    job = pipeline(failOnDataLoss="false", maxOffsetsPerTrigger=1_500, minPartitions=6)
    written = 0
    query = job.start()
    try:
        # What goes before the first offset is logged is no loss: reading begins behind it.
        until(job.batch_ids, "the first offset to be logged")
        with retention(job, kafka, topic, rng):
            for _ in range(40):
                written += len(produce(kafka, topic, 1_500))
        query.processAllAvailable()
        # What the tasks of a batch have found stands in the offset after it.
        written += len(produce(kafka, topic, 30))
        query.processAllAvailable()
    finally:
        query.stop()
    places = job.places()
    by_planning, by_tasks = counted(job)
    print(f"{written} written, {len(places)} read, lost: {by_planning} by planning, {by_tasks} by tasks")
    assert len(places) == len(set(places))
    assert by_planning + by_tasks > 0
    assert len(places) + by_planning + by_tasks == written


@contextmanager
def retention(job: Pipeline, kafka: LocalKafka, topic: str, rng: random.Random) -> Iterator[None]:
    """Delete records in the background, up to a place near the one that the query has come to."""
    stopped = threading.Event()

    def delete() -> None:
        while not stopped.wait(0.2):
            reached = job.planned(job.batch_ids()[-1])["positions"][topic]
            ends = kafka.end_offsets(topic)
            near = {partition: reached[str(partition)] + rng.randint(-NEAR, NEAR) for partition in ends}
            kafka.delete_records(
                topic, {partition: min(max(near[partition], 0), end) for partition, end in ends.items()}
            )

    with ThreadPoolExecutor(1) as pool:
        deleting = pool.submit(delete)
        try:
            yield
        finally:
            stopped.set()
            deleting.result()
