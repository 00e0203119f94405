"""One connection to a broker, whose network the thread that uses it drives."""

from __future__ import annotations

import math
import select
import socket
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any, Final, NoReturn

from paho.mqtt.client import ConnectFlags, DisconnectFlags
from paho.mqtt.enums import MQTTErrorCode
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties
from paho.mqtt.reasoncodes import ReasonCode
from paho.mqtt.subscribeoptions import SubscribeOptions

from headwater.core.errors import TransientSourceError
from headwater.core.redaction import logger_of
from headwater.core.secrets import lasting_tls_failure
from headwater.readers.mqtt.broker_client import BrokerClient, BufferedSocket, new_client
from headwater.readers.mqtt.packets import (
    MalformedPacketError,
    MqttMessage,
    PacketStream,
    acknowledgements,
    loss,
    refusal,
)
from headwater.readers.mqtt.settings import MqttSettings, MqttVersion

_NEVER_EXPIRES: Final = 0xFFFFFFFF
_NO_TOPIC: Final = "headwater/nothing"
_ANSWER_S: Final = 30
_STEP_S: Final = 1.0
"""How often paho looks whether a ping is due."""

log = logger_of(__name__)


class MqttConnection:
    """A session's connection.

    No thread of its own: a second one would take turns with the caller's at every message, and with Python's
    lock. Messages come in while a method waits. Any thread may call `wake_up`.

    Attributes:
        messages: received and not taken yet, in order.
        session_present: whether the broker knew the session.

    Args:
        settings: the user's settings.
        client_id: names the session.
    """

    def __init__(self, settings: MqttSettings, client_id: str) -> None:
        self.messages: deque[MqttMessage] = deque()
        self.session_present = False
        self._settings = settings
        self._client_id = client_id
        self._client: BrokerClient | None = None
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
        settings = self._settings
        stream = PacketStream(self.messages, settings.version)
        # First: `close` ends a client that came half-way too.
        self._client = client = new_client(settings, self._client_id, stream, clean=clean)
        client.on_connect = self._on_connect
        client.on_disconnect = self._on_disconnect
        client.on_subscribe = self._on_answer
        client.on_unsubscribe = self._on_answer
        try:
            if settings.version is MqttVersion.V5:
                properties = Properties(PacketTypes.CONNECT)  # type: ignore[no-untyped-call]
                properties.SessionExpiryInterval = 0 if clean else _NEVER_EXPIRES
                properties.ReceiveMaximum = settings.in_flight
                client.connect(settings.host, settings.port, clean_start=clean, properties=properties)
            else:
                client.connect(settings.host, settings.port)
        except OSError as error:
            self._check_lasting(error)
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

        It answers in order: when it answers the end of a subscription that never was, it has read all earlier
        packets, and its answers to them have come in.
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
                self._raise_lost()
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
        assert client.buffered is not None
        client.buffered.send(acknowledgements(packet_ids))
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

    def _check_lasting(self, error: BaseException) -> None:
        """Return if the failure of a connection may pass.

        Raises:
            AuthenticationError: a certificate is not accepted.
            SourceError: the port speaks no TLS.
        """
        failure = lasting_tls_failure(error)
        if failure is not None:
            kind, reason = failure
            raise kind(
                f"no connection to the MQTT broker at {self._where}: {reason}; see 'broker' (mqtt:// or "
                "mqtts://), 'tlsCa' and 'tlsCertificate'",
                source="mqtt",
                split=self._client_id,
            ) from error

    def _raise_lost(self) -> NoReturn:
        """Raise the error of a connection that is lost."""
        assert self._lost is not None
        client = self._client
        if client is not None and client.buffered is not None and client.buffered.failure is not None:
            # An alert comes behind the handshake, where a broker misses a certificate.
            self._check_lasting(client.buffered.failure)
        raise loss(self._lost, self._settings, self._client_id)

    def _ask(self, question: Callable[[Any], Any], topics: list[Any]) -> None:
        self._answer = None
        question(topics)
        self._wait_for_answer()

    def _wait_for_answer(self) -> None:
        until_s = time.monotonic() + _ANSWER_S
        while self._answer is None:
            if self._lost is not None:
                self._raise_lost()
            left_s = until_s - time.monotonic()
            if left_s <= 0:
                raise TransientSourceError(
                    "the MQTT broker does not answer", source="mqtt", split=self._client_id
                )
            self._turn(left_s, 1)
        for reason in self._answer:
            if reason.is_failure:
                raise refusal(reason, self._settings, self._client_id)

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
        self._read(client, buffered, most)
        if self._lost is not None:
            return woken
        failed = client.loop_misc()
        if failed:
            self._note_lost(failed)
        self._flush()
        return woken

    def _read(self, client: BrokerClient, buffered: BufferedSocket, most: float) -> None:
        """Take in packets that are there, up to so many messages or a few more."""
        buffered.is_drained = False
        enough = len(self.messages) + most
        while not buffered.is_drained and len(self.messages) < enough:
            try:
                failed = client.loop_read()
            except MalformedPacketError as error:
                log.warning("the MQTT broker at %s has sent %s", self._where, error)
                failed = MQTTErrorCode.MQTT_ERR_PROTOCOL
            if failed:
                self._note_lost(failed)
                return

    def _flush(self) -> None:
        client = self._client
        if client is None or client.buffered is None or self._lost is not None:
            return
        try:
            client.buffered.flush()
        except OSError:
            # First what the broker said before it closed the connection: it may be why.
            self._read(client, client.buffered, math.inf)
            self._note_lost(MQTTErrorCode.MQTT_ERR_CONN_LOST)

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
