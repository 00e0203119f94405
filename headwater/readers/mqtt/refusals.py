"""What a broker says when it lets a client go, or does not let it in, as errors."""

from __future__ import annotations

from typing import Final

from paho.mqtt.enums import MQTTErrorCode
from paho.mqtt.reasoncodes import ReasonCode

from headwater.core.errors import AuthenticationError, AuthorizationError, SourceError, TransientSourceError
from headwater.readers.mqtt.settings import MqttSettings
from headwater.readers.runtime.staging.staged_client import QueueTakenError

_AUTHENTICATION: Final = frozenset({134, 140})
_AUTHORIZATION: Final = frozenset({135, 138})
_BUSY: Final = frozenset({136, 137, 139})
"""Server unavailable, busy, shutting down."""
_SESSION_TAKEN_OVER: Final = 142


def loss(reason: ReasonCode | MQTTErrorCode, settings: MqttSettings, client_id: str) -> SourceError:
    """Return the error of a connection that is lost.

    Args:
        reason: what the broker said, or what paho found.
        settings: of the connection.
        client_id: names the session.
    """
    if isinstance(reason, ReasonCode):
        if reason.value == _SESSION_TAKEN_OVER:
            return QueueTakenError(
                f"another client has connected to the MQTT broker as {client_id!r} (session taken over)",
                source="mqtt",
                split=client_id,
            )
        if reason.value in _AUTHENTICATION | _AUTHORIZATION:
            return refusal(reason, settings, client_id)
    said = reason.getName() if isinstance(reason, ReasonCode) else reason.name
    return TransientSourceError(
        f"the connection to the MQTT broker is lost: {said}", source="mqtt", split=client_id
    )


def refusal(reason: ReasonCode, settings: MqttSettings, client_id: str) -> SourceError:
    """Return the error of a request that the broker refuses."""
    said = f"the MQTT broker at {settings.host}:{settings.port} says: {reason}"
    if reason.value in _AUTHENTICATION:
        return AuthenticationError(f"{said}; check username and password", source="mqtt", split=client_id)
    if reason.value in _AUTHORIZATION:
        topics = ", ".join(settings.topics)
        return AuthorizationError(
            f"{said}; the user may not subscribe to {topics}", source="mqtt", split=client_id
        )
    if reason.value in _BUSY:
        return TransientSourceError(said, source="mqtt", split=client_id)
    return SourceError(said, source="mqtt", split=client_id)
