"""Messages cut out of the bytes that a broker sends, and its reason codes as errors."""

from __future__ import annotations

import struct
import time
from collections import deque
from collections.abc import Iterable
from typing import Final, NamedTuple

from paho.mqtt.enums import MQTTErrorCode
from paho.mqtt.reasoncodes import ReasonCode

from headwater.core.errors import (
    AuthenticationError,
    AuthorizationError,
    QueueTakenError,
    SourceError,
    TransientSourceError,
)
from headwater.core.varints import read_varint
from headwater.readers.mqtt.settings import MqttSettings, MqttVersion

_PUBLISH: Final = 3
_MOST_LENGTH_BYTES: Final = 4
_PUBACK: Final = struct.Struct(">BBH")


class MalformedPacketError(Exception):
    """The broker has sent a packet that MQTT does not allow."""


class MqttMessage(NamedTuple):
    """A message as it came.

    Attributes:
        topic: where it was published.
        payload: its content.
        packet_id: named by its acknowledgement; 0 with quality of service 0.
        qos: quality of service.
        is_retained: whether it is one that the broker kept for new subscriptions.
        received_us: when its bytes were read: microseconds since 1970.
        properties: of MQTT 5, as they are encoded.
    """

    topic: str
    payload: bytes
    packet_id: int
    qos: int
    is_retained: bool
    received_us: int
    properties: bytes


class PacketStream:
    """The bytes of one connection, packet by packet. Used by one thread.

    paho takes longer for a message than all the rest of its way: it reads each packet in pieces, and makes
    objects with a table of all properties there are, which wait by the thousand for their segment. So
    messages are cut out here, many at a time, and paho has the few other packets.

    Args:
        messages: takes them, in order.
        version: of the protocol.
    """

    def __init__(self, messages: deque[MqttMessage], version: MqttVersion) -> None:
        self._messages = messages
        self._has_properties = version is MqttVersion.V5
        self._unread = bytearray()
        self._wanted = 0

    def take(self, received: bytes) -> bytes:
        """Take in received bytes; return the packets in them that are no messages, each as a whole.

        Raises:
            MalformedPacketError: a message cannot be read.
        """
        self._unread += received
        # The pieces of a large message are looked at only once it is whole.
        if len(self._unread) < self._wanted:
            return b""
        now_us = time.time_ns() // 1000
        # Slices of bytes are faster than those of a bytearray.
        data = bytes(self._unread)
        others = bytearray()
        begin = 0
        while True:
            body, end = _bounds(data, begin)
            if end > len(data):
                break
            if data[begin] >> 4 == _PUBLISH:
                self._messages.append(self._message(data, begin, body, end, now_us))
            else:
                others += data[begin:end]
            begin = end
        del self._unread[:begin]
        self._wanted = end - begin
        return bytes(others)

    def _message(self, data: bytes, begin: int, body: int, end: int, now_us: int) -> MqttMessage:
        flags = data[begin]
        qos = flags >> 1 & 3
        # Subscriptions are for quality 1 at most.
        if qos > 1:
            raise MalformedPacketError(f"a message of quality {qos}, which nobody has asked for")
        try:
            topic_end = body + 2 + (data[body] << 8 | data[body + 1])
            topic = str(data[body + 2 : topic_end], "utf-8")
            packet_id = 0
            at = topic_end
            if qos:
                packet_id = data[at] << 8 | data[at + 1]
                at += 2
            payload = at
            if self._has_properties:
                first, length = _number(data, at)
                payload = first + length
        except (IndexError, UnicodeDecodeError) as error:
            raise MalformedPacketError(f"a message that cannot be read: {error}") from error
        if payload > end:
            raise MalformedPacketError("a message that ends before its payload begins")
        is_retained = bool(flags & 1)
        return MqttMessage(topic, data[payload:end], packet_id, qos, is_retained, now_us, data[at:payload])


def acknowledgements(packet_ids: Iterable[int]) -> bytes:
    """Return the packets that acknowledge messages of quality 1."""
    return b"".join([_PUBACK.pack(0x40, 2, packet_id) for packet_id in packet_ids])


def _bounds(data: bytes, begin: int) -> tuple[int, int]:
    """Return where the body of a packet begins, and its end; behind the data if that is not known yet."""
    try:
        body, length = _number(data, begin + 1)
    except IndexError:
        return len(data), len(data) + 1
    return body, body + length


def _number(data: bytes, at: int) -> tuple[int, int]:
    """Return where a number of one to four bytes ends, and the number.

    Raises:
        IndexError: it is not whole.
        MalformedPacketError: it is too long.
    """
    try:
        number, end = read_varint(data, at, _MOST_LENGTH_BYTES)
    except ValueError:
        raise MalformedPacketError("a length of more than four bytes") from None
    return end, number


_AUTHENTICATION: Final = frozenset({134, 140})
_AUTHORIZATION: Final = frozenset({135, 138})
_BUSY: Final = frozenset({136, 137, 139})
"""Server unavailable, busy, shutting down."""
_SESSION_TAKEN_OVER: Final = 142


def loss(reason: ReasonCode | MQTTErrorCode, settings: MqttSettings, client_id: str) -> SourceError:
    """Return the error of a connection that is lost.

    Args:
        reason: of the broker, or of paho.
        settings: of the connection.
        client_id: names the session.
    """
    if isinstance(reason, ReasonCode):
        if reason.value == _SESSION_TAKEN_OVER:
            return QueueTakenError(
                f"another client has connected to the MQTT broker as {client_id!r} (session taken over)",
                source="mqtt",
                split=client_id,
            )
        if reason.value in _AUTHENTICATION | _AUTHORIZATION:
            return refusal(reason, settings, client_id)
    message = reason.getName() if isinstance(reason, ReasonCode) else reason.name
    return TransientSourceError(
        f"the connection to the MQTT broker is lost: {message}", source="mqtt", split=client_id
    )


def refusal(reason: ReasonCode, settings: MqttSettings, client_id: str) -> SourceError:
    """Return the error of a request that the broker refuses."""
    message = f"the MQTT broker at {settings.host}:{settings.port} says: {reason}"
    if reason.value in _AUTHENTICATION:
        return AuthenticationError(f"{message}; check username and password", source="mqtt", split=client_id)
    if reason.value in _AUTHORIZATION:
        topics = ", ".join(settings.topics)
        return AuthorizationError(
            f"{message}; the user may not subscribe to {topics}", source="mqtt", split=client_id
        )
    if reason.value in _BUSY:
        return TransientSourceError(message, source="mqtt", split=client_id)
    return SourceError(message, source="mqtt", split=client_id)
