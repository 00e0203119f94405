"""What paho reads and sends through the socket that keeps messages from it."""

from __future__ import annotations

import socket
from collections import deque
from collections.abc import Iterator

import pytest

from headwater.readers.mqtt.broker_client import BufferedSocket
from headwater.readers.mqtt.packets import MqttMessage, PacketStream
from headwater.readers.mqtt.settings import MqttVersion

MESSAGE = b"\x32\x06\x00\x01a\x00\x07!"
ACCEPTED = b"\x20\x02\x00\x00"


class Connected:
    """A socket, and the broker's end of it."""

    def __init__(self) -> None:
        below, self.broker = socket.socketpair()
        below.setblocking(False)
        self.messages: deque[MqttMessage] = deque()
        self.socket = BufferedSocket(below, PacketStream(self.messages, MqttVersion.V3_1_1))


@pytest.fixture
def connected() -> Iterator[Connected]:
    made = Connected()
    yield made
    made.socket.close()
    made.broker.close()


def test_packets_that_are_no_messages_are_read_in_pieces(connected: Connected) -> None:
    connected.broker.sendall(ACCEPTED + MESSAGE)
    assert connected.socket.recv(1) + connected.socket.recv(9) == ACCEPTED
    assert [message.payload for message in connected.messages] == [b"!"]
    assert not connected.socket.is_drained
    with pytest.raises(BlockingIOError):
        connected.socket.recv(1)
    assert connected.socket.is_drained
    connected.broker.close()
    assert connected.socket.recv(1) == b""


def test_messages_tell_that_the_broker_is_there(connected: Connected) -> None:
    for sent in (MESSAGE * 3, MESSAGE[:4], MESSAGE[4:]):
        connected.broker.sendall(sent)
        assert connected.socket.recv(1) + connected.socket.recv(1) == b"\xd0\x00", "an answer to a ping"
    assert len(connected.messages) == 4


def test_what_is_sent_goes_when_it_is_flushed(connected: Connected) -> None:
    assert connected.socket.send(b"\x40\x02\x00\x07") == 4
    assert connected.socket.has_unsent
    connected.socket.flush()
    assert not connected.socket.has_unsent
    assert connected.broker.recv(9) == b"\x40\x02\x00\x07"
