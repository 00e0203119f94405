"""A stream of MQTT messages is killed (SIGKILL) at seeded points while messages keep coming.

With keys each message is written once. Without keys none is lost.
"""

from __future__ import annotations

import json
import os
import random
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import pytest

from local_mqtt import LocalMqtt
from tests.connector.sources.test_mqtt_spark import begin_session
from tests.exactly_once.barrier_job import BarrierJob

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROUNDS = int(os.environ.get("HEADWATER_CRASH_ROUNDS", "1"))
"""Kills at seeded points. Each costs the start of a JVM."""

IN_FLIGHT = 50
"""How many messages the broker may send before the first acknowledgement, and behind those it sends again."""


class Publisher:
    """Publishes numbers until it is stopped."""

    def __init__(self, broker: LocalMqtt) -> None:
        self._broker = broker
        self._stopped = threading.Event()
        self.sent = 0
        self._thread = threading.Thread(target=self._run, name="publisher")

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._stopped.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stopped.wait(0.05):
            self.sent += self._broker.publish(
                ("numbers", json.dumps({"number": self.sent + at}).encode()) for at in range(20)
            )


@pytest.fixture
def broker() -> Iterator[LocalMqtt]:
    # Messages come before the first task has started a receiver: more than a broker keeps by default.
    with LocalMqtt(more="max_queued_messages 0\n") as running:
        yield running


@pytest.mark.crash
@pytest.mark.slow
@pytest.mark.timeout(600 + 60 * ROUNDS)
@pytest.mark.parametrize("keys", [True, False], ids=["with keys", "without keys"])
def test_a_driver_killed_at_seeded_points(
    broker: LocalMqtt,
    spark: SparkSession,
    spark_conf: dict[str, Any],
    rng: random.Random,
    tmp_path: Path,
    *,
    keys: bool,
) -> None:
    options = {
        "source": "mqtt",
        "broker": broker.url,
        "topics": "numbers",
        "clientId": "killed",
        "maxInFlight": str(IN_FLIGHT),
        "barrierRows": "200",
        "idleTimeout": "200ms",
        "pollInterval": "50ms",
        "receiverIdleTimeout": "60s",
        **({"messageKey": "payload:number"} if keys else {}),
    }
    begin_session(options)
    master = "local-cluster[1,2,512]" if keys else "local[2,4]"
    job = BarrierJob(spark, spark_conf, tmp_path, options, ["cast(payload as string) as text"], master)
    rounds = ROUNDS if keys else 1
    with Publisher(broker) as publisher:
        killed = job.kill_rounds(rounds, rng)
    job.finish()
    assert killed == dict.fromkeys([*job.victims, "driver"], rounds)
    written = Counter(json.loads(row[0])["number"] for row in job.rows("text"))
    assert set(written) == set(range(publisher.sent))
    duplicates = sum(written.values()) - publisher.sent
    print(f"{publisher.sent} messages, {duplicates} of them twice")
    assert duplicates == 0 if keys else duplicates <= 2 * IN_FLIGHT * rounds
