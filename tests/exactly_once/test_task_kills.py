"""A task dies half-way, with rows already handed on: its Python worker is killed, or its whole executor."""

from __future__ import annotations

import os
import random
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyspark
import pytest
from pyspark.errors import StreamingQueryException

from local_kafka import LocalKafka
from tests.exactly_once.gate import SMALL_BATCHES, Gate
from tests.exactly_once.pipeline import Pipeline
from tests.exactly_once.processes import Program, children, connected, members, parent
from tests.exactly_once.producing import produce
from tests.exactly_once.waiting import until
from tests.patience import PATIENCE_S

Make = Callable[..., Pipeline]

pytestmark = [pytest.mark.crash, pytest.mark.slow]

RECORDS = 3_000
VALUE_BYTES = 8_000
"""12 MB per task: more than the fetch in flight, the sockets and the JVM hold before the gate."""

RUNNER = "python_streaming_source_runner"
SECOND_ATTEMPTS = {"0-1", "1-1"}

LOCAL_CLUSTER = {
    "SPARK_HOME": str(Path(pyspark.__file__).parent),
    "SPARK_SCALA_VERSION": "2.13",
    "SPARK_LOCAL_IP": "127.0.0.1",
}


def source_runners() -> set[int]:
    """Return those of this process's own JVM: tests beside it have theirs, in the same session."""
    return {runner for jvm in children(os.getpid()) for runner in children(jvm, RUNNER)}


@pytest.fixture
def gate(tmp_path: Path) -> Gate:
    folder = tmp_path / "gate"
    folder.mkdir()
    return Gate(folder)


@pytest.fixture
def job(pipeline: Make, kafka: LocalKafka, topic: str) -> Pipeline:
    """A pipeline whose first batch has two tasks."""
    kafka.create_topic(topic, partitions=2)
    return pipeline(minPartitions=2)


@pytest.fixture
def start(job: Pipeline, gate: Gate, spark_conf: dict[str, Any], tmp_path: Path) -> Callable[..., Program]:
    """Start a driver that reads what is there through the gate, and ends."""

    def start_on(master: str, environment: dict[str, str], **conf: str) -> Program:
        with_gate = {"master": master, "trigger": {"availableNow": True}, "gate": str(gate.folder)}
        settings = job.job({**spark_conf, **SMALL_BATCHES, **conf})
        return Program("driver.py", {**settings, **with_gate}, tmp_path / "driver.log", environment)

    return start_on


def test_a_killed_python_worker(
    job: Pipeline, gate: Gate, start: Callable[..., Program], kafka: LocalKafka, rng: random.Random
) -> None:
    produced = produce(kafka, job.options["subscribe"], RECORDS, value_bytes=VALUE_BYTES)
    with start("local[2,4]", {}) as driver:
        gate.wait_for_tasks(2)

        def readers() -> list[int]:
            workers = members(driver.session, "pyspark.daemon")
            return [pid for pid in workers if connected(pid, kafka.brokers[1].port)]

        # Each task has a worker that reads from Kafka, and another one at the gate.
        until(lambda: len(readers()) == 2, "two workers that read from Kafka")
        os.kill(rng.choice(readers()), signal.SIGKILL)
        gate.open()
        driver.finish(PATIENCE_S)
    assert set(gate.arrived()) & SECOND_ATTEMPTS
    assert job.places() == sorted(produced)


def test_a_killed_executor(
    job: Pipeline, gate: Gate, start: Callable[..., Program], kafka: LocalKafka, rng: random.Random
) -> None:
    produced = produce(kafka, job.options["subscribe"], RECORDS, value_bytes=VALUE_BYTES)
    with start("local-cluster[2,1,1024]", LOCAL_CLUSTER) as driver:
        tasks = gate.wait_for_tasks(2)
        executors = {parent(parent(pid)) for pid in tasks.values()}
        assert len(executors) == 2, "each executor has one task"
        os.kill(rng.choice(sorted(executors)), signal.SIGKILL)
        gate.open()
        driver.finish(PATIENCE_S)
    assert set(gate.arrived()) & SECOND_ATTEMPTS
    assert job.places() == sorted(produced)


def test_a_killed_source_runner_fails_the_query_which_goes_on_after_a_restart(
    pipeline: Make, kafka: LocalKafka, topic: str
) -> None:
    kafka.create_topic(topic, partitions=2)
    job = pipeline()
    produced = produce(kafka, topic, 10)
    before = source_runners()
    with job.running() as query:
        (runner,) = source_runners() - before
        os.kill(runner, signal.SIGKILL)
        with pytest.raises(StreamingQueryException):
            query.awaitTermination(120)
    produced += produce(kafka, topic, 5)
    job.drain()
    assert job.places() == sorted(produced)
