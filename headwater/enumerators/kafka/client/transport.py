"""A blocking socket, plain or TLS. Each of its operations ends by a deadline."""

from __future__ import annotations

import contextlib
import select
import socket
import ssl
import struct
import time
from dataclasses import dataclass
from typing import Any

from headwater.enumerators.kafka.client.metadata import BrokerAddress


class Deadline:
    """A moment on the monotonic clock by which something has to be over."""

    __slots__ = ("_at_s", "_timeout_ms")

    def __init__(self, timeout_ms: int) -> None:
        self._timeout_ms = timeout_ms
        self._at_s = time.monotonic() + timeout_ms / 1000

    def left_s(self) -> float:
        """Return the seconds that are left, more than 0.

        Raises:
            TimeoutError: there are none.
        """
        remaining = self._at_s - time.monotonic()
        if remaining <= 0:
            raise self.passed()
        return remaining

    def passed(self) -> TimeoutError:
        """Return the error that says that the moment has passed."""
        return TimeoutError(f"{self._timeout_ms} ms have passed")


@dataclass(frozen=True, slots=True)
class SocketSettings:
    """The options of a socket, set before it connects.

    Attributes:
        attempt_timeout_ms: how long to try one of a host's addresses.
        receive_buffer_bytes: SO_RCVBUF; -1 leaves it to the operating system.
        send_buffer_bytes: SO_SNDBUF; -1 leaves it to the operating system.
    """

    attempt_timeout_ms: int = 10_000
    receive_buffer_bytes: int = -1
    send_buffer_bytes: int = -1


class Transport:
    """A connected socket. One thread at a time.

    Its methods raise OSError as the system does, TimeoutError when the deadline has passed, and
    ConnectionResetError at the end of the stream. After any error the state of the stream is unknown: close
    it.
    """

    __slots__ = ("_socket",)

    def __init__(self, connected: socket.socket) -> None:
        # Python's own time-outs make the socket non-blocking and call poll before each read. Here the kernel
        # keeps the time (SO_RCVTIMEO), so that MSG_WAITALL can take a whole frame in one call.
        connected.settimeout(None)
        self._socket = connected

    def send(self, data: bytes, deadline: Deadline) -> None:
        """Send all bytes."""
        self._set_timeout(socket.SO_SNDTIMEO, deadline)
        try:
            self._socket.sendall(data)
        except BlockingIOError:
            raise deadline.passed() from None

    def receive_into(self, view: memoryview, deadline: Deadline) -> None:
        """Fill the whole view.

        Usually in one system call that waits for all bytes: a third cheaper than taking them as they come.
        """
        while view:
            self._set_timeout(socket.SO_RCVTIMEO, deadline)
            try:
                view = view[_some(self._socket.recv_into(view, len(view), socket.MSG_WAITALL)) :]
            except BlockingIOError:
                raise deadline.passed() from None

    def is_readable(self, timeout_ms: int) -> bool:
        """Wait until there is something to read, and return whether there is.

        The end of the stream and errors count too.
        """
        poll = select.poll()
        poll.register(self._socket, select.POLLIN)
        return bool(poll.poll(timeout_ms))

    def fileno(self) -> int:
        """Return the descriptor, for selectors."""
        return self._socket.fileno()

    def close(self) -> None:
        """Close at once. May be called any number of times."""
        self._socket.close()

    def _set_timeout(self, option: int, deadline: Deadline) -> None:
        left_us = max(1, int(deadline.left_s() * 1_000_000))
        self._socket.setsockopt(socket.SOL_SOCKET, option, struct.pack("ll", *divmod(left_us, 1_000_000)))


class _TlsTransport(Transport):
    """A connected socket with TLS. Python's ssl module keeps time only by the socket's own time-out."""

    __slots__ = ()
    _socket: ssl.SSLSocket

    def send(self, data: bytes, deadline: Deadline) -> None:
        self._socket.settimeout(deadline.left_s())
        self._socket.sendall(data)

    def receive_into(self, view: memoryview, deadline: Deadline) -> None:
        while view:
            self._socket.settimeout(deadline.left_s())
            view = view[_some(self._socket.recv_into(view)) :]

    def is_readable(self, timeout_ms: int) -> bool:
        # OpenSSL may have decrypted bytes already that the system call does not see any more.
        return self._socket.pending() > 0 or super().is_readable(timeout_ms)


def open_transport(
    address: BrokerAddress, settings: SocketSettings, deadline: Deadline, *, tls: ssl.SSLContext | None
) -> Transport:
    """Connect to the first of the host's addresses that answers, and shake hands if there is TLS.

    Raises:
        OSError: no address answered (the error of the last one), the name does not resolve, or TLS failed.
    """
    connected = _connect(address, settings, deadline)
    if tls is None:
        return Transport(connected)
    try:
        connected.settimeout(deadline.left_s())
        return _TlsTransport(tls.wrap_socket(connected, server_hostname=address.host))
    except BaseException:
        connected.close()
        raise


def _connect(address: BrokerAddress, settings: SocketSettings, deadline: Deadline) -> socket.socket:
    failure: OSError = OSError("its name has no address")
    for family, kind, protocol, _, where in _resolve(address):
        attempt = socket.socket(family, kind, protocol)
        try:
            _prepare(attempt, settings)
            attempt.settimeout(min(deadline.left_s(), settings.attempt_timeout_ms / 1000))
            attempt.connect(where)
        except OSError as error:
            attempt.close()
            failure = error
        except BaseException:
            attempt.close()
            raise
        else:
            return attempt
    raise failure


def _resolve(address: BrokerAddress) -> list[Any]:
    try:
        return socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
    except UnicodeError as error:
        raise socket.gaierror(socket.EAI_NONAME, f"no host can have this name: {error}") from error


def _prepare(attempt: socket.socket, settings: SocketSettings) -> None:
    attempt.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    attempt.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, size in (
        (socket.SO_RCVBUF, settings.receive_buffer_bytes),
        (socket.SO_SNDBUF, settings.send_buffer_bytes),
    ):
        if size > 0:
            # The system may not allow the size. Then it keeps its own, as with Java.
            with contextlib.suppress(OSError):
                attempt.setsockopt(socket.SOL_SOCKET, option, size)


def _some(count: int) -> int:
    """Return a number of bytes received. Zero bytes mean the end of the stream."""
    if count == 0:
        raise ConnectionResetError("end of stream")
    return count
