"""Messages are cut out of what a broker sends wherever it falls apart, and nothing else is touched."""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties, VariableByteIntegers

from headwater.readers.mqtt.client import delivery, key_of
from headwater.readers.mqtt.packets import (
    MalformedPacketError,
    MqttMessage,
    PacketStream,
    acknowledgements,
)
from headwater.readers.mqtt.settings import MQTT_SCHEMA, MqttVersion

PING_ANSWER = b"\xd0\x00"


@dataclass(frozen=True)
class Sent:
    """A message before it is encoded."""

    topic: str
    payload: bytes
    packet_id: int | None
    is_retained: bool
    key: str | None

    def encoded(self, version: MqttVersion) -> bytes:
        flags = (2 if self.packet_id is not None else 0) | self.is_retained
        body = struct.pack(">H", len(self.topic.encode())) + self.topic.encode()
        if self.packet_id is not None:
            body += struct.pack(">H", self.packet_id)
        if version is MqttVersion.V5:
            body += self.properties()
        body += self.payload
        length = bytes(VariableByteIntegers.encode(len(body)))  # type: ignore[no-untyped-call]
        return bytes([0x30 | flags]) + length + body

    def properties(self) -> bytes:
        properties = Properties(PacketTypes.PUBLISH)  # type: ignore[no-untyped-call]
        if self.key is not None:
            properties.MessageExpiryInterval = 60
            properties.UserProperty = [("other", "x"), ("id", self.key)]
        return bytes(properties.pack())  # type: ignore[no-untyped-call]


TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)
MESSAGES = st.builds(
    Sent,
    topic=TEXT,
    payload=st.binary(max_size=10) | st.integers(120, 20_000).map(bytes),
    packet_id=st.none() | st.integers(1, 0xFFFF),
    is_retained=st.booleans(),
    key=st.none() | TEXT,
)


@given(data=st.data(), version=st.sampled_from(MqttVersion))
def test_messages_come_whole_and_in_order_wherever_their_bytes_fall_apart(
    data: st.DataObject, version: MqttVersion
) -> None:
    packets = data.draw(st.lists(MESSAGES | st.just(PING_ANSWER), max_size=8))
    sent = [packet for packet in packets if isinstance(packet, Sent)]
    whole = b"".join(packet.encoded(version) if isinstance(packet, Sent) else packet for packet in packets)
    cuts = data.draw(st.lists(st.integers(0, len(whole)), max_size=8).map(sorted))
    messages: deque[MqttMessage] = deque()
    stream = PacketStream(messages, version)
    others = b"".join(stream.take(piece) for piece in pieces(whole, cuts))
    assert others == PING_ANSWER * (len(packets) - len(sent))
    found = [(each.topic, each.payload, each.packet_id, each.qos, each.is_retained) for each in messages]
    assert found == [
        (each.topic, each.payload, each.packet_id or 0, int(each.packet_id is not None), each.is_retained)
        for each in sent
    ]
    if version is MqttVersion.V5:
        keys = [key_of(message, "property", "id") for message in messages]
        assert keys == [None if each.key is None else each.key.encode() for each in sent]


def pieces(whole: bytes, cuts: list[int]) -> Iterator[bytes]:
    for begin, end in zip([0, *cuts], [*cuts, len(whole)], strict=True):
        yield whole[begin:end]


@given(st.binary(max_size=40), st.sampled_from(MqttVersion))
def test_any_bytes_are_packets_or_refused(received: bytes, version: MqttVersion) -> None:
    messages: deque[MqttMessage] = deque()
    stream = PacketStream(messages, version)
    try:
        for at in range(len(received)):
            stream.take(received[at : at + 1])
    except MalformedPacketError:
        pass
    for message in messages:
        assert len(message.topic.encode()) + len(message.payload) <= len(received)
        key_of(message, "property", "id")


@pytest.mark.parametrize(
    ("received", "says"),
    [
        (b"\x36\x02\x00\x00", "quality 3"),
        (b"\x34\x05\x00\x00\x00\x01\x00", "quality 2"),
        (b"\x30\x02\x00\x09", "cannot be read"),
        (b"\x30\x02\x00\x09" + b"a" * 40, "ends before its payload"),
        (b"\x30\x03\x00\x01\xff", "cannot be read"),
        (b"\x30\xff\xff\xff\xff\x01", "more than four bytes"),
    ],
)
def test_a_message_that_cannot_be_read_is_refused(received: bytes, says: str) -> None:
    with pytest.raises(MalformedPacketError, match=says):
        PacketStream(deque(), MqttVersion.V5).take(received)


@given(st.lists(MESSAGES, min_size=1, max_size=5))
def test_messages_become_rows_with_what_acknowledges_them(sent: list[Sent]) -> None:
    messages: deque[MqttMessage] = deque()
    PacketStream(messages, MqttVersion.V5).take(b"".join(each.encoded(MqttVersion.V5) for each in sent))
    made = delivery(list(messages), None)
    assert made.rows.schema == MQTT_SCHEMA
    assert made.rows.column("payload").to_pylist() == [each.payload for each in sent]
    assert [packet_id for packet_id, qos in made.tokens if qos] == [
        each.packet_id for each in sent if each.packet_id is not None
    ]


def test_acknowledgements_are_as_the_protocol_has_them() -> None:
    assert acknowledgements([1, 0x0203]) == b"\x40\x02\x00\x01\x40\x02\x02\x03"
