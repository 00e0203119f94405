"""MQTT where Spark is unfriendly: long triggers, workers that are not used again, tasks that change hosts."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from local_mqtt import LocalMqtt
from tests.connector.sources.test_mqtt_spark import begin_session
from tests.exactly_once.barrier_driver import start
from tests.exactly_once.barrier_job import ENVIRONMENT, BarrierJob
from tests.exactly_once.processes import Program
from tests.exactly_once.test_mqtt_kills import Publisher
from tests.exactly_once.waiting import until

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TRIGGER_S = 180
DEFAULT_QUEUE = 1_000
"""How many messages a broker keeps by default for a session that is away."""


@pytest.fixture
def broker() -> Iterator[LocalMqtt]:
    """With its default limits."""
    with LocalMqtt() as running:
        yield running


def options(broker: LocalMqtt, **more: str) -> dict[str, str]:
    given = {"source": "mqtt", "broker": broker.url, "topics": "numbers", "clientId": "hosts"}
    return {**given, "messageKey": "payload:number", "idleTimeout": "300ms", **more}


def numbers(rows: list[Any]) -> Counter[int]:
    return Counter(json.loads(text)["number"] for (text,) in rows)


@pytest.mark.long
@pytest.mark.timeout(4 * TRIGGER_S)
def test_a_trigger_of_three_minutes_loses_nothing_at_the_brokers_default_limits(
    broker: LocalMqtt, spark: SparkSession, tmp_path: Path
) -> None:
    """Spark ends the Python worker after a minute; the receiver goes on."""
    asked = options(broker)
    begin_session(asked)
    job: dict[str, Any] = {
        "options": {**asked, "stateLocation": f"{tmp_path}/state"},
        "columns": ["cast(payload as string) as text"],
        "folder": str(tmp_path),
        "trigger": {"processingTime": f"{TRIGGER_S} seconds"},
        "united": False,
    }
    query = start(spark, job)
    commits = tmp_path / "checkpoint" / "commits"
    try:
        # The first batch has begun the receiver.
        until((commits / "0").exists, "the first batch", TRIGGER_S)
        with Publisher(broker) as publisher:
            # The first trigger may come at any time: the second one is a whole interval later.
            until((commits / "2").exists, "two triggers", 3 * TRIGGER_S)
        assert publisher.sent > 3 * DEFAULT_QUEUE
    finally:
        query.stop()
    assert start(spark, {**job, "trigger": {"availableNow": True}}).awaitTermination(120)
    rows = [tuple(row) for row in spark.read.parquet(f"{tmp_path}/rows").collect()]
    assert numbers(rows) == Counter(range(publisher.sent))


@pytest.fixture
def job(spark: SparkSession, spark_conf: dict[str, Any], tmp_path: Path, broker: LocalMqtt) -> BarrierJob:
    """A job whose receiver stays for a minute."""
    asked = options(broker, receiverIdleTimeout="60s")
    return BarrierJob(spark, spark_conf, tmp_path, asked, ["cast(payload as string) as text"])


def read_in_runs(job: BarrierJob, broker: LocalMqtt, *, pause_s: float = 0) -> int:
    """Read with AvailableNow again and again, each time in a driver of its own; return what was published."""
    sent = 0
    paused = threading.Event()
    for count in (0, 300, 500, 7):
        broker.publish(
            ("numbers", json.dumps({"number": number}).encode()) for number in range(sent, sent + count)
        )
        sent += count
        log = job.folder / "driver.log"
        with Program("barrier_driver.py", job.job(availableNow=True), log, ENVIRONMENT) as driver:
            driver.finish(180)
        paused.wait(pause_s)
    return sent


@pytest.mark.long
def test_workers_that_are_not_used_again_find_the_receiver(job: BarrierJob, broker: LocalMqtt) -> None:
    job = replace(job, conf={**job.conf, "spark.python.worker.reuse": "false"})
    sent = read_in_runs(job, broker)
    assert numbers(job.rows("text")) == Counter(range(sent))


@pytest.mark.long
def test_sessions_whose_tasks_change_hosts_lose_nothing(job: BarrierJob, broker: LocalMqtt) -> None:
    """Executors whose folders for temporary files differ do not see one another's receivers, as two hosts."""
    conf = {**job.conf, "spark.executorEnv.TMPDIR": "./."}
    asked = {**job.options, "sessions": "2"}
    job = replace(job, conf=conf, options=asked, master="local-cluster[2,1,512]")
    sent = read_in_runs(job, broker)
    assert numbers(job.rows("text")) == Counter(range(sent))


@pytest.mark.long
def test_a_receiver_that_has_ended_is_started_again(job: BarrierJob, broker: LocalMqtt) -> None:
    job = replace(job, options={**job.options, "receiverIdleTimeout": "1s"})
    sent = read_in_runs(job, broker, pause_s=3)
    assert numbers(job.rows("text")) == Counter(range(sent))
