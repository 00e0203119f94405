"""Schemas named in headers of records, as Confluent's serializers do; both places in one topic."""

from __future__ import annotations

import base64
import json
import random
import uuid
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from confluent_kafka.schema_registry import (
    Schema,
    SchemaRegistryClient,
    header_schema_id_serializer,
    prefix_schema_id_serializer,
)
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.schema_registry.json_schema import JSONSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from hypothesis import given
from hypothesis import strategies as st

from headwater.core.errors import DeadlineError, SourceError
from headwater.readers.formats.avro.avro_format import ConfluentAvroFormat
from headwater.readers.formats.format import DecodedPart, Format, FormatOptions, Spans
from headwater.readers.formats.json.json_format import ConfluentJsonFormat, JsonValueFormat
from headwater.readers.formats.protobuf.format import ConfluentProtobufFormat
from headwater.readers.formats.registry.client import registry
from headwater.readers.formats.registry.settings import RegistrySettings
from headwater.readers.kafka.schema_headers import schema_headers
from tests.readers.formats.avro.values import record
from tests.readers.formats.protobuf.test_confluent_protobuf import made as made_of_protobuf
from tests.readers.formats.protobuf.test_confluent_protobuf import server as protobuf_server
from tests.readers.formats.protobuf.test_confluent_protobuf import zigzag
from tests.readers.formats.scripted_registry import ScriptedRegistry
from tests.readers.kafka.record_sets import Record, batch
from tests.readers.kafka.test_decoded_columns import emitted

__all__ = ["protobuf_server"]

V1 = json.dumps(record({"name": "id", "type": "long"}, {"name": "pad", "type": "string"}))
V2 = json.dumps(
    record(
        {"name": "pad", "type": "string"},
        {"name": "note", "type": ["null", "string"], "default": None},
        {"name": "id", "type": "long"},
    )
)
FIELDS = {"key": MessageField.KEY, "value": MessageField.VALUE}
SERIALIZERS = (header_schema_id_serializer, prefix_schema_id_serializer)


@pytest.fixture
def client() -> SchemaRegistryClient:
    """Confluent's client, with a registry of its own in this process."""
    made: SchemaRegistryClient = SchemaRegistryClient.new_client({"url": f"mock://{uuid.uuid4()}"})
    return made


@pytest.fixture
def server() -> Iterator[ScriptedRegistry]:
    registry = ScriptedRegistry()
    yield registry
    registry.close()


def share(client: SchemaRegistryClient, server: ScriptedRegistry, subject: str) -> None:
    """Let the server know what the client has registered, as Confluent's registry answers."""
    for version in client.get_versions(subject):
        found = client.get_version(subject, version)
        answer = {"schema": found.schema.schema_str, "schemaType": found.schema.schema_type}
        server.answers[f"/schemas/ids/{found.schema_id}"] = (200, answer)
        server.answers[f"/schemas/guids/{found.guid}"] = (200, {**answer, "guid": found.guid})


def avro(server: ScriptedRegistry, **more: Any) -> ConfluentAvroFormat:
    settings = RegistrySettings(urls=(server.url,), deadline_ms=200)
    return ConfluentAvroFormat(V2, settings, options=FormatOptions(**more))


def part_of(form: Format) -> DecodedPart:
    return DecodedPart(format=form, names_schemas=True)


@pytest.mark.parametrize("part", ["key", "value"])
def test_rows_are_those_of_confluents_deserializer_wherever_the_schema_is_named(
    client: SchemaRegistryClient, server: ScriptedRegistry, rng: random.Random, part: str
) -> None:
    serializers = [
        AvroSerializer(client, Schema(schema, "AVRO"), conf={"schema.id.serializer": place})
        for schema in (V1, V2)
        for place in SERIALIZERS
    ]
    records = []
    wanted = []
    deserializer = AvroDeserializer(client, Schema(V2, "AVRO"))
    for at in range(300):
        headers: list[Any] = [("trace", b"x")] * rng.randrange(3)
        context = SerializationContext("t", FIELDS[part], headers)
        written = rng.choice(serializers)(
            {"id": at, "pad": "x" * rng.randrange(9, 200), "note": "n"}, context
        )
        if rng.random() < 0.1:
            written = None
        row = None if written is None else deserializer(written, context)
        wanted.append(row or dict.fromkeys(("pad", "note", "id")))
        other = rng.choice([None, b"", b"other"])
        key, value = (written, other) if part == "key" else (other, written)
        records.append(Record(at, key=key, value=value, headers=headers))
    share(client, server, f"t-{part}")
    found = emitted(
        [f"{part}.*"], {part: part_of(avro(server))}, batch(records[:150]), batch(records[150:], 150)
    )
    assert found == wanted
    guids = [count for path, count in server.asked.items() if "/guids/" in path]
    assert guids == [1, 1], "each is asked for once"


def test_json_needs_no_registry(client: SchemaRegistryClient) -> None:
    schema = json.dumps({"title": "Order", "type": "object"})
    records = []
    for at, place in enumerate(SERIALIZERS):
        headers: list[Any] = []
        serializer = JSONSerializer(schema, client, conf={"schema.id.serializer": place})
        written = serializer({"id": at}, SerializationContext("t", MessageField.VALUE, headers))
        records.append(Record(at, value=written, headers=headers))
    records.append(Record(2, value=b"{", headers=records[0].headers))
    records.append(Record(3, value=b"null", headers=records[0].headers))
    columns = pa.schema((pa.field("id", pa.int64()), pa.field("bad", pa.string()))).serialize().to_pybytes()
    form = ConfluentJsonFormat(JsonValueFormat(columns, FormatOptions(corrupt_column="bad")), "bad")
    found = emitted(["value.*"], {"value": part_of(form)}, batch(records))
    assert [row["id"] for row in found] == [0, 1, None, None]
    assert [row["bad"] for row in found] == [None, None, "{", "null"]


def test_protobuf_has_the_message_indexes_in_the_header_too(protobuf_server: ScriptedRegistry) -> None:
    guid = uuid.uuid4()
    answers = protobuf_server.answers
    answers[f"/schemas/guids/{guid}?format=serialized"] = answers["/schemas/ids/7?format=serialized"]
    form: ConfluentProtobufFormat = made_of_protobuf(protobuf_server, None)
    first, second = zigzag(0), zigzag(1, 1)
    records = [
        Record(0, value=b"\x08\x05", headers=[("__value_schema_id", b"\1" + guid.bytes + first)]),
        Record(1, value=b"\0\0\0\0\7" + first + b"\x08\x06"),
        Record(2, value=b"\x08\x07", headers=[("__value_schema_id", b"\1" + guid.bytes + second)]),
        Record(3, value=b"\x08\x08", headers=[("__value_schema_id", b"\0\0\0\0\7" + first)]),
    ]
    found = emitted(["value.*"], {"value": part_of(form)}, batch(records))
    assert [row["id"] for row in found] == [5, 6, None, 8]
    assert [row["bad"] for row in found] == [None, None, base64.b64encode(b"\x08\x07").decode(), None]


def test_the_text_of_a_bad_value_is_that_of_its_own_bytes(
    client: SchemaRegistryClient, server: ScriptedRegistry
) -> None:
    serializer = AvroSerializer(client, Schema(V1, "AVRO"), conf={"schema.id.serializer": SERIALIZERS[0]})
    headers: list[Any] = []
    good = serializer({"id": 1, "pad": "x" * 9}, SerializationContext("t", MessageField.VALUE, headers))
    share(client, server, "t-value")
    for _ in range(3):  # another process may count other schemas before this one
        records = [Record(0, value=good, headers=headers), Record(1, value=b"\xff", headers=headers)]
        found = emitted(["value.*"], {"value": part_of(avro(server, corrupt_column="bad"))}, batch(records))
        assert [(row["id"], row["bad"]) for row in found] == [(1, None), (None, "/w==")]
        registry(RegistrySettings(urls=(server.url,), deadline_ms=200)).id_of(str(uuid.uuid4()))


@pytest.mark.parametrize("content", [b"", b"\0\0\0\0", b"\1" + bytes(15), b"\2" + bytes(16), b"orders"])
def test_a_header_that_names_no_schema_fails_the_query_and_names_its_record(
    server: ScriptedRegistry, content: bytes
) -> None:
    records = [Record(0, value=None), Record(1, value=b"x", headers=[("__value_schema_id", content)])]
    with pytest.raises(
        SourceError, match=r"offset 41 of topic 'orders', .*'__value_schema_id' that names no"
    ) as error:
        emitted(["value.*"], {"value": part_of(avro(server))}, batch(records, 40))
    assert error.value.position == 41


def test_a_schema_that_the_registry_does_not_know_is_named_by_its_guid(server: ScriptedRegistry) -> None:
    guid = uuid.uuid4()
    records = [Record(0, value=b"x", headers=[("__value_schema_id", b"\1" + guid.bytes)])]
    with pytest.raises(DeadlineError, match=f"offset 40 .*the schema of GUID {guid}"):
        emitted(["value.*"], {"value": part_of(avro(server))}, batch(records, 40))
    server.answers[f"/schemas/guids/{guid}"] = (200, {"schema": "{}", "schemaType": "JSON"})
    with pytest.raises(SourceError, match=f"the schema of GUID {guid} is of the kind JSON, not AVRO"):
        emitted(["value.*"], {"value": part_of(avro(server))}, batch(records, 40))


def test_a_header_without_content_counts_for_nothing(server: ScriptedRegistry) -> None:
    server.answers["/schemas/ids/1"] = (200, {"schema": V1})
    value = b"\0\0\0\0\1\x02\x02x"
    records = [Record(0, value=value, headers=[("__value_schema_id", None), ("__key_schema_id", b"any")])]
    assert emitted(["value.*"], {"value": part_of(avro(server))}, batch(records))[0]["id"] == 1


def test_the_last_of_several_headers_counts(server: ScriptedRegistry) -> None:
    """As in Java's ``lastHeader``: who passes headers on adds its own behind them."""
    server.answers["/schemas/ids/1"] = (200, {"schema": V1})
    server.answers["/schemas/ids/2"] = (200, {"schema": V2})
    name = "__value_schema_id"
    passed_on, own = (name, b"\0\0\0\0\1"), (name, b"\0\0\0\0\2")
    records = [
        Record(0, value=b"\x02x\0\x06", headers=[passed_on, ("trace", b"t"), own]),
        Record(1, value=b"\x08\x02x", headers=[passed_on]),
        Record(2, value=b"\0\0\0\0\2\x02x\0\x0a", headers=[passed_on, (name, None)]),
    ]
    rows = emitted(["value.*"], {"value": part_of(avro(server))}, batch(records))
    assert [row["id"] for row in rows] == [3, 4, 5]


@given(data=st.binary(min_size=1, max_size=60), places=st.lists(st.integers(0, 59), max_size=5))
def test_headers_that_are_broken_lead_nowhere(data: bytes, places: list[int]) -> None:
    starts = np.array([min(at, len(data)) for at in places], np.int64)
    spans = Spans(np.frombuffer(data, np.uint8), starts, np.zeros(len(places), np.int64))
    assert schema_headers("value", spans) is None
    assert schema_headers("key", spans) is None
