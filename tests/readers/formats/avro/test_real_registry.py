"""A real registry, and values of Confluent's own serializer."""

from __future__ import annotations

import json
from typing import Any

import pytest

from headwater.readers.formats.avro.avro_format import ConfluentAvroFormat
from headwater.readers.formats.registry.client import registry
from headwater.readers.formats.registry.settings import RegistrySettings
from local_registry import LocalRegistry
from tests.readers.formats.avro.values import record, rows, spans

pytestmark = pytest.mark.heavy("the registry takes 25 s to start, for the first test that needs it")

POINT = record({"name": "y", "type": "int"}, name="Point")
V1 = record({"name": "id", "type": "int"}, {"name": "old", "type": "string"}, {"name": "p", "type": "Point"})
V2 = record(
    {"name": "new", "aliases": ["old"], "type": ["null", "string"], "default": None},
    {"name": "id", "type": "long"},
    {"name": "p", "type": ["null", "Point"], "default": None},
)


def test_values_of_confluents_serializer_with_schemas_that_evolve_and_refer_to_others(
    schema_registry: LocalRegistry,
) -> None:
    from confluent_kafka.schema_registry import Schema, SchemaReference, SchemaRegistryClient
    from confluent_kafka.schema_registry.avro import AvroSerializer
    from confluent_kafka.serialization import MessageField, SerializationContext

    with SchemaRegistryClient({"url": schema_registry.url}) as client:
        client.register_schema("decoder-points", Schema(json.dumps(POINT), "AVRO"))
        reference = SchemaReference("Point", "decoder-points", 1)
        context = SerializationContext("decoder-orders", MessageField.VALUE)

        def serializer(schema: Any) -> Any:
            return AvroSerializer(client, Schema(json.dumps(schema), "AVRO", [reference]))

        first, second = serializer(V1), serializer(V2)
        first({"id": 0, "old": "", "p": {"y": 0}}, context)  # registers the first version
        values = [
            first({"id": i, "old": f"o{i}", "p": {"y": i}}, context)
            if i % 2
            else second({"new": f"n{i}", "id": i, "p": None}, context)
            for i in range(100)
        ]
        settings = RegistrySettings(urls=(schema_registry.url,))
        latest = registry(settings).by_version("decoder-orders-value", "latest")
        made = ConfluentAvroFormat(latest.text, settings, tuple(text for _, text in latest.references))
        decoder = made.decoder()
        assert decoder.append(spans(values)) is None
        assert rows(made, decoder) == [
            {"new": f"{'no'[i % 2]}{i}", "id": i, "p": {"y": i} if i % 2 else None} for i in range(100)
        ]
