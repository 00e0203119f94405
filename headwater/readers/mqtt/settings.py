"""What the user says about an MQTT broker."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import pyarrow as pa

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


@dataclass(frozen=True, kw_only=True)
class MqttSettings:
    """How to reach the broker, and what to take. Picklable; opens nothing.

    Attributes:
        host: of the broker.
        port: of the broker.
        tls: whom to trust; None if the connection is not encrypted.
        username: as `headwater.core.secrets.resolved_secret` takes it; None if the broker wants none.
        password: of the user, in the same way. Never shown.
        version: of the protocol.
        topics: topic filters; of a session that leaves, those that it was subscribed to.
        is_leaving: whether the session is to take nothing new.
        is_persistent: whether the session outlives the connection. That of a batch read does not.
        key: where the key of a message is, as (``payload`` or ``property``, name); None if messages have
            none.
        in_flight: the most messages that the broker sends before the first is acknowledged.
    """

    host: str
    port: int
    tls: TlsSettings | None = field(repr=False)
    username: str | None
    password: str | None = field(repr=False)
    version: MqttVersion
    topics: tuple[str, ...]
    is_leaving: bool = False
    is_persistent: bool
    key: tuple[str, str] | None
    in_flight: int
