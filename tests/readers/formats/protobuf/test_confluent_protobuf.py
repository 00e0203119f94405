"""Protobuf in Confluent's wire format: which message a value is, by the id of its schema and the indexes."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from google.protobuf import descriptor_pb2, type_pb2
from google.protobuf.message import Message

from headwater.core.errors import DeadlineError, FormatSchemaError, SourceError
from headwater.readers.formats.format import FormatOptions
from headwater.readers.formats.protobuf import descriptors
from headwater.readers.formats.protobuf.descriptors import MessageNames, serialized_descriptor
from headwater.readers.formats.protobuf.format import (
    ConfluentProtobufFormat,
    ProtobufFormat,
    registered_messages,
)
from headwater.readers.formats.protobuf.message_indexes import MessageHeaders
from headwater.readers.formats.registry.client import SchemaRegistry
from headwater.readers.formats.registry.settings import RegistrySettings
from headwater.readers.formats.wire_format import Reasons
from tests.readers.formats.avro.values import decode, spans
from tests.readers.formats.scripted_registry import ScriptedRegistry

FIELD = descriptor_pb2.FieldDescriptorProto
TEXT = """
syntax = "proto3"; // message No { }
package shop . v1;
option java_package = "message In { string }";
import "other.proto";
/* message Comment {} */
enum State { message = 0; DONE = 1; }
message Order {
  reserved 4 to 6; option deprecated = true;
  int64 id = 1 [json_name = "message X {"];
  oneof what { string message = 2; int32 n = 3; }
  message Line { int64 id = 1; message Deep { string s = 1; } map<string, Deep> by = 2; }
  repeated Line lines = 7;
  message Other { int64 id = 1; }
}
extend Order { string more = 100; }
service Orders { rpc Get (Order) returns (Order) { option idempotency_level = NO_SIDE_EFFECTS; } }
message Customer { string name = 1; }
"""


def files() -> tuple[descriptor_pb2.FileDescriptorProto, descriptor_pb2.FileDescriptorProto]:
    """Return a file with many messages, and one that it imports."""
    point = descriptor_pb2.FileDescriptorProto(name="point.proto", package="geo", syntax="proto3")
    made = point.message_type.add(name="Point")
    made.field.add(name="x", number=1, type=FIELD.TYPE_INT32, label=FIELD.LABEL_OPTIONAL)
    orders = descriptor_pb2.FileDescriptorProto(
        name="", package="shop", syntax="proto3", dependency=["point.proto"]
    )
    for at in range(100):
        order = orders.message_type.add(name=f"Order{at}")
        order.field.add(name="id", number=1, type=FIELD.TYPE_INT64, label=FIELD.LABEL_OPTIONAL)
        order.field.add(
            name="at",
            number=2,
            type=FIELD.TYPE_MESSAGE,
            type_name=".geo.Point",
            label=FIELD.LABEL_OPTIONAL,
        )
        for inner in ("Line", "Other"):
            line = order.nested_type.add(name=inner)
            line.field.add(name="id", number=1, type=FIELD.TYPE_INT64, label=FIELD.LABEL_OPTIONAL)
    return orders, point


def as_registered(file: Message) -> str:
    return base64.b64encode(file.SerializeToString()).decode()


@pytest.fixture
def server() -> Iterator[ScriptedRegistry]:
    registry = ScriptedRegistry()
    orders, point = files()
    reference = {"name": "point.proto", "subject": "point", "version": 1}
    more: dict[str, Any] = {"schemaType": "PROTOBUF", "references": [reference]}
    for schema_id in (7, 300):
        registry.has(schema_id, as_registered(orders), **more)
    registry.has_version("orders-value", "latest", as_registered(orders), **more)
    registry.has_version("point", "1", as_registered(point), schemaType="PROTOBUF")
    registry.has(8, TEXT, schemaType="PROTOBUF")
    registry.has(9, '"string"')
    registry.answers = {f"{path}?format=serialized": answer for path, answer in registry.answers.items()}
    yield registry
    registry.close()


def made(server: ScriptedRegistry, message: str | None) -> ConfluentProtobufFormat:
    """Return the format as options make it of the latest schema."""
    settings = RegistrySettings(urls=(server.url,), deadline_ms=150)
    latest = SchemaRegistry(settings).by_version("orders-value", "latest", serialized=True)
    descriptors, name = registered_messages(latest, message)
    options = FormatOptions(corrupt_column="bad")
    return ConfluentProtobufFormat(
        ProtobufFormat(descriptor_set=descriptors, message=name, options=options), settings
    )


def zigzag(*numbers: int) -> bytes:
    out = b""
    for number in numbers:
        raw = 2 * number
        while raw > 0x7F:
            out += bytes([raw & 0x7F | 0x80])
            raw >>= 7
        out += bytes([raw])
    return out


def value(schema_id: int, indexes: tuple[int, ...], order_id: int) -> bytes:
    """Return a message whose first field is the id; the usual short form is () for the first message."""
    return b"\0" + schema_id.to_bytes(4, "big") + zigzag(len(indexes), *indexes) + b"\x08" + bytes([order_id])


def test_values_of_one_message_by_all_ways_to_name_it(server: ScriptedRegistry) -> None:
    first = made(server, None)
    values = [value(7, (), 1), None, value(300, (), 2), value(7, (0,), 3), value(7, (), 4)]
    found, bad = decode(first, values)
    assert bad is None
    assert [row["id"] for row in found] == [1, None, 2, 3, 4]
    assert list(found[0]) == ["id", "at", "bad"]


@pytest.mark.parametrize(
    ("message", "indexes"),
    [
        ("shop.Order1", (1,)),
        ("shop.Order99", (99,)),
        ("Order64", (64,)),
        ("shop.Order3.Line", (3, 0)),
        ("shop.Order98.Other", (98, 1)),
    ],
)
def test_messages_further_down_and_nested_ones(
    server: ScriptedRegistry, message: str, indexes: tuple[int, ...]
) -> None:
    values = [value(7 if at % 3 else 300, indexes, 1 + at) for at in range(50)]
    values[20] = value(7, (), 20)
    found, bad = decode(made(server, message), values)
    assert bad is not None
    assert bad.rows.tolist() == [20]
    assert [row["id"] for row in found] == [1 + at if at != 20 else None for at in range(50)]
    assert server.asked["/schemas/ids/7?format=serialized"] == 1


@pytest.mark.parametrize(
    ("bytes_", "reason"),
    [
        (value(7, (1,), 1), "is a message of type shop.Order1, and not shop.Order0"),
        (value(7, (0, 1), 1), "is a message of type shop.Order0.Other, and not shop.Order0"),
        (value(7, (100,), 1), "has the message indexes [100], which its schema does not have"),
        (value(7, (0, 2), 1), "has the message indexes [0, 2], which its schema does not have"),
        (value(8, (0,), 1), "is a message of type shop.v1.Order, and not shop.Order0"),
        (b"\0\0\0\0\7", "has no message indexes"),
        (b"\0\0\0\0\7\2", "has no message indexes"),
        (b"\0\0\0\0\7\1\0", "has no message indexes"),
        (b"\0\0\0\0\7\2\1\0", "has no message indexes"),
        (b"\0\0\0\0\7" + b"\xff" * 20, "has no message indexes"),
        (b"\0\0\0\0\7\0\x0f", "is not in Protobuf's wire format"),
        (b"\x08\1", "does not begin with a zero byte"),
        (b"\3\0" + bytes(30), "AWS Glue"),
    ],
)
def test_a_bad_value_says_why_and_is_kept_with_its_header(
    server: ScriptedRegistry, bytes_: bytes, reason: str
) -> None:
    format_ = made(server, None)
    found, bad = decode(format_, [value(7, (), 5), bytes_, value(7, (), 6)])
    assert bad is not None
    assert bad.rows.tolist() == [1]
    decoder = format_.decoder()
    again = decoder.append(spans([bytes_]))
    assert again is not None
    assert reason in decoder.reason(int(again.reasons[0]))
    assert [row["id"] for row in found] == [5, None, 6]
    assert found[1]["bad"] == base64.b64encode(bytes_).decode()


def test_an_unknown_id_is_an_error_of_that_value_and_so_is_a_schema_of_another_kind(
    server: ScriptedRegistry,
) -> None:
    with pytest.raises(DeadlineError, match="the schema of id 1799") as unknown:
        decode(made(server, None), [value(7, (), 1), value(1799, (), 1)])
    assert unknown.value.position == 1
    with pytest.raises(SourceError, match="the schema of id 9 is of the kind AVRO") as other:
        decode(made(server, None), [None, None, value(9, (), 1)])
    assert other.value.position == 2


def test_values_that_all_name_other_messages_are_looked_at_a_few_times_each() -> None:
    class Counted(np.ndarray[Any, np.dtype[np.int64]]):
        """Counts how many of its elements are asked for."""

        looks = 0

        def __getitem__(self, key: Any) -> Any:
            found = np.asarray(self)[key]
            Counted.looks += found.size
            return found

    count = 4_000
    given = spans([value(7, (at,), 1) if at % 2 else b"\0\0\0\0\7\xff" for at in range(count)])
    given = given._replace(starts=given.starts.view(Counted))
    reasons = Reasons()
    headers = MessageHeaders(lambda header, _: f"is {header.indexes[0]}", reasons)
    found = headers(given, np.ones(count, np.bool_))
    assert [reasons.reason(code) for code in found.bad[1::2].tolist()] == [
        f"is {at}" for at in range(1, count, 2)
    ]
    assert len(set(found.bad[::2].tolist())) == 1
    assert found.sizes[1::2].tolist() == [len(zigzag(1, at)) + 5 for at in range(1, count, 2)]
    assert Counted.looks < 100 * count


def test_a_schema_is_parsed_once_however_many_of_its_messages_values_name(
    server: ScriptedRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    format_ = made(server, None)
    parsed: list[str] = []

    def counting(schema: str) -> descriptor_pb2.FileDescriptorProto | None:
        parsed.append(schema)
        return serialized_descriptor(schema)

    monkeypatch.setattr(descriptors, "serialized_descriptor", counting)
    found, _ = decode(format_, [value(7, (at,), 1) for at in range(100)])
    assert [row["id"] for row in found] == [1] + [None] * 99
    assert len(parsed) <= 1


def test_names_are_found_in_text_as_in_descriptors() -> None:
    names = MessageNames(TEXT)
    places = [(0,), (0, 0), (0, 0, 0), (0, 1), (1,), (2,), (0, 2)]
    assert [names.at(place) for place in places] == [
        *("shop.v1.Order", "shop.v1.Order.Line", "shop.v1.Order.Line.Deep", "shop.v1.Order.Other"),
        *("shop.v1.Customer", None, None),
    ]
    file = descriptor_pb2.FileDescriptorProto()
    type_pb2.DESCRIPTOR.CopyToProto(file)
    serialized = MessageNames(as_registered(file))
    assert [serialized.at((at,)) for at in range(6)] == [
        *(f"google.protobuf.{name}" for name in ("Type", "Field", "Enum", "EnumValue", "Option")),
        None,
    ]


def test_columns_cannot_be_made_of_text(server: ScriptedRegistry) -> None:
    server.has_version("orders-value", "latest?format=serialized", TEXT, schemaType="PROTOBUF")
    with pytest.raises(FormatSchemaError, match="as text only"):
        made(server, None)
