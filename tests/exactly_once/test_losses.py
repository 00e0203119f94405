"""What is read and what is counted as lost are together what was produced, wherever the tasks run."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyspark
import pytest

from local_kafka import LocalKafka
from tests.exactly_once.pipeline import Pipeline
from tests.exactly_once.processes import Program
from tests.exactly_once.producing import produce
from tests.patience import PATIENCE_S

pytestmark = [pytest.mark.long, pytest.mark.slow, pytest.mark.timeout(900)]

LOCAL_CLUSTER = {
    "SPARK_HOME": str(Path(pyspark.__file__).parent),
    "SPARK_SCALA_VERSION": "2.13",
    "SPARK_LOCAL_IP": "127.0.0.1",
}


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
    conf = {**spark_conf, "spark.executor.memory": "512m"}
    job = {**replaying.job(conf), "master": "local-cluster[2,1,1024]", "trigger": {"availableNow": True}}
    with Program("driver.py", job, tmp_path / "driver.log", LOCAL_CLUSTER) as driver:
        driver.finish(PATIENCE_S)
    assert counted(replaying) == (0, 12)


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
    stopped = threading.Event()

    def retain() -> None:
        while not stopped.wait(0.2):
            ends = kafka.end_offsets(topic)
            kafka.delete_records(
                topic, {partition: rng.randint(end * 9 // 10, end) for partition, end in ends.items() if end}
            )

    retention = threading.Thread(target=retain)
    query = job.start()
    try:
        retention.start()
        for _ in range(40):
            produce(kafka, topic, 1_500)
        stopped.set()
        retention.join(60)
        query.processAllAvailable()
    finally:
        stopped.set()
        query.stop()
    places = job.places()
    lost = sum(counted(job))
    assert len(places) == len(set(places))
    assert lost > 0
    assert len(places) + lost == 40 * 1_500
