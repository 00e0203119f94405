"""One connection to one broker: questions out, answers in, on the thread that calls."""

from __future__ import annotations

import contextlib
import importlib.metadata
import logging
from collections import deque
from collections.abc import Iterator
from typing import Any

from kafka import errors as kafka_errors
from kafka.protocol.api_header import ResponseClassRegistry
from kafka.protocol.api_message import ApiMessage
from kafka.protocol.broker_version_data import BrokerVersionData
from kafka.protocol.metadata import ApiVersionsRequest

from headwater.core.clock import Clock, SystemClock
from headwater.core.errors import CorruptRecordError, SourceError, TransientSourceError
from headwater.enumerators.kafka.client.client_config import BrokerAddress, ClientConfig
from headwater.enumerators.kafka.client.errors import from_code, from_kafka_error, from_os_error
from headwater.enumerators.kafka.client.frames import ReceiveBuffer, Reply
from headwater.enumerators.kafka.client.security import authenticate, ssl_context
from headwater.enumerators.kafka.client.transport import Deadline, SocketSettings, Transport, open_transport

__all__ = ["BrokerAddress", "BrokerConnection", "ReceiveBuffer", "Reply"]

log = logging.getLogger(__name__)

_HANDSHAKE_FRAME_BYTES = 1 << 19
_SMALLEST_LIMIT_BYTES = 100 << 20
_SESSION_SHARE = 0.85
"""After this share of its session (KIP-368) a connection is opened anew.

Java renews between 85 % and 95 %.
"""


class BrokerConnection:
    """A connection that opens itself with the first question, negotiates versions (KIP-35, KIP-511) and logs in.

    Questions may be sent ahead of answers; answers come in the order of the questions. Not thread-safe: one
    thread at a time. Every operation ends by a deadline. After any error the connection is closed, and what
    was in flight is lost; the next question opens it anew. It also opens itself anew, between answers, before
    a SASL session runs out, and when the broker has closed its end in the meantime.

    Every method that talks to the broker raises:
        TransientSourceError: the broker is away, slow, or closed the connection.
        AuthenticationError: wrong credentials or certificates.
        OptionError: a certificate file, key or token provider cannot be loaded on this host.
        CorruptRecordError: an answer that is not what was asked for.
        SourceError: the broker is too old, answers with too large a frame, or does not speak Kafka there.

    Args:
        address: the broker's.
        config: security, client id, buffers, limits.
        clock: for the age of the SASL session.
    """

    def __init__(self, address: BrokerAddress, config: ClientConfig, clock: Clock | None = None) -> None:
        self.address, self.config = address, config
        self._clock = clock or SystemClock()
        self._limit_bytes = max(
            _SMALLEST_LIMIT_BYTES, 2 * config.fetch_max_bytes, 2 * config.max_partition_fetch_bytes
        )
        self._transport: Transport | None = None
        self._versions: BrokerVersionData | None = None
        self._in_flight: deque[tuple[int, type[ApiMessage], int]] = deque()
        self._own_buffer = ReceiveBuffer()
        self._head = memoryview(bytearray(4))
        self._next_id = 0
        self._renew_at_ms: int | None = None

    def __repr__(self) -> str:
        state = "closed" if self._transport is None else f"open, {len(self._in_flight)} in flight"
        return f"<BrokerConnection {self.address} {self.config.security_protocol} ({state})>"

    @property
    def is_open(self) -> bool:
        """Whether there is a socket. The broker may have closed its end: see `is_readable`."""
        return self._transport is not None

    @property
    def in_flight(self) -> int:
        """How many questions are not answered yet."""
        return len(self._in_flight)

    def connect(self, timeout_ms: int | None = None) -> None:
        """Open the connection now, if it is not open. `send` and `call` do it themselves."""
        self._open(Deadline(self._timeout_ms(timeout_ms)))

    def version_of(self, request: type[ApiMessage] | ApiMessage) -> int:
        """Return the version that this kind of request will have: the newest that both sides know.

        Opens the connection if it is not open.

        Raises:
            SourceError: there is none.
        """
        self.connect()
        return self._version_of(request)

    def call(self, request: ApiMessage, timeout_ms: int | None = None) -> Any:
        """Send a request and return its decoded response, which shares no memory with the connection.

        Args:
            request: of kafka-python, without a version, or with ``min_version`` and ``max_version``.
            timeout_ms: for both ways together, and for opening the connection; ``request.timeout.ms`` if
                None.
        """
        assert not self._in_flight, "answers to earlier questions come first"
        deadline = Deadline(self._timeout_ms(timeout_ms))
        self._open(deadline)
        self._send(self._versioned(request), deadline)
        reply = self._receive(self._own_buffer, deadline)
        with self._closing_on_error("reading from"):
            return reply.decode()

    def send(self, request: ApiMessage, timeout_ms: int | None = None) -> int:
        """Send a request and return its correlation id; the answer is taken by `receive`.

        Args:
            request: as for `call`. It is given the version that was negotiated.
            timeout_ms: for sending, and for opening the connection; ``request.timeout.ms`` if None.
        """
        deadline = Deadline(self._timeout_ms(timeout_ms))
        self._open(deadline)
        return self._send(self._versioned(request), deadline)

    def receive(self, buffer: ReceiveBuffer | None = None, timeout_ms: int | None = None) -> Reply:
        """Wait for the answer to the oldest question in flight and return it undecoded.

        Args:
            buffer: memory to read it into; the connection's own if None. The reply is a view of it.
            timeout_ms: for the whole answer; ``request.timeout.ms`` if None. A long poll adds its own wait.
        """
        return self._receive(buffer or self._own_buffer, Deadline(self._timeout_ms(timeout_ms)))

    def is_readable(self, timeout_ms: int = 0) -> bool:
        """Wait until an answer begins to arrive, and return whether it does.

        Also true when the broker has closed the connection.

        Reads nothing and closes nothing: to wait in slices, or on several connections with `fileno`.
        """
        return self._transport is not None and self._transport.is_readable(timeout_ms)

    def fileno(self) -> int:
        """Return the socket's descriptor for a selector.

        With TLS ask `is_readable` first, as bytes may have been read ahead. -1 if closed.
        """
        return -1 if self._transport is None else self._transport.fileno()

    def close(self) -> None:
        """Close the connection; answers in flight are lost. Any number of times."""
        if self._transport is not None:
            self._transport.close()
        self._transport = None
        self._in_flight.clear()

    def _timeout_ms(self, timeout_ms: int | None) -> int:
        return self.config.request_timeout_ms if timeout_ms is None else timeout_ms

    def _open(self, deadline: Deadline) -> None:
        if self._transport is not None and not self._in_flight and self._is_spent(self._transport):
            self.close()
        if self._transport is not None:
            return
        config = self.config
        settings = SocketSettings(
            config.socket_connection_setup_timeout_ms, config.receive_buffer_bytes, config.send_buffer_bytes
        )
        tls = ssl_context(config.tls) if config.tls else None
        with self._closing_on_error("connecting to"):
            self._transport = open_transport(self.address, settings, deadline, tls=tls)
            self._versions = self._negotiate(deadline)
            self._renew_at_ms = self._log_in(deadline)
        log.debug("connected to the Kafka broker %s", self.address)

    def _is_spent(self, transport: Transport) -> bool:
        """Whether the SASL session runs out, or the broker has closed its end.

        An idle connection has nothing else to say.
        """
        session_ends = self._renew_at_ms is not None and self._clock.monotonic_ms() >= self._renew_at_ms
        return session_ends or transport.is_readable(0)

    def _negotiate(self, deadline: Deadline) -> BrokerVersionData:
        newest = ApiVersionsRequest.max_version
        response = self._api_versions(newest, deadline)
        if response.error_code == kafka_errors.UnsupportedVersionError.errno:
            known = {api.api_key: api.max_version for api in response.api_keys}
            response = self._api_versions(min(newest, known.get(ApiVersionsRequest.API_KEY, 0)), deadline)
        if response.error_code:
            raise from_code(response.error_code, what=f"versions of the Kafka broker {self.address}")
        return BrokerVersionData(
            api_versions={api.api_key: (api.min_version, api.max_version) for api in response.api_keys}
        )

    def _api_versions(self, version: int, deadline: Deadline) -> Any:
        request = ApiVersionsRequest(
            version=version, client_software_name="headwater", client_software_version=_software_version()
        )
        return self._ask(request, deadline)

    def _log_in(self, deadline: Deadline) -> int | None:
        """Prove who we are and return when to do it again."""
        if self.config.sasl is None:
            return None
        lifetime_ms = authenticate(
            lambda request: self._ask(self._versioned(request), deadline), self.config.sasl, self.address
        )
        return self._clock.monotonic_ms() + int(lifetime_ms * _SESSION_SHARE) if lifetime_ms else None

    def _ask(self, request: ApiMessage, deadline: Deadline) -> Any:
        """One question and its answer before the connection is ready for use."""
        self._send(request, deadline)
        return self._receive(self._own_buffer, deadline, limit_bytes=_HANDSHAKE_FRAME_BYTES).decode()

    def _versioned(self, request: ApiMessage) -> ApiMessage:
        request.API_VERSION = self._version_of(request)
        return request

    def _version_of(self, request: type[ApiMessage] | ApiMessage) -> int:
        assert self._versions is not None
        try:
            return int(self._versions.api_version(request))
        except kafka_errors.IncompatibleBrokerVersion as error:
            raise from_kafka_error(error, what=f"the Kafka broker {self.address}") from error

    def _send(self, request: ApiMessage, deadline: Deadline) -> int:
        assert self._transport is not None
        self._next_id = (self._next_id + 1) & 0x7FFF_FFFF
        request.with_header(correlation_id=self._next_id, client_id=self.config.client_id)
        with self._closing_on_error("writing to"):
            self._transport.send(request.encode(framed=True, header=True), deadline)
        self._in_flight.append(
            (
                self._next_id,
                ResponseClassRegistry.get_response_class(request.header)[None],
                request.API_VERSION,
            )
        )
        return self._next_id

    def _receive(self, buffer: ReceiveBuffer, deadline: Deadline, limit_bytes: int | None = None) -> Reply:
        if self._transport is None or not self._in_flight:
            raise TransientSourceError(
                f"the connection to the Kafka broker {self.address} was closed; nothing is in flight",
                source="kafka",
            )
        with self._closing_on_error("reading from"):
            self._transport.receive_into(self._head, deadline)
            frame = buffer.take(self._checked_size(limit_bytes or self._limit_bytes))
            self._transport.receive_into(frame, deadline)
            return self._match(frame)

    @contextlib.contextmanager
    def _closing_on_error(self, doing: str) -> Iterator[None]:
        """Close the connection if anything at all goes wrong: nobody knows what the other side has seen."""
        try:
            yield
        except OSError as error:
            self.close()
            raise from_os_error(error, self.address, doing=doing) from error
        except BaseException:
            self.close()
            raise

    def _checked_size(self, limit_bytes: int) -> int:
        size = int.from_bytes(self._head, "big", signed=True)
        if 4 <= size <= limit_bytes:
            return size
        head = bytes(self._head)
        if head[:2] == b"\x15\x03":  # a TLS record that holds an alert
            raise SourceError(
                f"the Kafka broker {self.address} speaks TLS there: set kafka.security.protocol to SSL or SASL_SSL, or mend the port",
                source="kafka",
            )
        if limit_bytes == _HANDSHAKE_FRAME_BYTES or size < 4:
            raise SourceError(
                f"what listens at {self.address} is no Kafka broker: it answers {head!r}; mend kafka.bootstrap.servers",
                source="kafka",
            )
        raise SourceError(
            f"the Kafka broker {self.address} sends a frame of {size} bytes, more than {limit_bytes}. If there are records this large, raise "
            "kafka.fetch.max.bytes to that size",
            source="kafka",
        )

    def _match(self, frame: memoryview) -> Reply:
        """Return the frame as the answer to the oldest question in flight."""
        expected, response_class, version = self._in_flight.popleft()
        correlation_id = int.from_bytes(frame[:4], "big", signed=True)
        if correlation_id != expected:
            raise CorruptRecordError(
                f"the Kafka broker {self.address} answers question {correlation_id}, but the next one due is {expected}",
                source="kafka",
            )
        try:
            return Reply(correlation_id, response_class, version, frame)
        except LookupError as error:
            raise CorruptRecordError(
                f"the Kafka broker {self.address} sends a header that is cut short", source="kafka"
            ) from error


def _software_version() -> str:
    """Return what the broker shows as the client's version (KIP-511)."""
    try:
        return importlib.metadata.version("headwater")
    except importlib.metadata.PackageNotFoundError:
        return "unknown"
