"""The options of the MQTT source, and the source that they make."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

from headwater.connector.barrier.options import BARRIER_OPTIONS, epoch_settings
from headwater.connector.formats.row_decoding import row_decoding, row_format_options
from headwater.connector.options import OptionTable, ParsedOptions
from headwater.connector.sources.configured import ConfiguredBarrierSource
from headwater.connector.sources.mqtt.source import MqttSource
from headwater.connector.sources.source_options import IDLE_TIMEOUT, RECEIVER_IDLE_TIMEOUT
from headwater.core.errors import OptionError
from headwater.core.options import Option, duration_ms, integer, names, text
from headwater.core.retry import Backoff
from headwater.core.secrets import TlsSettings
from headwater.core.source import Boundedness
from headwater.enumerators.mqtt.sessions import MqttSessions
from headwater.enumerators.mqtt.topic_filters import disjoint
from headwater.readers.mqtt.settings import MqttSettings, MqttVersion

_STREAM: Final = Boundedness.CONTINUOUS_UNBOUNDED
_PAYLOAD: Final = "payload"
"""The column that a format decodes."""
_PORTS: Final = {"mqtt": 1883, "mqtts": 8883}


class _Broker(NamedTuple):
    host: str
    port: int
    tls: bool


def _broker(raw: str) -> _Broker:
    parts = urlsplit(raw.strip())
    if parts.scheme not in _PORTS or not parts.hostname:
        raise ValueError(f"must be mqtt://host:port or mqtts://host:port, not {raw!r}")
    if parts.username is not None:
        raise ValueError("must hold no user and password: give the options username and password")
    if parts.path.strip("/") or parts.query:
        raise ValueError(f"must end with the port, not with {parts.path or parts.query!r}")
    return _Broker(parts.hostname, parts.port or _PORTS[parts.scheme], parts.scheme == "mqtts")


def _topics(raw: str) -> tuple[str, ...]:
    filters = names(raw)
    for topic in filters:
        *parents, _ = levels = topic.split("/")
        if "#" in parents or any(sign in level != sign for level in levels for sign in "+#"):
            raise ValueError(f"must be topic filters: + is a whole level, and # the last one, not {topic!r}")
    return disjoint(filters)


_BROKER: Final = Option(
    "broker",
    _broker,
    None,
    "Required: `mqtt://host:port` or `mqtts://host:port`.",
    needed_in=tuple(Boundedness),
)
_TOPICS: Final = Option(
    "topics",
    _topics,
    None,
    "Required: topic filters with commas between them, `+` and `#` included. They may change.",
    kind="names",
    needed_in=tuple(Boundedness),
)
_CLIENT_ID: Final = Option(
    "clientId",
    text,
    None,
    "Required for a stream: names its session at the broker, for this query alone.",
    only=_STREAM,
    needed_in=(_STREAM,),
)
_SESSIONS: Final = Option(
    "sessions",
    integer(1),
    1,
    "So many sessions share the messages (`$share`), a task for each; nothing keeps an order then. "
    "May change.",
)
_IDLE_TIMEOUT: Final = replace(IDLE_TIMEOUT, help="A session that brings nothing for so long is caught up.")
_RETRY_DEADLINE: Final = Option(
    "retryDeadline",
    duration_ms,
    120_000,
    "For how long a broker that is away is asked again, before the query fails.",
    shown_default="`2m`",
)
_QUICK: Final = {"barrierInterval": (250, "`250ms`")}
"""Messages are received between epochs too: an epoch need not wait for them."""


def _quick(option: Option[Any]) -> Option[Any]:
    default, text = _QUICK.get(option.name, (option.default, option.shown_default))
    return replace(option, default=default, shown_default=text)


MQTT_OPTIONS: Final = OptionTable(
    [
        _BROKER,
        _TOPICS,
        _CLIENT_ID,
        _SESSIONS,
        *MqttSettings.options(),
        *TlsSettings.options(),
        _IDLE_TIMEOUT,
        _RETRY_DEADLINE,
        RECEIVER_IDLE_TIMEOUT,
        *row_format_options(_PAYLOAD),
        *(_quick(option) for option in BARRIER_OPTIONS),
    ],
    other_words={
        **dict.fromkeys(("address", "host", "hostname", "port", "server", "servers", "uri", "url"), "broker"),
        "subscribe": "topics",
        "user": "username",
    },
)
"""The table that parses, and that `docs/mqtt.md` shows."""


def configure_mqtt(options: Mapping[str, str], boundedness: Boundedness | None) -> ConfiguredBarrierSource:
    """Make the MQTT source from the user's options. Opens nothing.

    Raises:
        OptionError: an option is unknown, malformed, missing or of the other mode.
        StateLocationError: ``stateLocation`` has no atomic put-if-absent.
    """
    parsed = MQTT_OPTIONS.parse(options, boundedness)
    broker = parsed.require(_BROKER, ": mqtt://host:port, or mqtts://host:port")
    topics = parsed.require(_TOPICS, ": such as sensors/+/temperature,alarms/#")
    _check_sharing(parsed)
    sessions = MqttSessions(_client_id(parsed, boundedness), parsed[_SESSIONS], topics)
    epochs = epoch_settings(parsed, boundedness, source="mqtt")
    tls = parsed.of(TlsSettings)
    tls.check_counts(encrypted=broker.tls, hint="mqtts://")
    backoff = Backoff(deadline_ms=parsed[_RETRY_DEADLINE])
    settings = parsed.of(
        MqttSettings,
        host=broker.host,
        port=broker.port,
        tls=tls if broker.tls else None,
        topics=sessions.filters,
        is_persistent=boundedness is _STREAM,
    )
    _check_version(settings, parsed)
    source = MqttSource(
        sessions=sessions,
        settings=settings,
        store=epochs.store,
        idle_ms=parsed[_IDLE_TIMEOUT],
        mode=boundedness or Boundedness.BOUNDED,
        decoding=row_decoding(parsed, _PAYLOAD),
        backoff=backoff,
        receiver_idle_ms=parsed[RECEIVER_IDLE_TIMEOUT],
    )
    return ConfiguredBarrierSource(source=source, epochs=epochs, backoff=backoff)


def _check_version(settings: MqttSettings, parsed: ParsedOptions) -> None:
    """Refuse options that the version of the protocol does not have."""
    if settings.version is MqttVersion.V5:
        return
    if settings.key is not None and settings.key[0] == "property":
        raise settings.refusal(
            "key",
            "MQTT 3.1.1 has no user properties: put the key into the payload (payload:<field>), or use "
            "option mqttVersion=5",
        )
    if parsed[_SESSIONS] > 1:
        raise OptionError(
            "MQTT 3.1.1 has no shared subscriptions: use one session, or option mqttVersion=5",
            option=_SESSIONS.name,
        )


def _check_sharing(parsed: ParsedOptions) -> None:
    """Refuse names of which no shared subscription can be made: they would be one to other topics."""
    if parsed[_SESSIONS] == 1:
        return
    if any(topic.startswith("$share/") for topic in parsed[_TOPICS] or ()):
        raise OptionError("must not begin with $share where option 'sessions' makes it", option=_TOPICS.name)
    client_id = parsed[_CLIENT_ID] or ""
    if any(sign in client_id for sign in "/+#"):
        raise OptionError("must have no /, + or # with several sessions", option=_CLIENT_ID.name)


def _client_id(parsed: ParsedOptions, boundedness: Boundedness | None) -> str:
    if boundedness is _STREAM:
        return parsed.require(
            _CLIENT_ID,
            " for a stream: it names the session in which the broker keeps what was not taken yet",
        )
    # A batch read leaves no session behind: any name will do that no other client has.
    return parsed[_CLIENT_ID] or f"headwater-{secrets.token_hex(8)}"
