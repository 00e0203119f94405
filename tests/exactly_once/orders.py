"""Orders in Confluent's wire format, of several versions of their schema, and values that are none."""

from __future__ import annotations

import json
import random
from typing import Any

from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

from tests.exactly_once.registry_outages import RegistryOutages

__all__ = ["Orders"]

_ID = {"name": "id", "type": "long"}
_NOTE = {"name": "note", "type": ["null", "string"], "default": None}
_AMOUNT = {"name": "amount", "type": "double", "default": 1.5}
_VERSIONS = ([_ID], [_ID, _NOTE], [_NOTE, _AMOUNT, _ID])
"""Each can be read with any other, as it is with all that Confluent calls compatible."""


class Orders:
    """Makes values by number, each of some version that is registered: of neighbours mostly another one.

    Args:
        topic: names the subject.
        outages: of the registry.
        rng: for versions and garbage.

    Attributes:
        values: what was made.
        bad: the numbers of those that cannot be decoded.
    """

    def __init__(self, topic: str, outages: RegistryOutages, rng: random.Random) -> None:
        self._context = SerializationContext(topic, MessageField.VALUE)
        self._outages = outages
        self._rng = random.Random(rng.random())  # of the producer's thread
        self._serializers: list[AvroSerializer] = []
        self._header = b""
        self.values: dict[int, bytes | None] = {}
        self.bad: set[int] = set()

    def next_version(self) -> None:
        """Register the next version of the schema, if there is one; producers begin to write it."""
        if len(self._serializers) == len(_VERSIONS):
            return
        fields = _VERSIONS[len(self._serializers)]
        schema = json.dumps({"type": "record", "name": "Order", "fields": fields})
        # With its first value a serializer registers its schema; it never asks again.
        with self._outages.up, SchemaRegistryClient({"url": self._outages.url}) as client:
            serializer = AvroSerializer(client, schema, conf={"subject.name.strategy.type": "TOPIC"})
            first = serializer(_order(-1), self._context)
        assert first is not None
        self._header = first[:5]
        self._serializers.append(serializer)

    def all_versions(self) -> None:
        """Register the versions that are left."""
        while len(self._serializers) < len(_VERSIONS):
            self.next_version()

    def __call__(self, number: int) -> bytes | None:
        chance = self._rng.random()
        if chance < 0.1:
            value: bytes | None = self._garbage()
            self.bad.add(number)
        elif chance < 0.13:
            value = None
        else:
            value = self._rng.choice(self._serializers)(_order(number), self._context)
        self.values[number] = value
        return value

    def _garbage(self) -> bytes:
        return self._rng.choice([
            b"",
            b"\0\0\0",
            b'{"id": 7}',
            b"\x03\0" + bytes(30),  # the wire format of AWS Glue
            self._header,
            self._header + b"\xff" * 12,
            "grüße".encode(),
            b"\xff" + self._rng.randbytes(20),
        ])  # fmt: skip


def _order(number: int) -> dict[str, Any]:
    return {"id": number, "note": f"note {number}", "amount": number / 2}
