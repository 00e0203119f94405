"""A session at an MQTT broker with manual acknowledgements, and its messages as rows with keys."""

from __future__ import annotations

import contextlib
import json
import struct
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Final

import pyarrow as pa
from paho.mqtt.exception import MQTTException
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from headwater.core.errors import DataLossError, SourceError
from headwater.core.split import Split
from headwater.core.state_store import MemoryStateStore
from headwater.enumerators.mqtt.sessions import Subscribed, SubscriptionNote
from headwater.readers.mqtt.connection import MqttConnection
from headwater.readers.mqtt.packets import MqttMessage
from headwater.readers.mqtt.settings import MQTT_SCHEMA, MqttSettings
from headwater.readers.runtime.staging.staged_client import Delivery, StagedClient

_LINGER_STEP_S: Final = 0.005
_LINGER_STEPS: Final = 20
"""Messages that come together are one segment: as long as one more comes in each step, and in so many steps.

Where the broker sends few before it wants an acknowledgement, waiting for more would slow it down.
"""

_KEY_ENCODER: Final = json.JSONEncoder(sort_keys=True)

Token = tuple[int, int]
"""Packet id and quality of service, which an acknowledgement needs."""


@dataclass(frozen=True)
class MqttClients:
    """Makes the connections of one session.

    Attributes:
        settings: of the connections.
        note: of the session's subscriptions; None: each connection has one of its own, in memory. It follows
            from the session, and does not tell one from another.
    """

    settings: MqttSettings
    note: SubscriptionNote | None = field(default=None, compare=False)

    def __call__(self) -> MqttClient:
        return MqttClient(self.settings, self.note)


class MqttClient(StagedClient[Token]):
    """One connection to a broker.

    A new connection with the same client id makes the broker close the connection that had the session
    before.

    Args:
        settings: the user's settings.
        note: of the session's subscriptions.
    """

    def __init__(self, settings: MqttSettings, note: SubscriptionNote | None = None) -> None:
        self._settings = settings
        self._note = note or SubscriptionNote(MemoryStateStore(), "")
        self._connection: MqttConnection | None = None
        self._client_id = ""
        self._unacknowledged = 0
        self._has_acknowledged = False

    def open(self, split: Split) -> None:
        self._client_id = split.path[0]
        self._connection = MqttConnection(self._settings, self._client_id)
        self._connection.connect(clean=not self._settings.is_persistent)

    def loss(self, *, has_staged: bool) -> Delivery[Token] | None:
        connection = self._connection
        assert connection is not None
        settings = self._settings
        note = self._note.read()
        if not self._is_forgotten(note, has_staged=has_staged):
            return None
        # At once: the broker has a session again, by this connection, and says so to the next one.
        noted = note or Subscribed(settings.topics)
        self._note.write(replace(noted, is_lost=True))
        text = (
            f"the MQTT broker at {settings.host}:{settings.port} has forgotten the session "
            f"{self._client_id!r}, and with it the messages that it kept while nothing was connected"
        )
        if settings.fail_on_data_loss:
            raise DataLossError(f"{text}. {self._remedy}", source="mqtt", split=self._client_id)
        return Delivery(pa.RecordBatch.from_pylist([], MQTT_SCHEMA), [], [], f"{text}; this is counted")

    def begin(self) -> None:
        """Subscribe to the new filters, then end the old ones.

        In this order: no message falls between the two. One that comes by both is told by its key, since both
        belong to this session.
        """
        connection = self._connection
        assert connection is not None
        topics = () if self._settings.is_leaving else self._settings.topics
        note = self._note.read()
        subscribed = self._subscribed(note, session_present=connection.session_present)
        coming = tuple(topic for topic in topics if topic not in subscribed.topics)
        if coming:
            # Before it begins: a receiver that reads the note after a crash ends these too if it must.
            self._note.write(Subscribed(subscribed.topics, (*subscribed.coming, *coming)))
        # Of a session that changes, retained messages came with its earlier filters.
        is_new = not subscribed.topics
        if continued := [topic for topic in topics if is_new or topic in subscribed.topics]:
            connection.subscribe(continued, retained=True)
        if fresh := [topic for topic in topics if topic not in continued]:
            connection.subscribe(fresh, retained=False)
        if stale := [topic for topic in (*subscribed.topics, *subscribed.coming) if topic not in topics]:
            connection.unsubscribe(stale)
        if note != Subscribed(topics, query=self._note.query):
            self._note.write(Subscribed(topics))

    def poll(self, timeout_ms: int, most: int) -> Delivery[Token] | None:
        connection = self._connection
        assert connection is not None
        connection.receive(timeout_ms / 1000, most)
        if not connection.messages:
            return None
        connection.linger(_LINGER_STEP_S, _LINGER_STEPS, most)
        messages = connection.messages
        batch = [messages.popleft() for _ in range(min(most, len(messages)))]
        self._unacknowledged += sum(message.qos > 0 for message in batch)
        return delivery(batch, self._settings.key)

    def acknowledge(self, tokens: Sequence[Token]) -> None:
        assert self._connection is not None
        # Messages of quality 0 are not acknowledged in MQTT.
        packet_ids = [packet_id for packet_id, qos in tokens if qos]
        self._connection.acknowledge(packet_ids)
        self._unacknowledged -= len(packet_ids)
        self._has_acknowledged = True

    def wake_up(self) -> None:
        connection = self._connection
        if connection is not None:
            connection.wake_up()

    def is_drained(self) -> bool:
        connection = self._connection
        assert connection is not None
        if not self._settings.is_leaving or self._unacknowledged or connection.messages:
            return False
        # The broker has read all acknowledgements, and sent the messages that it had kept back.
        connection.wait_until_heard()
        return not connection.messages

    def retire(self) -> None:
        self.close()
        # The note first: a session that is noted and gone was forgotten by its broker.
        self._note.delete()
        # A clean start deletes the session, and the new one ends with the connection.
        last = MqttConnection(self._settings, self._client_id)
        try:
            last.connect(clean=True)
        finally:
            last.close()

    def close(self) -> None:
        connection = self._connection
        self._connection = None
        if connection is None:
            return
        if self._has_acknowledged and not connection.is_lost:
            # A socket that is closed while messages arrive may throw away the bytes that were sent last.
            # If the connection is lost meanwhile, their messages come again.
            with suppress(SourceError):
                connection.wait_until_heard()
        connection.close()

    @property
    def _remedy(self) -> str:
        if not self._settings.is_persistent:
            return "A batch's session ends with its connection, which was lost: read again"
        return (
            "Either the broker was started again without its sessions (mosquitto: 'persistence true'), or "
            "they expire there, or another client has deleted this one. With option failOnDataLoss=false the "
            "query begins a new session, and counts the loss"
        )

    def _is_forgotten(self, note: Subscribed | None, *, has_staged: bool) -> bool:
        """Whether the session was there for this query, and is not.

        A session that is to leave and has no note was deleted by an earlier receiver.
        """
        connection = self._connection
        assert connection is not None
        if note is not None and note.is_lost:
            return True
        if connection.session_present:
            return False
        if note is None:
            return has_staged and not self._settings.is_leaving
        # A session may be one that another query has left, or subscribed to nothing yet.
        is_own = note.query in (None, self._note.query)
        return has_staged or (is_own and bool(note.topics or self._settings.is_leaving))

    def _subscribed(self, note: Subscribed | None, *, session_present: bool) -> Subscribed:
        """Return the subscriptions of the session.

        One that the broker knows and that has no note is of a time before notes: it had the same topics.
        """
        if not session_present or (note is not None and note.is_lost):
            return Subscribed()
        return Subscribed(self._settings.topics) if note is None else note


def delivery(messages: Sequence[MqttMessage], key: tuple[str, str] | None) -> Delivery[Token]:
    """Return messages as they are staged.

    Args:
        messages: at least one.
        key: where the key of a message is, as `MqttSettings.key` has it.
    """
    topics, payloads, packet_ids, qualities, retained, received, _ = zip(*messages, strict=True)
    columns = (topics, payloads, qualities, retained, received)
    rows = pa.RecordBatch.from_arrays(
        [pa.array(column, field.type) for column, field in zip(columns, MQTT_SCHEMA, strict=True)],
        schema=MQTT_SCHEMA,
    )
    return Delivery(
        rows,
        [None] * len(messages) if key is None else [key_of(message, *key) for message in messages],
        list(zip(packet_ids, qualities, strict=True)),
    )


def key_of(message: MqttMessage, kind: str, name: str) -> bytes | None:
    """Return the key of a message; None if it has none: a second delivery of it is not noticed."""
    return (
        _of_payload(message.payload, name) if kind == "payload" else _of_properties(message.properties, name)
    )


def _of_payload(payload: bytes, name: str) -> bytes | None:
    # A payload that is no JSON, or is nested too deep to be read, has no key.
    with contextlib.suppress(ValueError, RecursionError):
        value = json.loads(payload)
        for step in name.split("."):
            value = value.get(step) if isinstance(value, dict) else None
        return None if value is None else _KEY_ENCODER.encode(value).encode()
    return None


def _of_properties(encoded: bytes, name: str) -> bytes | None:
    properties = Properties(PacketTypes.PUBLISH)  # type: ignore[no-untyped-call]
    # Properties that cannot be read have no key.
    with contextlib.suppress(MQTTException, ValueError, LookupError, struct.error):
        properties.unpack(encoded)  # type: ignore[no-untyped-call]
        pairs = getattr(properties, "UserProperty", [])
        return next((value.encode() for key, value in pairs if key == name), None)
    return None
