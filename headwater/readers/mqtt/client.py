"""A session at an MQTT broker (version 5), with acknowledgements by hand."""

from __future__ import annotations

import contextlib
import json
import ssl
import threading
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
from paho.mqtt.client import Client, ConnectFlags, DisconnectFlags, MQTTMessage
from paho.mqtt.enums import CallbackAPIVersion, MQTTProtocolVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties
from paho.mqtt.reasoncodes import ReasonCode
from paho.mqtt.subscribeoptions import SubscribeOptions

from headwater.core.errors import AuthenticationError, AuthorizationError, SourceError, TransientSourceError
from headwater.core.secrets import resolved_secret
from headwater.core.split import Split
from headwater.readers.mqtt.settings import MQTT_SCHEMA, MqttSettings
from headwater.readers.runtime.staging.staged_client import Delivery, StagedClient

_NEVER_EXPIRES: Final = 0xFFFFFFFF
_LINGER_STEP_S: Final = 0.005
_LINGER_STEPS: Final = 20
"""Messages that come together are one segment: as long as one more comes in each step, and in so many steps.

Where the broker sends few before it wants an acknowledgement, waiting for more would slow it down.
"""
_NO_TOPIC: Final = "headwater/nothing"
_TIME: Final = pa.timestamp("us", tz="UTC")
_ANSWER_S: Final = 30
_GOODBYE_S: Final = 5
_AUTHENTICATION: Final = frozenset({134, 140})
_AUTHORIZATION: Final = frozenset({135, 138})

Token = tuple[int, int]
"""Packet id and quality of service: what an acknowledgement needs."""


class _EncryptedSocket(ssl.SSLSocket):
    """Closes itself where no connection comes about: paho forgets it then."""

    def do_handshake(self, block: bool = False) -> None:
        try:
            super().do_handshake(block)
        except OSError:
            self.close()
            raise


@dataclass(frozen=True)
class MqttClients:
    """Makes the connections of one query.

    Attributes:
        settings: of the connections.
    """

    settings: MqttSettings

    def __call__(self) -> MqttClient:
        return MqttClient(self.settings)


class MqttClient(StagedClient[Token]):
    """One connection to a broker.

    Two threads: paho's own runs the callbacks ``_on_...``, a fetcher's the public methods, and any thread
    `wake_up`. A new connection with the same client id makes the broker close the connection that had the
    session before.

    Args:
        settings: what the user says.
    """

    def __init__(self, settings: MqttSettings) -> None:
        self._settings = settings
        self._client: Client | None = None
        self._has_acknowledged = False
        # Guards the fields below: callbacks write them, and the fetcher waits for changes.
        self._changed = threading.Condition()
        self._messages: deque[MQTTMessage] = deque()
        self._is_subscribed = False
        self._is_heard = False
        self._refused: ReasonCode | None = None
        self._lost: ReasonCode | None = None
        self._is_woken = False

    def open(self, split: Split) -> None:
        settings = self._settings
        client = Client(
            CallbackAPIVersion.VERSION2, split.path[0], protocol=MQTTProtocolVersion.MQTTv5, manual_ack=True
        )
        client.on_connect = self._on_connect
        client.on_disconnect = self._on_disconnect
        client.on_message = self._on_message
        client.on_subscribe = self._on_subscribe
        client.on_unsubscribe = self._on_unsubscribe
        if settings.username is not None:
            password = settings.password
            client.username_pw_set(
                resolved_secret(settings.username, "option 'username'"),
                None if password is None else resolved_secret(password, "option 'password'"),
            )
        if settings.tls is not None:
            context = settings.tls.context()
            context.sslsocket_class = _EncryptedSocket
            client.tls_set_context(context)
        properties = Properties(PacketTypes.CONNECT)  # type: ignore[no-untyped-call]
        properties.SessionExpiryInterval = _NEVER_EXPIRES if settings.is_persistent else 0
        properties.ReceiveMaximum = settings.in_flight
        # Before connecting: `close` ends a client that came half-way too.
        self._client = client
        try:
            client.connect(
                settings.host, settings.port, clean_start=not settings.is_persistent, properties=properties
            )
        except ssl.SSLCertVerificationError as error:
            raise AuthenticationError(
                f"the certificate of the MQTT broker at {settings.host}:{settings.port} is not trusted: "
                f"{error}; check 'tlsCa'",
                source="mqtt",
                split=split.split_id,
            ) from error
        except OSError as error:
            raise TransientSourceError(
                f"no MQTT broker at {settings.host}:{settings.port}: {error}",
                source="mqtt",
                split=split.split_id,
            ) from error
        client.loop_start()
        self._wait_until_subscribed(split)

    def poll(self, timeout_ms: int, most: int) -> Delivery[Token] | None:
        with self._changed:
            self._changed.wait_for(
                lambda: self._messages or self._lost is not None or self._is_woken, timeout_ms / 1000
            )
            self._is_woken = False
            # Messages first: those that came before the connection was lost are still good.
            if not self._messages:
                if self._lost is not None:
                    raise TransientSourceError(
                        f"the connection to the MQTT broker is lost: {self._lost}", source="mqtt"
                    )
                return None
        self._linger(most)
        # Without the lock: callbacks only append, and this thread alone takes.
        taken = [self._messages.popleft() for _ in range(min(most, len(self._messages)))]
        return _delivery(taken, self._settings.key)

    def _linger(self, most: int) -> None:
        """Wait as long as more messages come, without being told of each."""
        there = 0
        for _ in range(_LINGER_STEPS):
            if there == len(self._messages) or len(self._messages) >= most:
                return
            there = len(self._messages)
            time.sleep(_LINGER_STEP_S)

    def acknowledge(self, tokens: Sequence[Token]) -> None:
        assert self._client is not None
        self._has_acknowledged = True
        for packet_id, qos in tokens:
            # Messages of quality 0 are not acknowledged in MQTT.
            if qos:
                self._client.ack(packet_id, qos)

    def wake_up(self) -> None:
        with self._changed:
            self._is_woken = True
            self._changed.notify_all()

    def close(self) -> None:
        client = self._client
        self._client = None
        if client is None:
            return
        if self._has_acknowledged and self._lost is None:
            self._wait_until_heard(client)
        # In this order: the loop's thread sends the goodbye.
        client.disconnect()
        client.loop_stop()

    def _wait_until_heard(self, client: Client) -> None:
        """Wait until the broker has read all acknowledgements.

        A socket that is closed while messages still arrive may throw away what was sent last. The broker
        answers in order: when it answers the end of a subscription that never was, it has read what came
        before.
        """
        client.unsubscribe(_NO_TOPIC)
        with self._changed:
            self._changed.wait_for(lambda: self._is_heard or self._lost is not None, _GOODBYE_S)

    def _subscribe(self, client: Client) -> None:
        """Subscribe to all topics.

        Those that the session has already do not change, and bring no retained message again.
        """
        options = SubscribeOptions(qos=1, retainHandling=SubscribeOptions.RETAIN_SEND_IF_NEW_SUB)
        client.subscribe([(topic, options) for topic in self._settings.topics])

    def _wait_until_subscribed(self, split: Split) -> None:
        with self._changed:
            is_answered = self._changed.wait_for(
                lambda: self._is_subscribed or self._lost is not None or self._refused is not None,
                _ANSWER_S,
            )
            refused = self._refused or (None if self._is_subscribed else self._lost)
        if refused is not None:
            raise self._refusal(refused, split)
        if not is_answered:
            raise TransientSourceError("the MQTT broker does not answer", source="mqtt", split=split.split_id)

    def _refusal(self, reason: ReasonCode, split: Split) -> SourceError:
        said = f"the MQTT broker at {self._settings.host}:{self._settings.port} says: {reason}"
        if reason.value in _AUTHENTICATION:
            return AuthenticationError(
                f"{said}; check username and password", source="mqtt", split=split.split_id
            )
        if reason.value in _AUTHORIZATION:
            topics = ", ".join(self._settings.topics)
            return AuthorizationError(
                f"{said}; the user may not subscribe to {topics}", source="mqtt", split=split.split_id
            )
        return SourceError(said, source="mqtt", split=split.split_id)

    def _on_connect(
        self,
        client: Client,
        userdata: Any,
        flags: ConnectFlags,
        reason: ReasonCode,
        properties: Properties | None,
    ) -> None:
        if reason.is_failure:
            self._note_refusal(reason)
        else:
            self._subscribe(client)

    def _on_subscribe(
        self,
        client: Client,
        userdata: Any,
        packet_id: int,
        reasons: list[ReasonCode],
        properties: Properties | None,
    ) -> None:
        if failed := [reason for reason in reasons if reason.is_failure]:
            self._note_refusal(failed[0])
        with self._changed:
            self._is_subscribed = not failed
            self._changed.notify_all()

    def _on_unsubscribe(
        self,
        client: Client,
        userdata: Any,
        packet_id: int,
        reasons: list[ReasonCode],
        properties: Properties | None,
    ) -> None:
        with self._changed:
            self._is_heard = True
            self._changed.notify_all()

    def _on_disconnect(
        self,
        client: Client,
        userdata: Any,
        flags: DisconnectFlags,
        reason: ReasonCode,
        properties: Properties | None,
    ) -> None:
        with self._changed:
            # The first word counts: the broker says why, and then the connection is closed.
            if self._lost is None:
                self._lost = reason
            self._changed.notify_all()
        # So that paho does not connect anew by itself: another attempt may have the session now. This one
        # ends with an error, and the next one takes the session over.
        client.disconnect()

    def _on_message(self, client: Client, userdata: Any, message: MQTTMessage) -> None:
        # The lock is taken, and the fetcher told, only when it may be waiting: with the first message.
        self._messages.append(message)
        if len(self._messages) == 1:
            with self._changed:
                self._changed.notify_all()

    def _note_refusal(self, reason: ReasonCode) -> None:
        with self._changed:
            self._refused = reason
            self._changed.notify_all()


def _delivery(taken: list[MQTTMessage], key: tuple[str, str] | None) -> Delivery[Token]:
    # paho notes when a message came on the clock of `time.monotonic`.
    since_1970 = time.time() - time.monotonic()
    rows = pa.RecordBatch.from_arrays(
        [
            pa.array([message.topic for message in taken], pa.string()),
            pa.array([message.payload for message in taken], pa.binary()),
            pa.array([message.qos for message in taken], pa.int32()),
            pa.array([message.retain for message in taken], pa.bool_()),
            pa.array([int((message.timestamp + since_1970) * 1e6) for message in taken], _TIME),
        ],
        schema=MQTT_SCHEMA,
    )
    return Delivery(
        rows,
        [None] * len(taken) if key is None else [key_of(message, *key) for message in taken],
        [(message.mid, message.qos) for message in taken],
    )


def key_of(message: MQTTMessage, kind: str, name: str) -> bytes | None:
    """Return the key of a message; None if it has none: a second delivery of it is not noticed."""
    if kind == "property":
        pairs = getattr(message.properties, "UserProperty", [])
        return next((value.encode() for found, value in pairs if found == name), None)
    # A payload that is no JSON, or is nested too deep to be read, has no key.
    with contextlib.suppress(ValueError, RecursionError):
        value = json.loads(message.payload)
        for step in name.split("."):
            value = value.get(step) if isinstance(value, dict) else None
        return None if value is None else json.dumps(value, sort_keys=True).encode()
    return None
