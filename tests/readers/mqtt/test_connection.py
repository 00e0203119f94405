"""What a broker says last counts, whatever the client does just then."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Iterator

import pytest

from headwater.connector.sources.mqtt.options import configure_mqtt
from headwater.connector.sources.mqtt.source import MqttSource
from headwater.core.errors import AuthorizationError, QueueTakenError, SourceError, TransientSourceError
from headwater.core.source import Boundedness
from headwater.readers.mqtt.connection import MqttConnection
from tests.patience import PATIENCE_S

_ACCEPTED = b"\x20\x03\x00\x00\x00"
_RESET = struct.pack("ii", 1, 0)
"""SO_LINGER of no time: the connection is reset, as by a broker that closes it with bytes unread."""


class Broker:
    """Lets one client in, tells it goodbye when asked, and resets the connection."""

    def __init__(self) -> None:
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = self._listening.getsockname()[1]
        self._thread = threading.Thread(target=self._let_in)
        self._thread.start()

    def say_last(self, packets: bytes) -> None:
        self._thread.join(PATIENCE_S)
        self._peer.sendall(packets)
        self._peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        self._peer.close()

    def close(self) -> None:
        self._listening.close()

    def _let_in(self) -> None:
        self._peer = self._listening.accept()[0]
        self._peer.recv(1 << 12)
        self._peer.sendall(_ACCEPTED)


@pytest.fixture
def scripted() -> Iterator[Broker]:
    broker = Broker()
    yield broker
    broker.close()


@pytest.mark.parametrize(
    ("reason", "error"),
    [(0x8E, QueueTakenError), (0x87, AuthorizationError), (0x8B, TransientSourceError)],
    ids=["session taken over", "not authorized", "server shutting down"],
)
def test_why_a_broker_ends_a_connection_is_read_although_sending_fails_first(
    scripted: Broker, reason: int, error: type[SourceError]
) -> None:
    url = f"mqtt://127.0.0.1:{scripted.port}"
    source = configure_mqtt({"broker": url, "topics": "lamps/#"}, Boundedness.BOUNDED).source
    assert isinstance(source, MqttSource)
    connection = MqttConnection(source.settings, "client")
    try:
        connection.connect(clean=True)
        message = b"\x32\x09\x00\x01a\x00\x07\x00!!!"
        scripted.say_last(message + bytes([0xE0, 2, reason, 0]))
        connection.acknowledge([1])
        connection.receive(5, 10)
        assert [each.payload for each in connection.messages] == [b"!!!"]
        connection.messages.clear()
        with pytest.raises(error):
            connection.receive(5, 10)
    finally:
        connection.close()
