"""Receivers: processes that stay connected, whoever dies, and of which one has a session."""

from __future__ import annotations

import os
import signal
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from headwater.connector.sources.mqtt.source import MqttSource
from headwater.core.errors import (
    SourceError,
)
from headwater.core.state_location import LocalStateStore
from headwater.readers.runtime.staging.receiver import Receiver
from headwater.readers.runtime.staging.receiver_task import TaskQuestion
from local_mqtt import LocalMqtt
from tests.exactly_once.waiting import until
from tests.readers.mqtt.sessions import (
    configured,
    publish,
    read,
    receiver_process,
    receiver_processes,
    receiver_task,
)

IDLE_MS = 600_000
"""No receiver ends by itself while a test is at work."""


@pytest.mark.parametrize("version", ["5", "3.1.1"])
def test_two_queries_with_one_client_id_take_it_from_each_other_a_few_times_and_one_fails(
    broker: LocalMqtt, tmp_path: Path, version: str
) -> None:
    """With state locations and hosts of their own, so that neither sees what the other one writes.

    mosquitto does not say why it closes a connection, in version 5 either.
    """
    receivers = []
    client_id = f"both-{version}"
    for name in ("one", "other"):
        given = {"clientid": client_id, "statelocation": str(tmp_path / name), "mqttversion": version}
        made = configured(broker.url, **given).for_query("q")
        receivers.append(Receiver(receiver_task(made)))
    threads = [threading.Thread(target=receiver.run) for receiver in receivers]
    for thread in threads:
        thread.start()
    until(lambda: any(receiver.has_news for receiver in receivers), "one of the two to notice")
    told = [heard.error for receiver in receivers if (heard := receiver.hear(TaskQuestion(0, 1))).error]
    for receiver in receivers:
        receiver.stop()
    for thread in threads:
        thread.join()
    assert "6 times within a minute" in str(told[0])
    assert f"Option 'clientId' ('{client_id}') is for one query alone" in str(told[0])
    assert "another 'clientId', with a new checkpointLocation" in str(told[0])


@pytest.mark.parametrize(
    "where", ["another state location", pytest.param("the same state location", marks=pytest.mark.long)]
)
def test_of_two_queries_with_one_client_id_on_one_host_the_first_one_fails(
    broker: LocalMqtt, source: MqttSource, tmp_path: Path, where: str
) -> None:
    """Neither has a task at work when the other one comes, so that nothing but the receiver is in the way."""
    first = replace(source, receiver_idle_ms=IDLE_MS)
    other = first.for_query("other")
    if where == "another state location":
        other = replace(first, store=LocalStateStore(tmp_path / "other"))
    # A query that ended, and a new one: that may be.
    assert read(first)[0] == []
    assert read(other)[0] == []
    publish(broker, source, 0, 3)
    rows, state = read(other)
    assert rows == [0, 1, 2]
    process = receiver_process(other)
    client_id = source.sessions.client_id
    for _ in range(2):
        with pytest.raises(
            SourceError, match=rf"has taken mqtt:.*{client_id} from this one.*Option 'clientId'"
        ):
            read(first)
    publish(broker, source, 3, 3)
    position = cast("int", state.progress[0].position)
    assert read(other, position)[0] == [3, 4, 5]
    assert receiver_process(other) == process
    # Once the other one is gone, the first one may go on.
    os.kill(process, signal.SIGTERM)
    until(lambda: not Path(f"/proc/{process}/cwd").exists(), "the receiver to end")
    publish(broker, source, 6, 3)
    assert read(first, 0)[0] == [6, 7, 8]
    os.kill(receiver_process(first), signal.SIGTERM)


class SlowStore(LocalStateStore):
    """A store with the latency of an object store."""

    def put_if_absent(self, name: str, data: bytes, *, durable: bool = True) -> bytes:
        time.sleep(0.05)
        return super().put_if_absent(name, data, durable=durable)

    def get(self, name: str) -> bytes | None:
        time.sleep(0.05)
        return super().get(name)

    def list(self, folder: str) -> list[str]:
        time.sleep(0.05)
        return super().list(folder)


@pytest.mark.long
def test_nothing_is_lost_at_the_brokers_default_limits_on_a_slow_store_whether_a_task_is_there_or_not(
    broker: LocalMqtt, source: MqttSource, tmp_path: Path
) -> None:
    """The broker keeps 1,000 messages a session. Four times as many come while no task asks."""
    slow = replace(source, store=SlowStore(tmp_path / "slow"))
    position = 0
    seen: list[int] = []
    for first in (0, 2_000, 4_000):
        rows, state = read(slow, position)
        seen += rows
        position = cast("int", state.progress[0].position)
        began = time.monotonic()
        for at in range(first, first + 2_000, 100):
            publish(broker, source, at, 100)
            time.sleep(max(0.0, began + (at - first + 100) / 1_000 - time.monotonic()))
    rows, _ = read(slow, position)
    seen += rows
    assert seen == list(range(6_000))


def test_a_receiver_ends_when_no_task_has_asked_it_for_its_time(source: MqttSource) -> None:
    brief = replace(source, receiver_idle_ms=1_000)
    assert read(brief)[0] == []
    until(lambda: not receiver_processes(brief), "the receiver to end")


def test_a_receiver_that_is_killed_is_started_again_and_a_broker_that_is_away_is_waited_for(
    source: MqttSource, broker: LocalMqtt
) -> None:
    assert read(source)[0] == []
    killed = receiver_process(source)
    publish(broker, source, 0, 50)
    os.kill(killed, signal.SIGKILL)
    rows, state = read(source)
    assert rows == list(range(50))
    position = cast("int", state.progress[0].position)
    broker.stop()
    broker.start()
    publish(broker, source, 50, 50)
    assert read(source, position)[0] == list(range(50, 100))
