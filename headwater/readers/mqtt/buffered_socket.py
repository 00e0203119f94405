"""A socket that asks the system for much at a time: paho reads a message in five pieces, two of one byte."""

from __future__ import annotations

import select
import ssl
import time
from typing import TYPE_CHECKING, Final

from paho.mqtt.client import Client

if TYPE_CHECKING:
    from paho.mqtt.client import SocketLike

_READ_BYTES: Final = 1 << 16
_GOODBYE_S: Final = 5


class BufferedSocket:
    """What paho needs of a socket that does not block. Used by one thread.

    What is sent waits for `flush`.

    Args:
        connected: the socket below.
    """

    def __init__(self, connected: SocketLike) -> None:
        self._below = connected
        self._read = b""
        self._at = 0
        self._unsent = bytearray()
        self.is_drained = False

    @property
    def has_unsent(self) -> bool:
        """Whether something waits for `flush`."""
        return bool(self._unsent)

    def recv(self, buffer_size: int) -> bytes:
        """Return some bytes, at least one; none at the end.

        Raises:
            BlockingIOError: there are none now, and `is_drained` says so.
        """
        if self._at == len(self._read):
            try:
                self._read = self._below.recv(_READ_BYTES)
            except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError) as error:
                self.is_drained = True
                raise BlockingIOError from error
            self._at = 0
        taken = self._read[self._at : self._at + buffer_size]
        self._at += len(taken)
        return taken

    def send(self, buffer: bytes | bytearray) -> int:
        """Take bytes to be sent."""
        self._unsent += buffer
        return len(buffer)

    def flush(self) -> None:
        """Send what the system takes now. Raises `OSError` if the connection is lost."""
        try:
            while self._unsent:
                # A copy: TLS wants the very same bytes again after it could not send them.
                del self._unsent[: self._below.send(bytes(self._unsent))]
        except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
            return

    def close(self) -> None:
        """Send what is left, if the other side takes it soon, and close."""
        until_s = time.monotonic() + _GOODBYE_S
        try:
            self.flush()
            while self._unsent and time.monotonic() < until_s:
                select.select([], [self.fileno()], [], _GOODBYE_S)
                self.flush()
        except OSError:
            self._unsent.clear()
        finally:
            self._below.close()

    def fileno(self) -> int:
        """Return the number of the socket below."""
        return self._below.fileno()

    def setblocking(self, flag: bool) -> None:
        """Let the socket below block, or not."""
        self._below.setblocking(flag)


class BufferedClient(Client):
    """paho's client over a `BufferedSocket`.

    Attributes:
        buffered: the socket of the present connection; None before there is one.
    """

    buffered: BufferedSocket | None = None

    def _create_socket(self) -> SocketLike:
        self.buffered = BufferedSocket(super()._create_socket())
        return self.buffered
