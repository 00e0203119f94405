"""paho's client, and a socket from which it reads everything but messages."""

from __future__ import annotations

import select
import ssl
import time
from typing import TYPE_CHECKING, Final

from paho.mqtt.client import Client
from paho.mqtt.enums import CallbackAPIVersion, MQTTProtocolVersion

from headwater.core.secrets import kept_secret, resolved_secret
from headwater.readers.mqtt.packets import PacketStream
from headwater.readers.mqtt.settings import MqttSettings, MqttVersion

if TYPE_CHECKING:
    from paho.mqtt.client import SocketLike


_READ_BYTES: Final = 1 << 16
_GOODBYE_S: Final = 5
_PING_ANSWER: Final = b"\xd0\x00"


class BufferedSocket:
    """The part of a non-blocking socket that paho uses. Used by one thread.

    Messages go where the packet stream says, and never come to paho. Sent bytes wait for `flush`.

    Attributes:
        is_drained: whether the system had nothing more when it was last asked.
        failure: the error of the connection, of which paho says nothing more than that it is lost.

    Args:
        connected: the socket below.
        stream: cuts received bytes into packets.
    """

    def __init__(self, connected: SocketLike, stream: PacketStream) -> None:
        self._below = connected
        self._stream = stream
        self._packets = b""
        self._at = 0
        self._unsent = bytearray()
        self.is_drained = False
        self.failure: OSError | None = None

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
            except OSError as error:
                self.failure = error
                raise
            if not received:
                return b""
            self._packets = self._stream.take(received) or _PING_ANSWER
            self._at = 0
        chunk = self._packets[self._at : self._at + buffer_size]
        self._at += len(chunk)
        return chunk

    def send(self, buffer: bytes | bytearray) -> int:
        """Take bytes to be sent."""
        self._unsent += buffer
        return len(buffer)

    def flush(self) -> None:
        """Send as much as the system takes now. Raises `OSError` if the connection is lost."""
        try:
            while self._unsent:
                # A copy: TLS wants the very same bytes again after it could not send them.
                del self._unsent[: self._below.send(bytes(self._unsent))]
        except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
            return

    def close(self) -> None:
        """Send the rest, if the other side takes it soon, and close."""
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


_PROTOCOLS: Final = {
    MqttVersion.V5: MQTTProtocolVersion.MQTTv5,
    MqttVersion.V3_1_1: MQTTProtocolVersion.MQTTv311,
}


class BrokerClient(Client):
    """paho's client over a `BufferedSocket`. It connects once.

    Attributes:
        stream: cuts received bytes into packets. Set before it connects.
        buffered: the socket; None before it has connected.
    """

    stream: PacketStream
    buffered: BufferedSocket | None = None

    def _create_socket(self) -> SocketLike:
        self.buffered = BufferedSocket(super()._create_socket(), self.stream)
        return self.buffered


def new_client(settings: MqttSettings, client_id: str, stream: PacketStream, *, clean: bool) -> BrokerClient:
    """Return a client that has not connected.

    Args:
        settings: the user's settings.
        client_id: names the session.
        stream: cuts received bytes into packets.
        clean: whether the session begins anew.

    Raises:
        SourceError: a secret or a certificate cannot be read.
    """
    is_5 = settings.version is MqttVersion.V5
    client = BrokerClient(
        CallbackAPIVersion.VERSION2,
        client_id,
        clean_session=None if is_5 else clean,
        protocol=_PROTOCOLS[settings.version],
    )
    client.stream = stream
    if settings.username is not None:
        password = settings.password
        client.username_pw_set(
            resolved_secret(settings.username, "option 'username'"),
            None if password is None else kept_secret(password, "option 'password'"),
        )
    if settings.tls is not None:
        context = settings.tls.context()
        context.sslsocket_class = _EncryptedSocket
        client.tls_set_context(context)
    return client


class _EncryptedSocket(ssl.SSLSocket):
    """Closes itself where no connection comes about: paho forgets it then."""

    def do_handshake(self, block: bool = False) -> None:
        try:
            super().do_handshake(block)
        except OSError:
            self.close()
            raise
