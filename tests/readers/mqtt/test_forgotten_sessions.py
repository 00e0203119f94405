"""A broker that has forgotten a session: data loss, which fails the query or is counted, once."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from headwater.connector.sources.mqtt.options import configure_mqtt
from headwater.connector.spark.lag import lag_of
from headwater.core.errors import DataLossError
from headwater.core.source import Boundedness
from headwater.core.state_store import MemoryStateStore
from headwater.enumerators.mqtt.sessions import MqttSessionSplit, Subscribed, SubscriptionNote
from headwater.readers.mqtt.client import MqttClient
from headwater.readers.mqtt.connection import MqttConnection
from headwater.testing import MicroBatchEngine
from local_mqtt import LocalMqtt
from tests.exactly_once.waiting import until
from tests.readers.mqtt.sessions import configured, receiver_processes

LOST = "has forgotten the session 'c'.*failOnDataLoss=false"


@pytest.fixture
def forgetful() -> Iterator[LocalMqtt]:
    with LocalMqtt() as running:
        yield running


class Query:
    """A query with one session, which has read the first message."""

    def __init__(self, broker: LocalMqtt, folder: Path, **more: str) -> None:
        self._broker = broker
        self.options = {
            "broker": broker.url,
            "topics": "a",
            "clientid": "c",
            "idletimeout": "300ms",
            "receiveridletimeout": "60s",
            "retrydeadline": "20s",
            "statelocation": str(folder),
            **more,
        }
        self._engine = MicroBatchEngine(
            lambda: configure_mqtt(self.options, Boundedness.CONTINUOUS_UNBOUNDED)
        )
        self._engine.run()
        self.publish(1)
        self._engine.run()

    def publish(self, number: int) -> None:
        self._broker.publish([("a", str(number).encode())])

    def run(self) -> None:
        self._engine.run()

    @property
    def numbers(self) -> list[int]:
        return [int(row["payload"]) for row in self._engine.rows]

    @property
    def lost(self) -> int:
        end = json.loads(self._engine.offsets[-1])
        lag = lag_of("q", 0, 0.0, [(end, None)])
        assert lag is not None
        return lag.lost_splits

    def processes(self) -> list[int]:
        # The place of a receiver is that of its queue, whichever query reads it.
        made = configure_mqtt(self.options, Boundedness.CONTINUOUS_UNBOUNDED).source
        return receiver_processes(made)  # type: ignore[arg-type]

    def end_receiver(self) -> None:
        for process in self.processes():
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGTERM)
        until(lambda: not self.processes(), "the receiver to end")

    @property
    def note(self) -> Path:
        (path,) = (Path(self.options["statelocation"]) / "subscriptions").iterdir()
        return path


@pytest.mark.parametrize(
    ("case", "version"),
    [
        ("between runs", "5"),
        ("in the middle of a run", "3.1.1"),
        ("an earlier version's note", "5"),
        ("the note is gone", "3.1.1"),
        *(
            pytest.param(case, version, marks=pytest.mark.long)
            for case, version in (
                ("between runs", "3.1.1"),
                ("in the middle of a run", "5"),
                ("an earlier version's note", "3.1.1"),
                ("the note is gone", "5"),
            )
        ),
    ],
)
def test_a_forgotten_session_is_data_loss_until_the_user_lets_the_query_go_on(
    forgetful: LocalMqtt, tmp_path: Path, version: str, case: str
) -> None:
    query = Query(forgetful, tmp_path, mqttversion=version)
    if case != "in the middle of a run":
        query.end_receiver()
        query.publish(2)
    if case == "an earlier version's note":
        query.note.write_text('{"coming":[],"topics":["a"]}')
    elif case == "the note is gone":
        query.note.unlink()
    forgetful.forget()
    for _ in range(2):
        with pytest.raises(DataLossError, match=LOST):
            query.run()
        query.end_receiver()
    query.options["failondataloss"] = "false"
    query.run()
    query.publish(3)
    query.run()
    query.options["failondataloss"] = "true"
    query.run()
    query.publish(4)
    query.run()
    query.end_receiver()
    assert query.numbers == [1, 3, 4]
    assert query.lost == 1


def deleted(settings: Any) -> None:
    """Delete the session at the broker, as a client with a clean start does."""
    connection = MqttConnection(settings, "c")
    connection.connect(clean=True)
    connection.close()


@pytest.mark.parametrize(
    ("note", "is_leaving", "has_staged", "is_loss"),
    [
        pytest.param(Subscribed(("a",)), False, False, True, id="subscribed"),
        pytest.param(Subscribed(("a",)), True, False, True, id="subscribed and leaving"),
        pytest.param(Subscribed(), True, True, True, id="leaving, and not read to its end"),
        pytest.param(None, True, True, False, id="left"),
        pytest.param(None, False, False, False, id="new"),
        pytest.param(Subscribed((), ("a",)), False, False, False, id="never subscribed"),
    ],
)
def test_a_session_that_was_never_subscribed_or_has_left_is_no_loss(
    forgetful: LocalMqtt, note: Subscribed | None, is_leaving: bool, has_staged: bool, is_loss: bool
) -> None:
    settings = replace(configured(forgetful.url).settings, is_leaving=is_leaving)
    noted = SubscriptionNote(MemoryStateStore(), "queue", "q")
    if note is not None:
        noted.write(note)
    deleted(settings)
    client = MqttClient(settings, noted)
    client.open(MqttSessionSplit("c"))
    if is_loss:
        with pytest.raises(DataLossError, match=LOST):
            client.loss(has_staged=has_staged)
    else:
        assert client.loss(has_staged=has_staged) is None
    client.close()


def test_a_new_query_loses_nothing_by_the_session_of_an_ended_one(forgetful: LocalMqtt) -> None:
    settings = configured(forgetful.url).settings
    store = MemoryStateStore()
    SubscriptionNote(store, "queue", "ended").write(Subscribed(("a",)))
    deleted(settings)
    client = MqttClient(settings, SubscriptionNote(store, "queue", "new"))
    client.open(MqttSessionSplit("c"))
    assert client.loss(has_staged=False) is None
    client.begin()
    client.close()
    assert SubscriptionNote(store, "queue").read() == Subscribed(("a",), query="new")


@pytest.mark.parametrize("version", ["5", "3.1.1"])
def test_a_batch_whose_connection_is_lost_has_lost_its_session(
    forgetful: LocalMqtt, tmp_path: Path, version: str
) -> None:
    settings = replace(configured(forgetful.url, mqttversion=version).settings, is_persistent=False)
    noted = SubscriptionNote(MemoryStateStore(), "queue")
    first = MqttClient(settings, noted)
    first.open(MqttSessionSplit("c"))
    assert first.loss(has_staged=False) is None
    first.begin()
    first.close()
    second = MqttClient(settings, noted)
    second.open(MqttSessionSplit("c"))
    with pytest.raises(DataLossError, match="read again"):
        second.loss(has_staged=False)
    second.close()
