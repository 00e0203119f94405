"""A TCP port in front of another one, which refuses connections while it is closed."""

from __future__ import annotations

import contextlib
import socket
import threading
from types import TracebackType
from typing import Self

__all__ = ["Forwarder"]

CHUNK_BYTES = 1 << 16


class Forwarder:
    """Hands bytes to and fro between its port and another one of this machine. A context manager.

    Args:
        port: the other one.

    Attributes:
        port: its own one, the same each time that it is opened.
    """

    def __init__(self, port: int) -> None:
        self._target = port
        self._listener: socket.socket | None = None
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()
        self.port = 0

    def open(self) -> None:
        """Take connections."""
        listener = socket.create_server(("127.0.0.1", self.port))
        self.port = listener.getsockname()[1]
        self._listener = listener
        threading.Thread(target=self._accept, args=(listener,), name="forwarder", daemon=True).start()

    def close(self) -> None:
        """Cut all connections, and refuse others."""
        with self._lock:
            listener = self._listener
            self._listener = None
            ends = [*self._open, *([listener] if listener else [])]
            self._open.clear()
        for end in ends:
            _cut(end)

    def __enter__(self) -> Self:
        self.open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _accept(self, listener: socket.socket) -> None:
        with contextlib.suppress(OSError):  # it is closed
            while True:
                client, _ = listener.accept()
                server = socket.create_connection(("127.0.0.1", self._target))
                with self._lock:
                    if self._listener is not listener:  # closed between `accept` and here
                        _cut(client)
                        _cut(server)
                        return
                    self._open |= {client, server}
                for source, sink in ((client, server), (server, client)):
                    threading.Thread(
                        target=self._copy, args=(source, sink), name="forwarder", daemon=True
                    ).start()

    def _copy(self, source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError):  # one of them is cut
            while chunk := source.recv(CHUNK_BYTES):
                sink.sendall(chunk)
        with self._lock:
            self._open -= {source, sink}
        _cut(source)
        _cut(sink)


def _cut(end: socket.socket) -> None:
    # A thread that waits in `accept` or `recv` is woken by `shutdown`, not by `close`.
    with contextlib.suppress(OSError):  # cut from the other end
        end.shutdown(socket.SHUT_RDWR)
    end.close()
