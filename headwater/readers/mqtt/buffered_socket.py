"""A socket from which paho reads what is no message."""

from __future__ import annotations

import select
import ssl
import time
from typing import TYPE_CHECKING, Final

from headwater.readers.mqtt.packets import PacketStream

if TYPE_CHECKING:
    from paho.mqtt.client import SocketLike

_READ_BYTES: Final = 1 << 16
_GOODBYE_S: Final = 5
_PING_ANSWER: Final = b"\xd0\x00"


class BufferedSocket:
    """What paho needs of a socket that does not block. Used by one thread.

    Messages go where the packet stream says, and never come to paho. What is sent waits for `flush`.

    Attributes:
        is_drained: whether the system had nothing more when it was last asked.

    Args:
        connected: the socket below.
        stream: cuts what is received.
    """

    def __init__(self, connected: SocketLike, stream: PacketStream) -> None:
        self._below = connected
        self._stream = stream
        self._packets = b""
        self._at = 0
        self._unsent = bytearray()
        self.is_drained = False

    @property
    def has_unsent(self) -> bool:
        """Whether something waits for `flush`."""
        return bool(self._unsent)

    def recv(self, buffer_size: int) -> bytes:
        """Return some bytes of packets that are no messages, at least one; none at the end.

        Asks the system once at most. Where messages alone have come, these are those of an answer to a ping:
        paho would take a broker for dead whose real answer stands behind many messages.

        Raises:
            BlockingIOError: nothing has come, as `is_drained` says.
            MalformedPacketError: a message cannot be read.
        """
        if self._at == len(self._packets):
            try:
                received = self._below.recv(_READ_BYTES)
            except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError) as error:
                self.is_drained = True
                raise BlockingIOError from error
            if not received:
                return b""
            self._packets = self._stream.take(received) or _PING_ANSWER
            self._at = 0
        taken = self._packets[self._at : self._at + buffer_size]
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
