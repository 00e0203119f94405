"""One connection to a broker, whose network the thread that uses it drives."""

from __future__ import annotations

import select
import socket
import ssl
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any, Final

from paho.mqtt.client import ConnectFlags, DisconnectFlags, MQTTMessage
from paho.mqtt.enums import CallbackAPIVersion, MQTTErrorCode, MQTTProtocolVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties
from paho.mqtt.reasoncodes import ReasonCode
from paho.mqtt.subscribeoptions import SubscribeOptions

from headwater.core.errors import AuthenticationError, AuthorizationError, SourceError, TransientSourceError
from headwater.core.secrets import resolved_secret
from headwater.readers.mqtt.buffered_socket import BufferedClient
from headwater.readers.mqtt.settings import MqttSettings, MqttVersion
from headwater.readers.runtime.staging.staged_client import QueueTakenError

_PROTOCOLS: Final = {
    MqttVersion.V5: MQTTProtocolVersion.MQTTv5,
    MqttVersion.V3_1_1: MQTTProtocolVersion.MQTTv311,
}
_NEVER_EXPIRES: Final = 0xFFFFFFFF
_NO_TOPIC: Final = "headwater/nothing"
_ANSWER_S: Final = 30
_STEP_S: Final = 1.0
"""How often paho looks whether a ping is due."""
_AUTHENTICATION: Final = frozenset({134, 140})
_AUTHORIZATION: Final = frozenset({135, 138})
_BUSY: Final = frozenset({136, 137, 139})
"""Server unavailable, busy, shutting down."""
_SESSION_TAKEN_OVER: Final = 142


class _EncryptedSocket(ssl.SSLSocket):
    """Closes itself where no connection comes about: paho forgets it then."""

    def do_handshake(self, block: bool = False) -> None:
        try:
            super().do_handshake(block)
        except OSError:
            self.close()
            raise


class MqttConnection:
    """A session's connection.

    No thread of its own: a second one would take turns with the caller's at every message, and with Python's
    lock. Messages come in while a method waits. Any thread may call `wake_up`.

    Attributes:
        messages: what came and was not taken yet, in order.
        session_present: whether the broker knew the session.

    Args:
        settings: what the user says.
        client_id: names the session.
    """

    def __init__(self, settings: MqttSettings, client_id: str) -> None:
        self.messages: deque[MQTTMessage] = deque()
        self.session_present = False
        self._settings = settings
        self._client_id = client_id
        self._client: BufferedClient | None = None
        self._answer: Sequence[ReasonCode] | None = None
        self._lost: ReasonCode | MQTTErrorCode | None = None
        # A byte in it makes `receive` return: `wake_up` comes from another thread.
        self._alarm, self._alarm_bell = socket.socketpair()
        self._alarm.setblocking(False)
        self._alarm_bell.setblocking(False)

    def connect(self, *, clean: bool) -> None:
        """Connect, and wait until the broker lets us in.

        Args:
            clean: whether the session begins anew, and ends with the connection.

        Raises:
            TransientSourceError: the broker is away.
            SourceError: it refuses us.
        """
        # First: `close` ends a client that came half-way too.
        self._client = client = self._made(clean=clean)
        settings = self._settings
        try:
            if settings.version is MqttVersion.V5:
                properties = Properties(PacketTypes.CONNECT)  # type: ignore[no-untyped-call]
                properties.SessionExpiryInterval = 0 if clean else _NEVER_EXPIRES
                properties.ReceiveMaximum = settings.in_flight
                client.connect(settings.host, settings.port, clean_start=clean, properties=properties)
            else:
                client.connect(settings.host, settings.port)
        except ssl.SSLCertVerificationError as error:
            raise AuthenticationError(
                f"the certificate of the MQTT broker at {self._where} is not trusted: {error}; check 'tlsCa'",
                source="mqtt",
                split=self._client_id,
            ) from error
        except OSError as error:
            raise TransientSourceError(
                f"no MQTT broker at {self._where}: {error}", source="mqtt", split=self._client_id
            ) from error
        self._wait_for_answer()

    def subscribe(self, topics: Iterable[str], *, retained: bool) -> None:
        """Subscribe, and wait until the broker says that it is done.

        Args:
            topics: topic filters.
            retained: whether retained messages come for those that the session does not have yet. MQTT 3.1.1
                brings them in any case.

        Raises:
            TransientSourceError: the connection is lost.
            SourceError: the broker refuses.
        """
        assert self._client is not None
        handling = (
            SubscribeOptions.RETAIN_SEND_IF_NEW_SUB if retained else SubscribeOptions.RETAIN_DO_NOT_SEND
        )
        options = SubscribeOptions(qos=1, retainHandling=handling)
        is_5 = self._settings.version is MqttVersion.V5
        self._ask(self._client.subscribe, [(topic, options if is_5 else 1) for topic in topics])

    def unsubscribe(self, topics: Sequence[str]) -> None:
        """End subscriptions, and wait until the broker says that it is done."""
        assert self._client is not None
        self._ask(self._client.unsubscribe, list(topics))

    def wait_until_heard(self) -> None:
        """Wait until the broker has read all that was sent.

        It answers in order: when it answers the end of a subscription that never was, it has read what came
        before, and what it sent on that has come in.
        """
        self.unsubscribe([_NO_TOPIC])

    def receive(self, timeout_s: float, most: int) -> None:
        """Wait for messages, and take in those that are there, up to so many or a few more.

        Returns after `wake_up` too.

        Raises:
            TransientSourceError: the connection is lost, and all messages that came over it were taken.
        """
        until_s = time.monotonic() + timeout_s
        while not self.messages:
            # Messages first: those that came before the connection was lost are still good.
            if self._lost is not None:
                raise self._loss()
            left_s = until_s - time.monotonic()
            is_woken = self._turn(max(0.0, left_s), most)
            if is_woken or left_s <= 0:
                return

    def linger(self, step_s: float, steps: int, most: int) -> None:
        """Wait as long as more messages come."""
        for _ in range(steps):
            there = len(self.messages)
            if there >= most or self._lost is not None:
                return
            self._turn(step_s, most)
            if len(self.messages) == there:
                return

    def acknowledge(self, packet_ids: Iterable[int]) -> None:
        """Acknowledge messages of quality 1. Does nothing once the connection is lost."""
        client = self._client
        if client is None or self._lost is not None:
            return
        for packet_id in packet_ids:
            client.ack(packet_id, 1)
        self._flush()

    def wake_up(self) -> None:
        """Make a `receive` that waits return soon. Any thread may call this."""
        # It cannot be sent where it is full, so it rings already, or closed, so nobody waits.
        with suppress(OSError):
            self._alarm_bell.send(b"!")

    def close(self) -> None:
        """Say goodbye, and disconnect."""
        client = self._client
        self._client = None
        if client is not None:
            client.disconnect()
        self._alarm.close()
        self._alarm_bell.close()

    @property
    def is_lost(self) -> bool:
        """Whether the connection is lost."""
        return self._lost is not None

    @property
    def _where(self) -> str:
        return f"{self._settings.host}:{self._settings.port}"

    def _made(self, *, clean: bool) -> BufferedClient:
        settings = self._settings
        is_5 = settings.version is MqttVersion.V5
        client = BufferedClient(
            CallbackAPIVersion.VERSION2,
            self._client_id,
            clean_session=None if is_5 else clean,
            protocol=_PROTOCOLS[settings.version],
            manual_ack=True,
        )
        client.on_connect = self._on_connect
        client.on_disconnect = self._on_disconnect
        client.on_message = self._on_message
        client.on_subscribe = self._on_answer
        client.on_unsubscribe = self._on_answer
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
        return client

    def _ask(self, question: Callable[[Any], Any], topics: list[Any]) -> None:
        self._answer = None
        question(topics)
        self._wait_for_answer()

    def _wait_for_answer(self) -> None:
        until_s = time.monotonic() + _ANSWER_S
        while self._answer is None:
            if self._lost is not None:
                raise self._loss()
            left_s = until_s - time.monotonic()
            if left_s <= 0:
                raise TransientSourceError(
                    "the MQTT broker does not answer", source="mqtt", split=self._client_id
                )
            self._turn(left_s, 1)
        for reason in self._answer:
            if reason.is_failure:
                raise self._refusal(reason)

    def _turn(self, timeout_s: float, most: int) -> bool:
        """Wait until the network is ready, and serve it; return whether that was ended by `wake_up`."""
        client = self._client
        assert client is not None
        buffered = client.buffered
        assert buffered is not None
        self._flush()
        if self._lost is not None:
            return False
        # Bytes that were read already make no socket ready.
        wait_s = min(timeout_s, _STEP_S) if buffered.is_drained else 0.0
        ready = select.poll()
        ready.register(buffered, select.POLLIN | (select.POLLOUT if buffered.has_unsent else 0))
        ready.register(self._alarm, select.POLLIN)
        woken = any(number == self._alarm.fileno() for number, _ in ready.poll(wait_s * 1000))
        if woken:
            self._alarm.recv(1 << 12)
        buffered.is_drained = False
        enough = len(self.messages) + most
        while not buffered.is_drained and len(self.messages) < enough:
            failed = client.loop_read()
            if failed:
                self._note_lost(failed)
                return woken
        failed = client.loop_misc()
        if failed:
            self._note_lost(failed)
        self._flush()
        return woken

    def _flush(self) -> None:
        client = self._client
        if client is None or client.buffered is None or self._lost is not None:
            return
        try:
            client.buffered.flush()
        except OSError:
            self._note_lost(MQTTErrorCode.MQTT_ERR_CONN_LOST)

    def _loss(self) -> SourceError:
        reason = self._lost
        if isinstance(reason, ReasonCode):
            if reason.value == _SESSION_TAKEN_OVER:
                return QueueTakenError(
                    f"another client has connected to the MQTT broker as {self._client_id!r} (session taken "
                    "over): it takes messages of this query. If it is another query, give each a 'clientId' "
                    "of its own",
                    source="mqtt",
                    split=self._client_id,
                )
            if reason.value in _AUTHENTICATION | _AUTHORIZATION:
                return self._refusal(reason)
        said = reason.getName() if isinstance(reason, ReasonCode) else reason.name if reason else ""
        return TransientSourceError(
            f"the connection to the MQTT broker is lost: {said}", source="mqtt", split=self._client_id
        )

    def _refusal(self, reason: ReasonCode) -> SourceError:
        said = f"the MQTT broker at {self._where} says: {reason}"
        if reason.value in _AUTHENTICATION:
            return AuthenticationError(
                f"{said}; check username and password", source="mqtt", split=self._client_id
            )
        if reason.value in _AUTHORIZATION:
            topics = ", ".join(self._settings.topics)
            return AuthorizationError(
                f"{said}; the user may not subscribe to {topics}", source="mqtt", split=self._client_id
            )
        if reason.value in _BUSY:
            return TransientSourceError(said, source="mqtt", split=self._client_id)
        return SourceError(said, source="mqtt", split=self._client_id)

    def _note_lost(self, reason: ReasonCode | MQTTErrorCode) -> None:
        # The first word counts: the broker says why, and then the connection is closed.
        if self._lost is None:
            self._lost = reason

    def _on_connect(
        self,
        client: Any,
        userdata: Any,
        flags: ConnectFlags,
        reason: ReasonCode,
        properties: Properties | None,
    ) -> None:
        self.session_present = flags.session_present
        self._answer = [reason]

    def _on_answer(
        self,
        client: Any,
        userdata: Any,
        packet_id: int,
        reasons: list[ReasonCode],
        properties: Properties | None,
    ) -> None:
        self._answer = reasons

    def _on_disconnect(
        self,
        client: Any,
        userdata: Any,
        flags: DisconnectFlags,
        reason: ReasonCode,
        properties: Properties | None,
    ) -> None:
        self._note_lost(reason)

    def _on_message(self, client: Any, userdata: Any, message: MQTTMessage) -> None:
        self.messages.append(message)
