"""One connection to one broker: requests and responses, on the thread that calls."""

from __future__ import annotations

import contextlib
import importlib.metadata
from collections import deque
from collections.abc import Iterator
from typing import Any

from kafka import errors as kafka_errors
from kafka.protocol.api_header import ResponseClassRegistry
from kafka.protocol.api_message import ApiMessage
from kafka.protocol.broker_version_data import BrokerVersionData
from kafka.protocol.metadata import ApiVersionsRequest

from headwater.core.clock import Clock, SystemClock
from headwater.core.errors import CorruptRecordError, TransientSourceError
from headwater.core.redaction import logger_of
from headwater.enumerators.kafka.client.client_config import ClientConfig
from headwater.enumerators.kafka.client.errors import (
    from_code,
    from_kafka_error,
    from_os_error,
    of_answer,
)
from headwater.enumerators.kafka.client.frames import ReceiveBuffer, Reply, frame_size
from headwater.enumerators.kafka.client.metadata import BrokerAddress
from headwater.enumerators.kafka.client.sasl import authenticate
from headwater.enumerators.kafka.client.tls import ssl_context
from headwater.enumerators.kafka.client.transport import Deadline, SocketSettings, Transport, open_transport

log = logger_of(__name__)

_SMALLEST_LIMIT_BYTES = 100 << 20
_SESSION_SHARE = 0.85
"""After this share of its SASL session (KIP-368) a connection is opened anew. Java: between 85 % and 95 %."""


class BrokerConnection:
    """A connection that opens itself with the first request.

    Opening it means to connect, to negotiate versions (KIP-35, KIP-511), and to log in.

    Several requests may be sent before the first answer is taken. Answers come in the order of the requests.
    Not thread-safe: one thread at a time. Every operation ends by a deadline.

    After any error the connection is closed, and the answers in flight are lost; the next request opens it
    anew. While no answer is due it also opens itself anew when the SASL session is about to end, and when the
    broker has closed its side.

    Every method that talks to the broker raises:
        TransientSourceError: the broker is away, slow, or closed the connection.
        AuthenticationError: wrong credentials or certificates.
        OptionError: a certificate file, key or token provider cannot be loaded on this host.
        CorruptRecordError: an answer that does not fit its request.
        SourceError: the broker is too old or sends too large a frame, or the listener is not Kafka.

    Args:
        address: the broker's.
        config: security, client id, buffers, limits.
        clock: for the age of the SASL session.
    """

    def __init__(self, address: BrokerAddress, config: ClientConfig, clock: Clock | None = None) -> None:
        self.address = address
        self.config = config
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
        """Whether there is a socket. The broker may have closed its side: see `is_readable`."""
        return self._transport is not None

    @property
    def in_flight(self) -> int:
        """How many requests are not answered yet."""
        return len(self._in_flight)

    def call(self, request: ApiMessage, timeout_ms: int | None = None) -> Any:
        """Send a request and return its decoded response, which shares no memory with the connection.

        Args:
            request: of kafka-python, without a version, or with ``min_version`` and ``max_version``. It is
                given the newest version that both sides know.
            timeout_ms: for opening the connection, the request and the answer together; None for
                ``request.timeout.ms``.
        """
        assert not self._in_flight, "answers to earlier requests come first"
        deadline = self._deadline(timeout_ms)
        self._open(deadline)
        self._send(self._versioned(request), deadline)
        reply = self._receive(self._own_buffer, deadline)
        with self._closing_on_error("reading from"):
            return reply.decode()

    def send(self, request: ApiMessage, timeout_ms: int | None = None) -> None:
        """Send a request; its answer is taken by `receive`.

        Args:
            request: as for `call`.
            timeout_ms: for opening the connection and for sending; None for ``request.timeout.ms``.
        """
        deadline = self._deadline(timeout_ms)
        self._open(deadline)
        self._send(self._versioned(request), deadline)

    def receive(self, buffer: ReceiveBuffer | None = None, timeout_ms: int | None = None) -> Reply:
        """Wait for the answer to the oldest request in flight, and return it undecoded.

        Args:
            buffer: the memory to read it into; None for the connection's own. The reply is a view of it.
            timeout_ms: for the whole answer; None for ``request.timeout.ms``. The caller adds the time that a
                long poll may wait.
        """
        return self._receive(buffer or self._own_buffer, self._deadline(timeout_ms))

    def is_readable(self, timeout_ms: int = 0) -> bool:
        """Wait until an answer begins to arrive, and return whether one does.

        Also true when the broker has closed the connection. Reads nothing and closes nothing, so that a
        caller can wait in slices, or with `fileno` for several connections.
        """
        return self._transport is not None and self._transport.is_readable(timeout_ms)

    def fileno(self) -> int:
        """Return the socket's descriptor for a selector, -1 if closed.

        With TLS ask `is_readable` first: OpenSSL may have read bytes ahead, and the selector does not see
        them.
        """
        return -1 if self._transport is None else self._transport.fileno()

    def close(self) -> None:
        """Close the connection. Answers in flight are lost. May be called any number of times."""
        if self._transport is not None:
            self._transport.close()
        self._transport = None
        self._in_flight.clear()

    def _deadline(self, timeout_ms: int | None) -> Deadline:
        return Deadline(self.config.request_timeout_ms if timeout_ms is None else timeout_ms)

    def _open(self, deadline: Deadline) -> None:
        # Only while no answer is due: otherwise a readable socket means an answer, not the end of the stream.
        if self._transport is not None and not self._in_flight and self._has_ended(self._transport):
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

    def _has_ended(self, transport: Transport) -> bool:
        """Whether the SASL session is about to end, or the broker has closed its side of an idle connection.

        A broker sends nothing without a request. So an idle socket that is readable is at its end.
        """
        session_ends = self._renew_at_ms is not None and self._clock.monotonic_ms() >= self._renew_at_ms
        return session_ends or transport.is_readable(0)

    @of_answer
    def _negotiate(self, deadline: Deadline) -> BrokerVersionData:
        newest = ApiVersionsRequest.max_version
        response = self._api_versions(newest, deadline)
        if response.error_code == kafka_errors.UnsupportedVersionError.errno:
            # The broker is older. Its answer has version 0 and names the versions that it knows (KIP-511);
            # the oldest brokers name none, and know version 0.
            versions = {api.api_key: api.max_version for api in response.api_keys}
            response = self._api_versions(min(newest, versions.get(ApiVersionsRequest.API_KEY, 0)), deadline)
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
        """Log in if the user wants it, and return when to open the connection anew; None for never."""
        if self.config.sasl is None:
            return None
        lifetime_ms = authenticate(
            lambda request: self._ask(self._versioned(request), deadline), self.config.sasl, self.address
        )
        return self._clock.monotonic_ms() + int(lifetime_ms * _SESSION_SHARE) if lifetime_ms else None

    def _ask(self, request: ApiMessage, deadline: Deadline) -> Any:
        """Send a request and take its answer while the connection is being opened."""
        self._send(request, deadline)
        return self._receive(self._own_buffer, deadline, is_handshake=True).decode()

    def _versioned(self, request: ApiMessage) -> ApiMessage:
        request.API_VERSION = self._version_of(request)
        return request

    def _version_of(self, request: type[ApiMessage] | ApiMessage) -> int:
        assert self._versions is not None
        try:
            return int(self._versions.api_version(request))
        except kafka_errors.IncompatibleBrokerVersion as error:
            raise from_kafka_error(error, what=f"the Kafka broker {self.address}") from error

    def _send(self, request: ApiMessage, deadline: Deadline) -> None:
        assert self._transport is not None
        self._next_id = (self._next_id + 1) & 0x7FFF_FFFF
        request.with_header(correlation_id=self._next_id, client_id=self.config.client_id)
        with self._closing_on_error("writing to"):
            self._transport.send(request.encode(framed=True, header=True), deadline)
        response_class = ResponseClassRegistry.get_response_class(request.header)[None]
        self._in_flight.append((self._next_id, response_class, request.API_VERSION))

    def _receive(self, buffer: ReceiveBuffer, deadline: Deadline, *, is_handshake: bool = False) -> Reply:
        if self._transport is None or not self._in_flight:
            raise TransientSourceError(
                f"the connection to the Kafka broker {self.address} was closed; nothing is in flight",
                source="kafka",
            )
        with self._closing_on_error("reading from"):
            self._transport.receive_into(self._head, deadline)
            size = frame_size(bytes(self._head), self.address, self._limit_bytes, is_handshake=is_handshake)
            frame = buffer.take(size)
            self._transport.receive_into(frame, deadline)
            return self._match(frame, deadline)

    @contextlib.contextmanager
    def _closing_on_error(self, doing: str) -> Iterator[None]:
        """Close the connection after any error, an interrupt among them.

        The stream may have stopped in the middle of a frame, so the bytes behind it cannot be understood.
        """
        try:
            yield
        except OSError as error:
            self.close()
            raise from_os_error(error, self.address, doing=doing) from error
        except BaseException:
            self.close()
            raise

    def _match(self, frame: memoryview, deadline: Deadline) -> Reply:
        """Return the frame as the answer to the oldest request in flight, to be decoded by the deadline."""
        expected, response_class, version = self._in_flight.popleft()
        correlation_id = int.from_bytes(frame[:4], "big", signed=True)
        if correlation_id != expected:
            raise CorruptRecordError(
                f"the Kafka broker {self.address} answers question {correlation_id}, "
                f"but the next one due is {expected}",
                source="kafka",
            )
        try:
            return Reply(response_class, version, frame, deadline)
        except LookupError as error:
            raise CorruptRecordError(
                f"the Kafka broker {self.address} sends a header that is cut short", source="kafka"
            ) from error


def _software_version() -> str:
    """Return the version of the client that the broker shows (KIP-511)."""
    try:
        return importlib.metadata.version("headwater")
    except importlib.metadata.PackageNotFoundError:
        return "unknown"
