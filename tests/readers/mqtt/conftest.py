"""A real broker, and a source with a session of its own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from headwater.connector.sources.mqtt.options import configure_mqtt
from headwater.connector.sources.mqtt.source import MqttSource
from headwater.core.source import Boundedness
from headwater.enumerators.mqtt.sessions import MqttSessionSplit
from headwater.readers.mqtt.client import MqttClient
from local_mqtt import LocalMqtt


@pytest.fixture(scope="module")
def broker() -> Iterator[LocalMqtt]:
    with LocalMqtt() as running:
        yield running


@pytest.fixture
def source(broker: LocalMqtt, request: pytest.FixtureRequest, tmp_path: Any) -> MqttSource:
    """A source with a session of its own, which exists at the broker."""
    name = request.node.name.replace("[", "-").strip("]")
    given = {
        "broker": broker.url,
        "topics": f"{name}/#",
        "clientid": name,
        "messagekey": "payload:id",
        "idletimeout": "1s",  # a busy broker may pause between two messages
        "receiveridletimeout": "3s",
    }
    made = configure_mqtt({**given, "statelocation": str(tmp_path)}, Boundedness.CONTINUOUS_UNBOUNDED).source
    assert isinstance(made, MqttSource)
    connection = MqttClient(made.settings)
    connection.open(MqttSessionSplit(name))
    connection.begin()
    connection.close()
    return made.for_query("q")
