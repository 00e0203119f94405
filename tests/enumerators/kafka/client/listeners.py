"""Clients with short time-outs, and listeners that are no brokers, or bad ones."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from collections.abc import Callable, Iterator

from kafka.protocol.metadata import ApiVersionsResponse, MetadataResponse

from headwater.enumerators.kafka.client.client_config import ClientConfig
from headwater.enumerators.kafka.client.metadata import BrokerAddress

Handler = Callable[[socket.socket], object]
Listen = Callable[[Handler], BrokerAddress]
Answer = Callable[[socket.socket, int, int, int], object]

API_VERSIONS = {1: (4, 18), 3: (0, 13), 18: (0, 4)}


@contextlib.contextmanager
def listening() -> Iterator[Listen]:
    """Give a function that starts a listener on a free port; each connection is handled in a thread.

    All is closed at the end.
    """
    with contextlib.ExitStack() as stack:

        def start(handler: Handler) -> BrokerAddress:
            server = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
            accepting = threading.Thread(target=_accept, args=(server, handler))
            accepting.start()
            stack.callback(accepting.join)
            stack.callback(server.shutdown, socket.SHUT_RDWR)
            return BrokerAddress(*server.getsockname())

        yield start


def client(bootstrap: str | BrokerAddress, **properties: str) -> ClientConfig:
    """Return the config of a client with short time-outs; properties with underscores for dots."""
    options = {f"kafka.{name.replace('_', '.')}": value for name, value in properties.items()}
    return ClientConfig.from_options(
        {"kafka.bootstrap.servers": str(bootstrap), "kafka.request.timeout.ms": "10000", **options}
    )


def drain(connection: socket.socket) -> None:
    """Read until the client hangs up."""
    while connection.recv(1 << 16):
        pass


def sending(answer: bytes) -> Handler:
    def handler(connection: socket.socket) -> None:
        connection.recv(1000)
        connection.sendall(answer)
        drain(connection)

    return handler


def speaking(known: dict[int, tuple[int, int]], then: Answer) -> Handler:
    """Answer ApiVersions as a broker does, and leave the rest to ``then``."""

    def handler(connection: socket.socket) -> None:
        while True:
            key, version, correlation = read_request(connection)
            if key == 18:
                respond(connection, correlation, api_versions(version, known))
            else:
                then(connection, key, version, correlation)

    return handler


def read_request(connection: socket.socket) -> tuple[int, int, int]:
    """Return API key, version and correlation id. Raises OSError when the client has hung up."""
    head = connection.recv(4, socket.MSG_WAITALL)
    if len(head) < 4:
        raise ConnectionResetError
    request = connection.recv(int.from_bytes(head, "big"), socket.MSG_WAITALL)
    key, version, correlation = struct.unpack_from(">hhi", request)
    return key, version, correlation


def respond(connection: socket.socket, correlation: int, body: bytes) -> None:
    connection.sendall(struct.pack(">ii", len(body) + 4, correlation) + body)


def api_versions(version: int, known: dict[int, tuple[int, int]], *, error: int = 0) -> bytes:
    kind = ApiVersionsResponse.ApiVersion
    keys = [
        kind(version=version, api_key=key, min_version=low, max_version=high)
        for key, (low, high) in known.items()
    ]
    return bytes(
        ApiVersionsResponse(version=version, error_code=error, api_keys=keys).encode(version=version)
    )


def metadata(version: int) -> bytes:
    return bytes(
        MetadataResponse(version=version, brokers=[], cluster_id="c", controller_id=1, topics=[]).encode(
            version=version
        )
    )


def _accept(server: socket.socket, handler: Handler) -> None:
    handlers = []
    with contextlib.suppress(OSError):
        while True:
            connection, _ = server.accept()
            handlers.append(threading.Thread(target=_handle, args=(connection, handler)))
            handlers[-1].start()
    for thread in handlers:
        thread.join()


def _handle(connection: socket.socket, handler: Handler) -> None:
    with connection, contextlib.suppress(OSError):
        handler(connection)
