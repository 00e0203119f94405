from __future__ import annotations

import socket
from typing import Any

import pytest
from kafka.errors import KafkaConnectionError
from kafka.net.inet import KafkaNetSocket


class _Waiting:
    """Kafka-python's event loop, in which a socket never becomes writable."""

    def __await__(self) -> Any:
        yield

    def wait_write(self, sock: socket.socket, timeout_at: float | None) -> _Waiting:
        return self


def _run(coroutine: Any) -> None:
    while True:
        coroutine.send(None)


@pytest.fixture
def listener() -> Any:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening


def test_the_socket_of_a_client_that_is_closed_while_it_connects_is_closed(listener: socket.socket) -> None:
    sock = socket.socket()
    sock.setblocking(False)
    connecting = KafkaNetSocket().sock_connect(_Waiting(), sock, listener.getsockname())
    connecting.send(None)
    connecting.close()
    assert sock.fileno() == -1


def test_the_socket_of_a_refused_connection_is_closed(listener: socket.socket) -> None:
    address = listener.getsockname()
    listener.close()
    sock = socket.socket()
    with pytest.raises(KafkaConnectionError, match="ECONNREFUSED"):
        _run(KafkaNetSocket().sock_connect(_Waiting(), sock, address))
    assert sock.fileno() == -1
