"""Rows of six columns, as JSON, Avro and Protobuf: 200 bytes of JSON each, half of that in the others."""

from __future__ import annotations

import functools
import io
import json
import random
from datetime import UTC, datetime, timedelta
from typing import Any

import fastavro
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, timestamp_pb2

__all__ = [
    "AVRO_SCHEMA",
    "DDL",
    "MESSAGE",
    "SCHEMA_ID",
    "avro",
    "confluent_avro",
    "descriptor_set",
    "json_text",
    "mismatched",
    "orders",
    "protobuf",
    "shuffled",
]

DDL = (
    "id long, amount double, user string, at timestamp, ok boolean, "
    "address struct<city: string, zip: string, lat: double, lon: double>"
)
MESSAGE = "orders.Order"
SCHEMA_ID = 7
"""Of the Avro schema, in the registry."""

_BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
_CITIES = (
    ("Berlin", "10115", 52.52, 13.405),
    ("Lisbon", "1000-001", 38.7223, -9.1393),
    ("Tallinn", "10111", 59.437, 24.7536),
    ("New York", "10001", 40.7128, -74.006),
)
_OPTIONAL = descriptor_pb2.FieldDescriptorProto.LABEL_OPTIONAL
_KINDS = {
    kind.removeprefix("TYPE_").lower(): number
    for kind, number in descriptor_pb2.FieldDescriptorProto.Type.items()
}


def _record(name: str, **types: Any) -> dict[str, Any]:
    return {
        "type": "record",
        "name": name,
        "fields": [{"name": field, "type": kind} for field, kind in types.items()],
    }


_ADDRESS = _record(
    "Address",
    city=["null", "string"],
    zip=["null", "string"],
    lat=["null", "double"],
    lon=["null", "double"],
)
_ORDER = _record(
    "Order",
    id="long",
    amount="double",
    user="string",
    at={"type": "long", "logicalType": "timestamp-micros"},
    ok="boolean",
    address=["null", _ADDRESS],
)
AVRO_SCHEMA = json.dumps(_ORDER)


def orders(count: int) -> list[dict[str, Any]]:
    """Return rows that are all different, and the same ones at each call."""
    rng = random.Random(1)
    return [
        {
            "id": 1_000_000 + row,
            "amount": round(rng.uniform(0, 1_000), 2),
            "user": f"user-{rng.randrange(10_000):04d}-{rng.randbytes(15).hex()}",
            "at": _BEGIN + timedelta(microseconds=row * 1_337),
            "ok": rng.random() < 0.5,
            "address": _address(rng),
        }
        for row in range(count)
    ]


def _address(rng: random.Random) -> dict[str, Any]:
    city, code, lat, lon = rng.choice(_CITIES)
    return {
        "city": city,
        "zip": code,
        "lat": round(lat + rng.uniform(-0.1, 0.1), 5),
        "lon": round(lon + rng.uniform(-0.1, 0.1), 5),
    }


def json_text(order: dict[str, Any]) -> bytes:
    """Return a row as JSON."""
    at = order["at"].strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    return json.dumps({**order, "at": at}, separators=(",", ":")).encode()


def mismatched(order: dict[str, Any]) -> bytes:
    """Return a row as JSON in which one field has another type than the schema says."""
    return json_text({**order, "ok": "yes"})


def shuffled(order: dict[str, Any]) -> dict[str, Any]:
    """Return a row whose fields, and those of its address, are in an order of their own; always the same."""
    rng = random.Random(order["id"])
    address = order["address"]
    mixed = {**order, "address": {name: address[name] for name in rng.sample(sorted(address), len(address))}}
    return {name: mixed[name] for name in rng.sample(sorted(mixed), len(mixed))}


def avro(order: dict[str, Any]) -> bytes:
    """Return a row as a datum of `AVRO_SCHEMA`."""
    datum = io.BytesIO()
    fastavro.schemaless_writer(datum, _avro_schema(), order)
    return datum.getvalue()


def confluent_avro(order: dict[str, Any]) -> bytes:
    """Return a row as Avro in Confluent's wire format."""
    return b"\0" + SCHEMA_ID.to_bytes(4, "big") + avro(order)


@functools.cache
def _avro_schema() -> Any:
    return fastavro.parse_schema(_ORDER)


def protobuf(order: dict[str, Any]) -> bytes:
    """Return a row as a message of the type `MESSAGE`."""
    message: bytes = _message_class()(**order).SerializeToString()
    return message


@functools.cache
def _message_class() -> Any:
    pool = descriptor_pool.DescriptorPool()
    for file in descriptor_pb2.FileDescriptorSet.FromString(descriptor_set()).file:
        pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(MESSAGE))


@functools.cache
def descriptor_set() -> bytes:
    """Return what ``protoc --include_imports --descriptor_set_out`` would write."""
    time = descriptor_pb2.FileDescriptorProto()
    timestamp_pb2.DESCRIPTOR.CopyToProto(time)
    file = descriptor_pb2.FileDescriptorProto(
        name="orders.proto", package="orders", syntax="proto2", dependency=[time.name]
    )
    _add_message(file, "Address", city="string", zip="string", lat="double", lon="double")
    _add_message(
        file,
        "Order",
        id="int64",
        amount="double",
        user="string",
        at=".google.protobuf.Timestamp",
        ok="bool",
        address=".orders.Address",
    )
    descriptors: bytes = descriptor_pb2.FileDescriptorSet(file=[time, file]).SerializeToString()
    return descriptors


def _add_message(file: descriptor_pb2.FileDescriptorProto, name: str, **types: str) -> None:
    message = file.message_type.add(name=name)
    for number, (field, kind) in enumerate(types.items(), 1):
        added = message.field.add(name=field, number=number, label=_OPTIONAL)
        added.type = _KINDS[kind if kind in _KINDS else "message"]
        if kind not in _KINDS:
            added.type_name = kind
