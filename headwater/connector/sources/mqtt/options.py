"""The options of the MQTT source."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

from headwater.connector.barrier.options import BARRIER_OPTIONS
from headwater.connector.formats.row_decoding import row_format_options
from headwater.connector.options import OptionTable
from headwater.core.options import WHERE_SECRETS_ARE, Option, duration_ms, integer, names, one_of, text
from headwater.core.secrets import TlsSettings
from headwater.core.source import Boundedness
from headwater.enumerators.mqtt.topic_filters import disjoint
from headwater.readers.mqtt.settings import MqttVersion

STREAM: Final = Boundedness.CONTINUOUS_UNBOUNDED
PAYLOAD: Final = "payload"
"""The column that a format decodes."""
_PORTS: Final = {"mqtt": 1883, "mqtts": 8883}
_LEAST_IDLE_MS: Final = 1_000


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


def _idle_ms(raw: str) -> int:
    found_ms = duration_ms(raw)
    if found_ms < _LEAST_IDLE_MS:
        raise ValueError("must be 1s at least: before a task has asked a new receiver, it would end")
    return found_ms


def _topics(raw: str) -> tuple[str, ...]:
    found = names(raw)
    for topic in found:
        *before, _ = levels = topic.split("/")
        if "#" in before or any(sign in level != sign for level in levels for sign in "+#"):
            raise ValueError(f"must be topic filters: + is a whole level, and # the last one, not {topic!r}")
    return disjoint(found)


def _key(raw: str) -> tuple[str, str]:
    kind, colon, name = raw.strip().partition(":")
    if kind not in {"payload", "property"} or not colon or not name:
        raise ValueError(
            f"must be payload:<field of the JSON payload> or property:<name of a user property>, not {raw!r}"
        )
    return kind, name


BROKER: Final = Option(
    "broker",
    _broker,
    None,
    "Required: `mqtt://host:port` or `mqtts://host:port`.",
    needed_in=tuple(Boundedness),
)
VERSION: Final = Option(
    "mqttVersion",
    one_of(MqttVersion.V5, MqttVersion.V3_1_1),
    MqttVersion.V5,
    "Of the protocol: `5` or `3.1.1`.",
    shown_default="`5`",
)
TOPICS: Final = Option(
    "topics",
    _topics,
    None,
    "Required: topic filters with commas between them, `+` and `#` included. They may change.",
    kind="names",
    needed_in=tuple(Boundedness),
)
CLIENT_ID: Final = Option(
    "clientId",
    text,
    None,
    "Required for a stream: names its session at the broker, for this query alone.",
    only=STREAM,
    needed_in=(STREAM,),
)
SESSIONS: Final = Option(
    "sessions",
    integer(1),
    1,
    "So many sessions share the messages (`$share`), a task for each; nothing keeps an order then. "
    "May change.",
)
MESSAGE_KEY: Final = Option(
    "messageKey",
    _key,
    None,
    "What tells a second delivery from the first: `payload:<field>` of a JSON payload, names with dots "
    "between them, or `property:<name>`. Without it the guarantee is at least once.",
    shown_default="at least once",
)
USERNAME: Final = Option("username", text, None, f"For the broker. {WHERE_SECRETS_ARE}")
PASSWORD: Final = Option("password", text, None, f"For the broker. {WHERE_SECRETS_ARE}")
IDLE_TIMEOUT: Final = Option(
    "idleTimeout",
    duration_ms,
    500,
    "A session that brings nothing for so long is caught up.",
    shown_default="`500ms`",
)
MAX_IN_FLIGHT: Final = Option(
    "maxInFlight",
    integer(1, 65_535),  # MQTT 5 writes its Receive Maximum in two bytes
    5_000,
    "The most messages that the broker sends before the first one is acknowledged, and of one segment.",
)
RETRY_DEADLINE: Final = Option(
    "retryDeadline",
    duration_ms,
    120_000,
    "For how long a broker that is away is asked again, before the query fails.",
    shown_default="`2m`",
)
RECEIVER_IDLE_TIMEOUT: Final = Option(
    "receiverIdleTimeout",
    _idle_ms,
    600_000,
    "How long a receiver stays connected when no task asks for what it received: longer than the trigger's "
    "interval and than a restart of the query.",
    shown_default="`10m`",
    kind="duration",
)
_QUICK: Final = {"barrierInterval": (250, "`250ms`"), "pollInterval": (1_000, "`1s`")}
"""Messages are received between epochs too: an epoch need not wait for them, and to look costs little."""


def _quick(option: Option[Any]) -> Option[Any]:
    default, shown = _QUICK.get(option.name, (option.default, option.shown_default))
    return replace(option, default=default, shown_default=shown)


MQTT_OPTIONS: Final = OptionTable(
    [
        BROKER,
        VERSION,
        TOPICS,
        CLIENT_ID,
        SESSIONS,
        MESSAGE_KEY,
        USERNAME,
        PASSWORD,
        *TlsSettings.options(),
        IDLE_TIMEOUT,
        RETRY_DEADLINE,
        RECEIVER_IDLE_TIMEOUT,
        MAX_IN_FLIGHT,
        *row_format_options(PAYLOAD),
        *(_quick(option) for option in BARRIER_OPTIONS),
    ],
    other_words={
        **dict.fromkeys(("address", "host", "hostname", "port", "server", "servers", "uri", "url"), "broker"),
        "subscribe": "topics",
        "user": "username",
    },
)
"""The table that parses, and that `docs/mqtt.md` shows."""
