"""paho's client, as a session needs it."""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING, Final

from paho.mqtt.client import Client
from paho.mqtt.enums import CallbackAPIVersion, MQTTProtocolVersion

from headwater.core.secrets import resolved_secret
from headwater.readers.mqtt.buffered_socket import BufferedSocket
from headwater.readers.mqtt.packets import PacketStream
from headwater.readers.mqtt.settings import MqttSettings, MqttVersion

if TYPE_CHECKING:
    from paho.mqtt.client import SocketLike

_PROTOCOLS: Final = {
    MqttVersion.V5: MQTTProtocolVersion.MQTTv5,
    MqttVersion.V3_1_1: MQTTProtocolVersion.MQTTv311,
}


class BrokerClient(Client):
    """paho's client over a `BufferedSocket`. It connects once.

    Attributes:
        stream: cuts what is received. Set before it connects.
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
        settings: what the user says.
        client_id: names the session.
        stream: cuts what is received.
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
            None if password is None else resolved_secret(password, "option 'password'"),
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
