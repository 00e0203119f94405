"""From the user's options to the MQTT source."""

from __future__ import annotations

import secrets
from collections.abc import Mapping

from headwater.connector.barrier.options import epoch_settings
from headwater.connector.formats.row_decoding import row_decoding
from headwater.connector.options import ParsedOptions
from headwater.connector.sources.configured import ConfiguredBarrierSource
from headwater.connector.sources.mqtt.options import (
    BROKER,
    CLIENT_ID,
    IDLE_TIMEOUT,
    MAX_IN_FLIGHT,
    MESSAGE_KEY,
    MQTT_OPTIONS,
    PASSWORD,
    PAYLOAD,
    RECEIVER_IDLE_TIMEOUT,
    RETRY_DEADLINE,
    SESSIONS,
    STREAM,
    TOPICS,
    USERNAME,
    VERSION,
)
from headwater.connector.sources.mqtt.source import MqttSource
from headwater.core.errors import OptionError
from headwater.core.retry import Backoff
from headwater.core.secrets import TlsSettings
from headwater.core.source import Boundedness
from headwater.enumerators.mqtt.sessions import MqttSessions
from headwater.readers.mqtt.settings import MqttSettings, MqttVersion


def configure_mqtt(options: Mapping[str, str], boundedness: Boundedness | None) -> ConfiguredBarrierSource:
    """Make the MQTT source from the user's options. Opens nothing.

    Raises:
        OptionError: an option is unknown, malformed, missing or of the other mode.
        StateLocationError: ``stateLocation`` has no atomic put-if-absent.
    """
    parsed = MQTT_OPTIONS.parse(options, boundedness)
    broker = parsed.require(BROKER, ": mqtt://host:port, or mqtts://host:port")
    topics = parsed.require(TOPICS, ": such as sensors/+/temperature,alarms/#")
    _check_version(parsed)
    _check_sharing(parsed)
    sessions = MqttSessions(_client_id(parsed, boundedness), parsed[SESSIONS], topics)
    epochs = epoch_settings(parsed, boundedness, source="mqtt")
    tls = parsed.of(TlsSettings)
    tls.check_counts(encrypted=broker.tls, hint="mqtts://")
    backoff = Backoff(deadline_ms=parsed[RETRY_DEADLINE])
    source = MqttSource(
        sessions=sessions,
        settings=MqttSettings(
            host=broker.host,
            port=broker.port,
            tls=tls if broker.tls else None,
            username=parsed[USERNAME],
            password=parsed[PASSWORD],
            version=parsed[VERSION],
            topics=sessions.filters,
            is_persistent=boundedness is STREAM,
            key=parsed[MESSAGE_KEY],
            in_flight=parsed[MAX_IN_FLIGHT],
        ),
        store=epochs.store,
        idle_ms=parsed[IDLE_TIMEOUT],
        mode=boundedness or Boundedness.BOUNDED,
        decoding=row_decoding(parsed, PAYLOAD),
        backoff=backoff,
        receiver_idle_ms=parsed[RECEIVER_IDLE_TIMEOUT],
    )
    return ConfiguredBarrierSource(source=source, epochs=epochs, backoff=backoff)


def _check_version(parsed: ParsedOptions) -> None:
    """Refuse what the version of the protocol does not have."""
    if parsed[VERSION] is MqttVersion.V5:
        return
    key = parsed[MESSAGE_KEY]
    if key is not None and key[0] == "property":
        raise OptionError(
            "MQTT 3.1.1 has no user properties: put the key into the payload (payload:<field>), or use "
            "option mqttVersion=5",
            option=MESSAGE_KEY.name,
        )
    if parsed[SESSIONS] > 1:
        raise OptionError(
            "MQTT 3.1.1 has no shared subscriptions: use one session, or option mqttVersion=5",
            option=SESSIONS.name,
        )


def _check_sharing(parsed: ParsedOptions) -> None:
    """Refuse names of which no shared subscription can be made: they would be one to other topics."""
    if parsed[SESSIONS] == 1:
        return
    if any(topic.startswith("$share/") for topic in parsed[TOPICS] or ()):
        raise OptionError("must not begin with $share where option 'sessions' makes it", option=TOPICS.name)
    client_id = parsed[CLIENT_ID] or ""
    if any(sign in client_id for sign in "/+#"):
        raise OptionError("must have no /, + or # with several sessions", option=CLIENT_ID.name)


def _client_id(parsed: ParsedOptions, boundedness: Boundedness | None) -> str:
    if boundedness is STREAM:
        return parsed.require(
            CLIENT_ID,
            " for a stream: it names the session in which the broker keeps what was not taken yet",
        )
    # A batch read leaves no session behind: any name will do that no other client has.
    return parsed[CLIENT_ID] or f"headwater-{secrets.token_hex(8)}"
