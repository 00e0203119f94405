"""A connection of `headwater.plugins.rabbitmq`, by RabbitMQ's stream protocol.

The Python client of that protocol makes an object of each message, and has no access to whole chunks. A
reader needs little of the protocol: login, requests, and chunks.
"""

from __future__ import annotations

import socket
import ssl
import struct
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Any, Final

import headwater as hw
from headwater.plugins.rabbitmq_frames import (
    ANSWER,
    AUTHENTICATE,
    CLOSE,
    CREDIT,
    DELIVER,
    HANDSHAKE,
    HEARTBEAT,
    METADATA,
    METADATA_UPDATE,
    NO_STREAM,
    NOT_AVAILABLE,
    OK,
    OPEN,
    PARTITIONS,
    PEER_PROPERTIES,
    STATS,
    SUBSCRIBE,
    TUNE,
    UNSUBSCRIBE,
    Frame,
    pairs_of,
    refusal,
    subscription,
    text_of,
)
from headwater.plugins.rabbitmq_settings import RabbitSettings, Server

_TIMEOUT_S: Final = 30
_LARGEST_BYTES: Final = 1 << 30
"""The most bytes of a frame."""
_MOST_CONNECTIONS: Final = 100
"""Connections through a load balancer until one is with the right broker."""
_IDS: Final = 256
"""Subscriptions of a connection, and requests under way at once: their answers need room, too."""


class RabbitConnection:
    """A connection to one broker, for one thread.

    Raises:
        AuthenticationError, AuthorizationError: the broker refuses the user, or a request.
        TransientSourceError: a stream has no leader now, or the broker ends the connection.
    """

    def __init__(self, server: Server, settings: RabbitSettings, tls: hw.options.TlsSettings) -> None:
        self.server = server
        self.properties: dict[str, str] = {}
        self._settings = settings
        self._tls = tls
        self._socket: Any = None
        self._reader: Any = None
        self._number = 0
        self._chunks: list[tuple[int, memoryview]] = []

    def open(self) -> None:
        """Connect and log in."""
        try:
            self._socket = socket.create_connection((self.server.host, self.server.port), _TIMEOUT_S)
        except OSError as error:
            message = f"{self.server.shown} cannot be reached: {error}"
            raise hw.errors.NoConnectionError(message, source="rabbitmq") from error
        try:
            # No heartbeats: nobody could send them while Spark takes a page.
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self.server.is_encrypted:
                context = self._tls.context()
                self._socket = context.wrap_socket(self._socket, server_hostname=self.server.host)
            self._reader = self._socket.makefile("rb", 1 << 18)
            self._log_in()
        except ssl.SSLError as error:
            self.close()
            raise hw.errors.SourceError(
                f"certificate or TLS of {self.server.shown}: {error}", source="rabbitmq"
            ) from error
        except OSError as error:
            self.close()
            raise hw.TransientSourceError(f"{self.server.shown}: {error}", source="rabbitmq") from error
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close it; an open subscription ends with it."""
        if self._reader is not None:
            self._reader.close()
        if self._socket is not None:
            self._socket.close()

    def _log_in(self) -> None:
        settings = self._settings
        product = [("product", "headwater"), ("connection_name", "headwater")]
        answer = self.ask(PEER_PROPERTIES, pairs_of(product))
        self.properties = dict(answer.pairs())
        self.ask(HANDSHAKE, b"")
        password = hw.options.kept_secret(settings.password, "option 'password'")
        login = f"\0{settings.username}\0{password}".encode()
        self.ask(AUTHENTICATE, text_of("PLAIN") + struct.pack(">I", len(login)) + login)
        frame = self._frame()
        if frame.key != TUNE:
            raise ConnectionError(f"the broker says {frame.key} where it should tune the connection")
        self._send(ANSWER | TUNE, struct.pack(">II", frame.take(">I"), 0))
        self.properties |= self.ask(OPEN, text_of(settings.virtual_host)).pairs()

    @property
    def tells_ends(self) -> bool:
        """Whether the broker tells the last chunk of a stream: since 3.11."""
        major, minor, *_ = (*self.properties.get("version", "0.0").split("."), "0")
        return (int(major), int(minor)) >= (3, 11) if major.isdigit() and minor.isdigit() else False

    def is_at(self, broker: Server) -> bool:
        """Whether it is connected with a broker, by the address that brokers advertise."""
        address = self.properties.get("advertised_host"), self.properties.get("advertised_port")
        return address == (broker.host, str(broker.port))

    def leaders(self, streams: Sequence[str]) -> dict[str, Server | None]:
        """Return where the leaders of streams are. None: there is no such stream."""
        answer = self.ask(METADATA, struct.pack(">I", len(streams)) + b"".join(map(text_of, streams)))
        brokers = {}
        for _ in range(answer.take(">I")):
            reference = answer.take(">H")
            brokers[reference] = Server(answer.text(), answer.take(">I"), self.server.is_encrypted)
        leaders: dict[str, Server | None] = {}
        for _ in range(answer.take(">I")):
            stream = answer.text()
            code, leader = answer.take(">H"), answer.take(">H")
            for _ in range(answer.take(">I")):
                answer.take(">H")
            if code not in (OK, NO_STREAM, NOT_AVAILABLE):
                raise refusal(code, f"where stream {stream!r} is")
            if code == NOT_AVAILABLE or (code == OK and leader not in brokers):
                raise hw.TransientSourceError("the stream has no leader now", source="rabbitmq", split=stream)
            leaders[stream] = brokers[leader] if code == OK else None
        return leaders

    def partitions(self, super_stream: str) -> list[str] | None:
        """Return the streams of a super stream. None: there is no such one."""
        answer = self.ask(PARTITIONS, text_of(super_stream), allow=NO_STREAM)
        return None if answer is None else [answer.text() for _ in range(answer.take(">I"))]

    def chunk_offsets(self, streams: Sequence[str]) -> list[tuple[int, int] | None]:
        """Return where the first and the last chunk of streams begin, which brokers tell since 3.11.

        None: there is no chunk.
        """
        offsets: list[tuple[int, int] | None] = []
        for begin in range(0, len(streams), _IDS):
            some = streams[begin : begin + _IDS]
            numbers = [self._request(STATS, text_of(each)) for each in some]
            for stream, number in zip(some, numbers, strict=True):
                answer = self._answer(STATS, number, f"the ends of stream {stream!r}")
                stats = {answer.text(): answer.take(">q") for _ in range(answer.take(">I"))}
                first, last = stats["first_chunk_id"], stats["committed_chunk_id"]
                if last < 0 <= first:
                    raise hw.TransientSourceError(
                        "its leader is new and does not know its end yet", source="rabbitmq", split=stream
                    )
                offsets.append(None if first < 0 else (first, last))
        return offsets

    def chunks_at(self, places: Sequence[tuple[str, bytes]]) -> Iterator[memoryview | None]:
        """Yield one chunk of each of these streams, at an offset of the protocol; None where there is none.

        A broker sends the chunk before it reads the next request. So once that one is answered without a
        chunk, there is none.
        """
        for begin in range(0, len(places), _IDS):
            some = places[begin : begin + _IDS]
            numbers = []
            for slot, (stream, offset) in enumerate(some):
                subscribed = self._request(SUBSCRIBE, subscription(slot, stream, offset, credit=1))
                numbers.append((subscribed, self._request(UNSUBSCRIBE, struct.pack(">B", slot))))
            for slot, (stream, _) in enumerate(some):
                subscribed, ended = numbers[slot]
                self._answer(SUBSCRIBE, subscribed, f"stream {stream!r}")
                self._answer(UNSUBSCRIBE, ended, f"stream {stream!r}")
                chunks = [chunk for each, chunk in self._chunks if each == slot]
                self._chunks.clear()
                yield chunks[0] if chunks else None

    def chunks(self, stream: str, offset: bytes, credit: int) -> Iterator[memoryview]:
        """Yield the chunks of a stream, endlessly; `credit` of them are on their way at once.

        Raises:
            TransientSourceError: the leader has moved, or the stream is gone.
        """
        number = self._request(SUBSCRIBE, subscription(0, stream, offset, credit))
        self._answer(SUBSCRIBE, number, f"stream {stream!r}")
        while True:
            while not self._chunks:
                self._note(self._frame())
            _, chunk = self._chunks.pop(0)
            self._send(CREDIT, struct.pack(">BH", 0, 1))
            yield chunk

    def ask(self, key: int, body: bytes, allow: int = 0) -> Any:
        """Return the answer to a request; None for the refusal that is allowed."""
        return self._answer(key, self._request(key, body), f"request {key}", allow)

    def _request(self, key: int, body: bytes) -> int:
        self._number += 1
        self._send(key, struct.pack(">I", self._number) + body)
        return self._number

    def _send(self, key: int, body: bytes) -> None:
        self._socket.sendall(struct.pack(">IHH", 4 + len(body), key, 1) + body)

    def _answer(self, key: int, number: int, subject: str, allow: int = 0) -> Any:
        while True:
            frame = self._frame()
            # Brokers answer some requests without the mark of an answer.
            if frame.key & ~ANSWER == key and frame.take(">I") == number:
                break
            self._note(frame)
        if key == METADATA:  # has a code for each stream
            return frame
        code = frame.take(">H")
        if code == OK:
            return frame
        if code == allow:
            return None
        raise refusal(code, subject)

    def _note(self, frame: Frame) -> None:
        """Handle a frame that answers no request."""
        if frame.key == DELIVER:
            self._chunks.append((frame.take(">B"), frame.rest()))
        elif frame.key == METADATA_UPDATE:
            frame.take(">H")
            raise hw.TransientSourceError(
                "its leader has moved, or the stream is gone", source="rabbitmq", split=frame.text()
            )
        elif frame.key == CLOSE:
            frame.take(">I")
            raise refusal(frame.take(">H"), frame.text())
        elif frame.key != HEARTBEAT:
            raise ConnectionError(f"the broker says {frame.key:#x} where it should not")

    def _frame(self) -> Frame:
        size = int.from_bytes(self._exactly(4), "big")
        if not 4 <= size <= _LARGEST_BYTES:
            raise ConnectionError(f"a frame of {size} bytes: no broker's stream port answers there")
        return Frame(self._exactly(size))

    def _exactly(self, size: int) -> bytes:
        data: bytes = self._reader.read(size)
        if len(data) < size:
            raise ConnectionError(
                "the broker has ended the connection. Is this a port of streams, is it TLS?"
            )
        return data


@contextmanager
def connected(
    settings: RabbitSettings, tls: hw.options.TlsSettings, broker: Server | None = None
) -> Iterator[RabbitConnection]:
    """Connect for a while: to any broker, or to this one."""
    direct = (broker,) if broker is not None and not settings.behind_balancer else settings.servers
    for number in range(_MOST_CONNECTIONS):
        server = direct[number % len(direct)]
        try:
            connection = RabbitConnection(server, settings, tls)
            connection.open()
        except hw.TransientSourceError as error:
            if number + 1 < len(direct):
                continue
            if broker is None or settings.behind_balancer:
                raise
            raise type(error)(
                f"{error}. Brokers advertise this address: set loadBalancer=true if they are reached "
                "through servers only",
                source="rabbitmq",
            ) from error
        with closing(connection):
            if broker is None or not settings.behind_balancer or connection.is_at(broker):
                yield connection
                return
    raise hw.TransientSourceError(
        f"none of {_MOST_CONNECTIONS} connections was with {broker}: the option loadBalancer says that "
        "servers lead to all brokers",
        source="rabbitmq",
    )
