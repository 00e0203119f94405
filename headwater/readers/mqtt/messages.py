"""Messages of a broker as rows, with their keys."""

from __future__ import annotations

import contextlib
import json
import time
from typing import Final

import pyarrow as pa
from paho.mqtt.client import MQTTMessage

from headwater.readers.mqtt.settings import MQTT_SCHEMA
from headwater.readers.runtime.staging.staged_client import Delivery

_TIME: Final = pa.timestamp("us", tz="UTC")

Token = tuple[int, int]
"""Packet id and quality of service: what an acknowledgement needs."""


def delivery(taken: list[MQTTMessage], key: tuple[str, str] | None) -> Delivery[Token]:
    """Return messages as they are staged.

    Args:
        taken: the messages.
        key: where the key of a message is, as `MqttSettings.key` has it.
    """
    # paho notes when a message came on the clock of `time.monotonic`.
    since_1970 = time.time() - time.monotonic()
    rows = pa.RecordBatch.from_arrays(
        [
            pa.array([message.topic for message in taken], pa.string()),
            pa.array([message.payload for message in taken], pa.binary()),
            pa.array([message.qos for message in taken], pa.int32()),
            pa.array([message.retain for message in taken], pa.bool_()),
            pa.array([int((message.timestamp + since_1970) * 1e6) for message in taken], _TIME),
        ],
        schema=MQTT_SCHEMA,
    )
    return Delivery(
        rows,
        [None] * len(taken) if key is None else [key_of(message, *key) for message in taken],
        [(message.mid, message.qos) for message in taken],
    )


def key_of(message: MQTTMessage, kind: str, name: str) -> bytes | None:
    """Return the key of a message; None if it has none: a second delivery of it is not noticed."""
    if kind == "property":
        pairs = getattr(message.properties, "UserProperty", [])
        return next((value.encode() for found, value in pairs if found == name), None)
    # A payload that is no JSON, or is nested too deep to be read, has no key.
    with contextlib.suppress(ValueError, RecursionError):
        value = json.loads(message.payload)
        for step in name.split("."):
            value = value.get(step) if isinstance(value, dict) else None
        return None if value is None else json.dumps(value, sort_keys=True).encode()
    return None
