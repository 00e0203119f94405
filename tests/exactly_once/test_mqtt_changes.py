"""Topics and sessions of an MQTT query change on its checkpoint: nothing is lost, nothing comes twice."""

from __future__ import annotations

import json
import os
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from local_mqtt import LocalMqtt
from tests.connector.sources.test_mqtt_spark import begin_session
from tests.exactly_once.barrier_driver import start
from tests.exactly_once.barrier_job import BarrierJob
from tests.exactly_once.test_mqtt_kills import Publisher
from tests.patience import PATIENCE_S

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROUNDS = int(os.environ.get("HEADWATER_CRASH_ROUNDS", "1"))

CHANGES = [
    {"topics": "numbers", "sessions": "3"},
    {"topics": "numbers,others/#", "sessions": "3"},
    {"topics": "numbers,others/#", "sessions": "1"},
    {"topics": "numbers", "sessions": "2"},
    {"topics": "numbers,others/+", "sessions": "1"},
]
"""Each differs from the one before in one of the two, or in both. ``numbers`` is read all the time."""


@pytest.fixture
def broker() -> Iterator[LocalMqtt]:
    with LocalMqtt(more="max_queued_messages 0\n") as running:
        yield running


def options(broker: LocalMqtt) -> dict[str, str]:
    return {
        "source": "mqtt",
        "broker": broker.url,
        "topics": "numbers",
        "clientId": "changing",
        "messageKey": "payload:number",
        "barrierRows": "200",
        "idleTimeout": "200ms",
        "pollInterval": "50ms",
        "receiverIdleTimeout": "10s",
    }


def numbers(rows: list[Any]) -> Counter[int]:
    return Counter(json.loads(text)["number"] for (text,) in rows)


def test_each_message_is_read_once_while_topics_and_sessions_change(
    broker: LocalMqtt, spark: SparkSession, tmp_path: Path
) -> None:
    asked = options(broker)
    begin_session(asked)
    job: dict[str, Any] = {
        "columns": ["cast(payload as string) as text"],
        "folder": str(tmp_path),
        "trigger": {"availableNow": True},
        "united": False,
    }
    sent = 0
    for change in ({}, *CHANGES[1:4], CHANGES[3]):
        broker.publish(
            ("numbers", json.dumps({"number": number}).encode()) for number in range(sent, sent + 50)
        )
        sent += 50
        # Of a topic that is there from the second round to the fourth. What is published before these change
        # it comes where it was there before.
        broker.publish([("others/a", json.dumps({"number": 1_000 + sent}).encode())])
        given = {**asked, **change, "stateLocation": f"{tmp_path}/state"}
        # A change takes a few epochs: one step a round.
        for _ in range(3):
            assert start(spark, {**job, "options": given}).awaitTermination(PATIENCE_S)
    rows = [tuple(row) for row in spark.read.parquet(f"{tmp_path}/rows").collect()]
    assert numbers(rows) == Counter([*range(sent), 1_150, 1_200])


@pytest.mark.long
@pytest.mark.crash
@pytest.mark.timeout(600 + 120 * ROUNDS * len(CHANGES))
def test_each_message_is_read_once_while_they_change_and_processes_are_killed(
    broker: LocalMqtt, spark: SparkSession, spark_conf: dict[str, Any], rng: random.Random, tmp_path: Path
) -> None:
    begin_session(options(broker))
    job = BarrierJob(spark, spark_conf, tmp_path, options(broker), ["cast(payload as string) as text"])
    with Publisher(broker) as publisher:
        for change in ({}, *CHANGES):
            job = replace(job, options=options(broker) | change)
            job.kill_rounds(ROUNDS, rng)
    job.finish()
    assert numbers(job.rows("text")) == Counter(range(publisher.sent))
