"""Messages of a broker as rows, with their keys."""

from __future__ import annotations

import contextlib
import json
import struct
from collections.abc import Sequence
from typing import Final

import pyarrow as pa
from paho.mqtt.exception import MQTTException
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from headwater.readers.mqtt.packets import MqttMessage
from headwater.readers.mqtt.settings import MQTT_SCHEMA
from headwater.readers.runtime.staging.staged_client import Delivery

_KEY_ENCODER: Final = json.JSONEncoder(sort_keys=True)

Token = tuple[int, int]
"""Packet id and quality of service: what an acknowledgement needs."""


def delivery(taken: Sequence[MqttMessage], key: tuple[str, str] | None) -> Delivery[Token]:
    """Return messages as they are staged.

    Args:
        taken: the messages, at least one.
        key: where the key of a message is, as `MqttSettings.key` has it.
    """
    topics, payloads, packet_ids, qualities, retained, received, _ = zip(*taken, strict=True)
    columns = (topics, payloads, qualities, retained, received)
    rows = pa.RecordBatch.from_arrays(
        [pa.array(column, field.type) for column, field in zip(columns, MQTT_SCHEMA, strict=True)],
        schema=MQTT_SCHEMA,
    )
    return Delivery(
        rows,
        [None] * len(taken) if key is None else [key_of(message, *key) for message in taken],
        list(zip(packet_ids, qualities, strict=True)),
    )


def key_of(message: MqttMessage, kind: str, name: str) -> bytes | None:
    """Return the key of a message; None if it has none: a second delivery of it is not noticed."""
    return (
        _of_payload(message.payload, name) if kind == "payload" else _of_properties(message.properties, name)
    )


def _of_payload(payload: bytes, name: str) -> bytes | None:
    # A payload that is no JSON, or is nested too deep to be read, has no key.
    with contextlib.suppress(ValueError, RecursionError):
        value = json.loads(payload)
        for step in name.split("."):
            value = value.get(step) if isinstance(value, dict) else None
        return None if value is None else _KEY_ENCODER.encode(value).encode()
    return None


def _of_properties(encoded: bytes, name: str) -> bytes | None:
    properties = Properties(PacketTypes.PUBLISH)  # type: ignore[no-untyped-call]
    # Properties that cannot be read have no key.
    with contextlib.suppress(MQTTException, ValueError, LookupError, struct.error):
        properties.unpack(encoded)  # type: ignore[no-untyped-call]
        pairs = getattr(properties, "UserProperty", [])
        return next((value.encode() for found, value in pairs if found == name), None)
    return None
