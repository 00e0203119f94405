"""The user's settings of an MQTT broker."""

from __future__ import annotations

from dataclasses import field
from enum import StrEnum
from typing import Any

import pyarrow as pa

from headwater.core.options import WHERE_SECRETS_ARE, Spec, boolean, integer, one_of, option
from headwater.core.secrets import TlsSettings

_FIELDS: list[pa.Field[Any]] = [
    pa.field("topic", pa.string()),
    pa.field("payload", pa.binary()),
    pa.field("qos", pa.int32()),
    pa.field("retained", pa.bool_()),
    pa.field("received", pa.timestamp("us", tz="UTC")),
]
MQTT_SCHEMA = pa.schema(_FIELDS)


class MqttVersion(StrEnum):
    """Of the protocol, as the option has it."""

    V3_1_1 = "3.1.1"
    V5 = "5"


def _key(raw: str) -> tuple[str, str]:
    kind, colon, name = raw.strip().partition(":")
    if kind not in {"payload", "property"} or not colon or not name:
        raise ValueError(
            f"must be payload:<field of the JSON payload> or property:<name of a user property>, not {raw!r}"
        )
    return kind, name


class MqttSettings(Spec):
    """How to reach the broker, and which messages to take. Picklable; opens nothing.

    Attributes:
        host: of the broker.
        port: of the broker.
        tls: whom to trust; None if the connection is not encrypted.
        topics: topic filters; of a session that leaves, those that it was subscribed to.
        is_leaving: whether the session is to take nothing new.
        is_persistent: whether the session outlives the connection. That of a batch read does not.
    """

    host: str
    port: int
    tls: TlsSettings | None = field(repr=False)
    version: MqttVersion = option(
        "mqttVersion",
        "Of the protocol: `5` or `3.1.1`.",
        default=MqttVersion.V5,
        parse=one_of(MqttVersion.V5, MqttVersion.V3_1_1),
        shown_default="`5`",
        after="broker",
    )
    topics: tuple[str, ...]
    is_leaving: bool = False
    is_persistent: bool
    key: tuple[str, str] | None = option(
        "messageKey",
        "What tells a second delivery from the first: `payload:<field>` of a JSON payload, names with dots "
        "between them, or `property:<name>`. Without it the guarantee is at least once.",
        default=None,
        parse=_key,
        shown_default="at least once",
    )
    username: str | None = option("username", f"For the broker. {WHERE_SECRETS_ARE}", default=None)
    password: str | None = option(
        "password", f"For the broker. {WHERE_SECRETS_ARE}", default=None, is_secret=True
    )
    fail_on_data_loss: bool = option(
        "failOnDataLoss",
        "Whether a query fails if the broker has forgotten a session, and the messages that it kept there; "
        "otherwise a warning names it, a stream counts it (`hw.LagListener`), and a new session begins.",
        default=True,
        parse=boolean,
        after="retryDeadline",
    )
    in_flight: int = option(
        "maxInFlight",
        "The most messages that the broker sends before the first one is acknowledged, and of one segment.",
        default=5_000,
        parse=integer(1, 65_535),  # MQTT 5 writes its Receive Maximum in two bytes
        after="receiverIdleTimeout",
    )
