"""Messages with every kind of field, bytes that may or may not be such messages, and what they mean.

The meaning is that of protobuf's own library, turned into rows by the rules of Spark's ``from_protobuf``.
"""

from __future__ import annotations

import base64
import math
import random
import re
from collections.abc import Iterator
from typing import Any

from google.protobuf import (
    any_pb2,
    descriptor_pb2,
    descriptor_pool,
    duration_pb2,
    empty_pb2,
    field_mask_pb2,
    message_factory,
    timestamp_pb2,
    wrappers_pb2,
)
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import DecodeError, Message
from google.protobuf.unknown_fields import UnknownFieldSet

FIELD = descriptor_pb2.FieldDescriptorProto
FEATURES = descriptor_pb2.FeatureSet
WIRE_BYTES = 2
SCALARS = {
    "double": 1, "float": 2, "int64": 3, "uint64": 4, "int32": 5, "fixed64": 6, "fixed32": 7, "bool": 8,
    "string": 9, "bytes": 12, "uint32": 13, "sfixed32": 15, "sfixed64": 16, "sint32": 17, "sint64": 18,
}  # fmt: skip
OPTIONAL, REQUIRED, REPEATED = 1, 2, 3
_SURROGATE = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]?")
_TIMES = {"google.protobuf.Timestamp", "google.protobuf.Duration"}
MOST_SECONDS = 9_223_372_036_854


class _File:
    """A descriptor of a file, field by field."""

    def __init__(self, name: str, syntax: str) -> None:
        self.proto = descriptor_pb2.FileDescriptorProto(name=f"{name}.proto", package=name, syntax=syntax)
        self.proto.dependency.extend(["google/protobuf/timestamp.proto", "google/protobuf/duration.proto"])

    def message(self, name: str) -> descriptor_pb2.DescriptorProto:
        return self.proto.message_type.add(name=name)

    def enum(self, name: str, **values: int) -> None:
        enum = self.proto.enum_type.add(name=name)
        for value, number in values.items():
            enum.value.add(name=value, number=number)

    def map(
        self, message: descriptor_pb2.DescriptorProto, name: str, number: int, key: int, **value: Any
    ) -> None:
        entry = message.nested_type.add(name=f"{name.capitalize()}Entry")
        entry.options.map_entry = True
        entry.field.add(name="key", number=1, type=key, label=OPTIONAL)
        entry.field.add(name="value", number=2, label=OPTIONAL, **value)
        kind = f".{self.proto.package}.{message.name}.{entry.name}"
        message.field.add(name=name, number=number, type=11, type_name=kind, label=REPEATED)


def _new() -> descriptor_pb2.FileDescriptorProto:
    file = _File("new", "proto3")
    file.enum("Color", NONE=0, RED=1, BLUE=7, DARK=-3)
    file.message("Empty")
    part = file.message("Part")
    part.field.add(name="name", number=1, type=9, label=OPTIONAL)
    part.field.add(name="counts", number=2, type=5, label=REPEATED)
    part.field.add(name="inner", number=3, type=11, type_name=".new.Inner", label=OPTIONAL)
    part.field.add(name="nothing", number=4, type=11, type_name=".new.Empty", label=OPTIONAL)
    inner = file.message("Inner")
    inner.field.add(name="x", number=1, type=17, label=OPTIONAL)
    inner.field.add(name="texts", number=2, type=9, label=REPEATED)
    whole = file.message("Whole")
    for number, (name, scalar) in enumerate(SCALARS.items(), 1):
        whole.field.add(name=f"a_{name}", number=number, type=scalar, label=OPTIONAL)
        whole.oneof_decl.add(name=f"_o_{name}")
        whole.field.add(
            name=f"o_{name}", number=20 + number, type=scalar, label=OPTIONAL, proto3_optional=True,
            oneof_index=len(whole.oneof_decl) - 1,
        )  # fmt: skip
        whole.field.add(name=f"r_{name}", number=40 + number, type=scalar, label=REPEATED)
    color = {"type": 14, "type_name": ".new.Color"}
    of_part = {"type": 11, "type_name": ".new.Part"}
    time = {"type": 11, "type_name": ".google.protobuf.Timestamp"}
    duration = {"type": 11, "type_name": ".google.protobuf.Duration"}
    whole.field.add(name="color", number=100, label=OPTIONAL, **color)
    whole.field.add(name="colors", number=101, label=REPEATED, **color)
    whole.field.add(name="part", number=102, label=OPTIONAL, **of_part)
    whole.field.add(name="parts", number=103, label=REPEATED, **of_part)
    whole.field.add(name="time", number=104, label=OPTIONAL, **time)
    whole.field.add(name="times", number=105, label=REPEATED, **time)
    whole.field.add(name="span", number=5000, label=OPTIONAL, **duration)
    whole.field.add(name="empty", number=107, label=OPTIONAL, type=11, type_name=".new.Empty")
    file.map(whole, "numbers", 110, 9, type=5)
    file.map(whole, "parted", 111, 5, **of_part)
    file.map(whole, "colored", 112, 8, **color)
    file.map(whole, "timed", 113, 4, **time)
    whole.oneof_decl.insert(0, descriptor_pb2.OneofDescriptorProto(name="choice"))
    for field in whole.field:
        if field.HasField("oneof_index"):
            field.oneof_index += 1
    for name, number, kind in (
        ("c_int", 120, {"type": 5}),
        ("c_part", 121, of_part),
        ("c_text", 122, {"type": 9}),
        ("c_empty", 123, {"type": 11, "type_name": ".new.Empty"}),
        ("c_color", 124, color),
        ("c_time", 125, time),
    ):
        whole.field.add(name=name, number=number, label=OPTIONAL, oneof_index=0, **kind)
    return file.proto


def _old() -> descriptor_pb2.FileDescriptorProto:
    file = _File("old", "proto2")
    file.enum("Color", NONE=0, RED=1, BLUE=700)
    part = file.message("Part")
    part.field.add(name="id", number=1, type=5, label=REQUIRED)
    part.field.add(name="text", number=2, type=9, label=OPTIONAL, default_value="none")
    whole = file.message("Whole")
    for number, (name, scalar) in enumerate(SCALARS.items(), 1):
        whole.field.add(name=f"a_{name}", number=number, type=scalar, label=OPTIONAL)
        default = {"bool": "true", "bytes": "\\001x", "string": "text", "uint64": str(2**64 - 1)}.get(
            name, "7"
        )
        whole.field.add(
            name=f"d_{name}", number=20 + number, type=scalar, label=OPTIONAL, default_value=default
        )
        whole.field.add(name=f"r_{name}", number=40 + number, type=scalar, label=REPEATED)
    color = {"type": 14, "type_name": ".old.Color"}
    of_part = {"type": 11, "type_name": ".old.Part"}
    whole.field.add(name="id", number=99, type=3, label=REQUIRED)
    whole.field.add(name="color", number=100, label=OPTIONAL, **color)
    whole.field.add(name="d_color", number=106, label=OPTIONAL, default_value="BLUE", **color)
    whole.field.add(name="colors", number=101, label=REPEATED, **color)
    whole.field.add(name="part", number=102, label=OPTIONAL, **of_part)
    whole.field.add(name="parts", number=103, label=REPEATED, **of_part)
    for name, number, label in (("Single", 104, OPTIONAL), ("Many", 105, REPEATED)):
        group = whole.nested_type.add(name=name)
        group.field.add(name="g", number=1, type=13, label=OPTIONAL)
        group.field.add(name="texts", number=2, type=9, label=REPEATED)
        whole.field.add(
            name=name.lower(), number=number, type=10, type_name=f".old.Whole.{name}", label=label
        )
    file.map(whole, "numbers", 110, 3, type=5)
    file.map(whole, "colored", 112, 8, **color)
    return file.proto


def _edition() -> descriptor_pb2.FileDescriptorProto:
    """Return an edition's file, with features on fields, and with well-known types."""
    file = _File("edition", "editions")
    file.proto.edition = descriptor_pb2.EDITION_2023
    well_known = (any_pb2, empty_pb2, field_mask_pb2, wrappers_pb2)
    file.proto.dependency.extend(module.DESCRIPTOR.name for module in well_known)
    file.enum("Open", NONE=0, RED=1)
    file.enum("Closed", LOW=1, HIGH=9)
    file.proto.enum_type[1].options.features.enum_type = FEATURES.CLOSED
    part = file.message("Part")
    part.field.add(name="n", number=1, type=5, label=OPTIONAL)
    whole = file.message("Whole")

    def add(name: str, kind: int | str, label: int = OPTIONAL, **features: int) -> None:
        kinds = {"type": kind} if isinstance(kind, int) else {"type_name": kind}
        added = whole.field.add(name=name, number=len(whole.field) + 1, label=label, **kinds)
        if isinstance(kind, str):
            added.type = 14 if kind in {".edition.Open", ".edition.Closed"} else 11
        for feature, setting in features.items():
            setattr(added.options.features, feature, setting)

    for name in ("int32", "uint64", "bytes", "string"):
        add(f"explicit_{name}", SCALARS[name])
        add(f"implicit_{name}", SCALARS[name], field_presence=FEATURES.IMPLICIT)
    add("unchecked", SCALARS["string"], utf8_validation=FEATURES.NONE)
    add("unchecked_ones", SCALARS["string"], REPEATED, utf8_validation=FEATURES.NONE)
    add("packed", SCALARS["int32"], REPEATED)
    add("expanded", SCALARS["int32"], REPEATED, repeated_field_encoding=FEATURES.EXPANDED)
    for label, many in ((OPTIONAL, ""), (REPEATED, "_ones")):
        add(f"open{many}", ".edition.Open", label)
        add(f"closed{many}", ".edition.Closed", label)
        add(f"part{many}", ".edition.Part", label)
        add(f"delimited{many}", ".edition.Part", label, message_encoding=FEATURES.DELIMITED)
        for name in ("Int32Value", "UInt64Value", "BoolValue", "StringValue", "BytesValue", "DoubleValue"):
            add(f"{name.lower()}{many}", f".google.protobuf.{name}", label)
        for name in ("Any", "FieldMask", "Empty", "Timestamp"):
            add(f"{name.lower()}{many}", f".google.protobuf.{name}", label)
    whole.field.add(name="standard", number=98, type=5, label=OPTIONAL, default_value="42")
    required = whole.field.add(name="id", number=99, type=3, label=OPTIONAL)
    required.options.features.field_presence = FEATURES.LEGACY_REQUIRED
    file.map(whole, "texts", 110, 9, type=9)
    file.map(whole, "opens", 111, 9, type=14, type_name=".edition.Open")
    file.map(whole, "wrapped", 112, 5, type=11, type_name=".google.protobuf.Int32Value")
    return file.proto


NEW, OLD, EDITION = _new(), _old(), _edition()
DESCRIPTOR_SET = descriptor_pb2.FileDescriptorSet(file=[NEW, OLD, EDITION]).SerializeToString()
_POOL = descriptor_pool.DescriptorPool()
for _module in (any_pb2, duration_pb2, empty_pb2, field_mask_pb2, timestamp_pb2, wrappers_pb2):
    _POOL.AddSerializedFile(_module.DESCRIPTOR.serialized_pb)
for _proto in (NEW, OLD, EDITION):
    _POOL.AddSerializedFile(_proto.SerializeToString())
MESSAGES = {
    name: message_factory.GetMessageClass(_POOL.FindMessageTypeByName(name))
    for name in ("new.Whole", "old.Whole", "edition.Whole", "new.Part")
}


class RejectedError(Exception):
    """These bytes are no such message."""


def expected(name: str, data: bytes) -> dict[str, Any] | None:
    """Return the row that these bytes are; None if they are no such message."""
    try:
        message = MESSAGES[name].FromString(data)
    except DecodeError:
        return None
    if not message.IsInitialized() or _has_unknown_values(message):
        return None
    try:
        return _row(message)
    except RejectedError:
        return None


def _has_unknown_values(message: Message) -> bool:
    """Whether fields of the message itself are among the unknown ones, which `from_protobuf` refuses.

    Of maps with an unknown value of a closed enum Java keeps the entry.
    """
    fields = message.DESCRIPTOR.fields_by_number
    return any(
        each.field_number in fields
        and not (each.wire_type == WIRE_BYTES and _is_map(fields[each.field_number]))
        for each in UnknownFieldSet(message)
    )


def _is_map(field: FieldDescriptor) -> bool:
    return field.message_type is not None and bool(field.message_type.GetOptions().map_entry)


def has_field_zero(data: bytes) -> bool:
    """Whether there may be a field of number 0, which Java refuses and upb skips inside unknown groups."""
    return any(number == 0 for number, _ in _fields(data))


def has_long_size(data: bytes) -> bool:
    """Whether a size may have more than five bytes, which Java reads and upb refuses."""
    return any(size_bytes > 5 for _, size_bytes in _fields(data))


def _fields(data: bytes) -> Iterator[tuple[int, int]]:
    """Yield the number of each field, and how many bytes its size has, inside of fields too."""
    at = 0

    def number() -> int:
        nonlocal at
        begin = at
        while data[at] >= 0x80:
            at += 1
        at += 1
        return sum((byte & 0x7F) << (7 * shift) for shift, byte in enumerate(data[begin:at]))

    try:
        while at < len(data):
            tag = number()
            wire = tag & 7
            begin = at
            if wire == 0:
                number()
            elif wire in {1, 5}:
                at += 8 if wire == 1 else 4
            elif wire == 2:
                # Java takes the lowest 32 bits of a size.
                size = number() & 0xFFFFFFFF
                yield tag >> 3, at - begin
                yield from _fields(data[at : at + size])
                at += size
                continue
            yield tag >> 3, 0
    except IndexError:
        pass


def _row(message: Message) -> dict[str, Any]:
    return {
        field.name: _column(message, field)
        for field in message.DESCRIPTOR.fields
        if field.message_type is None or _kept(field.message_type)
    }


def _kept(message: Descriptor) -> bool:
    return bool(message.fields)


def _column(message: Message, field: FieldDescriptor) -> Any:
    value = getattr(message, field.name)
    if field.is_repeated and field.message_type and field.message_type.GetOptions().map_entry:
        of_key, of_value = field.message_type.fields
        return {_plain(of_key, key): _plain(of_value, value[key]) for key in value}
    if field.is_repeated:
        return [_plain(field, each) for each in value]
    if field.has_presence:
        if message.HasField(field.name) or field.has_default_value:
            return _plain(field, value)
        return None
    is_default = not value and not (isinstance(value, float) and math.copysign(1, value) < 0)
    return None if is_default else _plain(field, value)


def _plain(field: FieldDescriptor, value: Any) -> Any:
    if field.message_type is not None:
        return _time(value) if field.message_type.full_name in _TIMES else _row(value)
    if field.enum_type is not None:
        names = {each.number: each.name for each in field.enum_type.values}
        return names.get(value, f"UNKNOWN_ENUM_VALUE_{field.enum_type.name}_{value}")
    if field.cpp_type == FieldDescriptor.CPPTYPE_UINT32:
        return value - 2**32 if value >= 2**31 else value
    if field.cpp_type == FieldDescriptor.CPPTYPE_UINT64:
        return value - 2**64 if value >= 2**63 else value
    if field.type == FieldDescriptor.TYPE_STRING and isinstance(value, bytes):
        # As in Java, half of a surrogate pair is one bad character, and not one for each of its bytes.
        return _SURROGATE.sub(b"\xff", value).decode(errors="replace")
    return value


def _time(value: Any) -> tuple[str, int]:
    micros = value.seconds * 1_000_000 + int(value.nanos / 1000)
    if abs(value.seconds) > MOST_SECONDS or not -(2**63) <= micros < 2**63:
        raise RejectedError
    return "us", micros


def as_base64(data: bytes) -> str:
    """Return how a corrupt value is shown."""
    return base64.b64encode(data).decode()


class Writer:
    """Makes bytes much like a message: fields again, in any order, of wrong types, cut and broken."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng

    def value(self, name: str) -> bytes:
        data = self.message(MESSAGES[name].DESCRIPTOR)
        if name in {"old.Whole", "edition.Whole"} and self._rng.random() < 0.9:
            data += _tag(99, 0) + self._varint(self._number())
        if self._rng.random() < 0.3:
            data = self._broken(data)
        return data

    def message(self, message: Descriptor, depth: int = 0) -> bytes:
        rng = self._rng
        written = [
            self._field(rng.choice(message.fields), depth)
            for _ in range(rng.choice([0, 1, 1, 2, 3, 5, 9]))
            if message.fields
        ]
        if rng.random() < 0.1:
            written.insert(rng.randrange(len(written) + 1), self._unknown(rng.randrange(1, 7000), depth))
        if rng.random() < 0.2:
            written += rng.sample(written, rng.randrange(len(written) + 1))
        return b"".join(written)

    def _field(self, field: FieldDescriptor, depth: int) -> bytes:
        rng = self._rng
        if rng.random() < 0.04:
            return self._unknown(field.number, depth)
        if field.message_type is not None:
            content = self.message(field.message_type, depth + 1) if depth < 4 else b""
            if field.message_type.name == "Part" and rng.random() < 0.9:
                content += b"\x08\x05" if field.message_type.fields[0].name == "id" else b""
            if field.type == FieldDescriptor.TYPE_GROUP:
                return _tag(field.number, 3) + content + _tag(field.number, 4)
            return _tag(field.number, 2) + self._varint(len(content)) + content
        if field.type in {FieldDescriptor.TYPE_STRING, FieldDescriptor.TYPE_BYTES}:
            content = self._bytes()
            return _tag(field.number, 2) + self._varint(len(content)) + content
        wire = _WIRES.get(field.type, 0)
        if field.is_repeated and rng.random() < 0.6:
            content = b"".join(self._scalar(wire) for _ in range(rng.randrange(5)))
            return _tag(field.number, 2) + self._varint(len(content)) + content
        return _tag(field.number, wire) + self._scalar(wire)

    def _scalar(self, wire: int) -> bytes:
        if wire == 0:
            return self._varint(self._number())
        return self._rng.choice([bytes(8), self._rng.randbytes(8)])[: 8 if wire == 1 else 4]

    def _number(self) -> int:
        rng = self._rng
        most = rng.choice([1, 3, 8, 31, 32, 63, 64])
        return rng.choice([0, 1, 7, 700, 127, 128, 1 << most - 1, (1 << most) - 1, rng.getrandbits(most)])

    def _varint(self, number: int) -> bytes:
        written = bytearray()
        while number >= 0x80:
            written.append(number & 0x7F | 0x80)
            number >>= 7
        written.append(number)
        if self._rng.random() < 0.02:
            written[-1] |= 0x80
            written += b"\x80" * self._rng.randrange(3) + b"\0"
        return bytes(written)

    def _bytes(self) -> bytes:
        rng = self._rng
        if rng.random() < 0.03:
            return rng.randbytes(rng.randrange(1, 9))
        return rng.choice(["", "a", "bc" * 20, "ä€🙂", "x" * rng.randrange(300)]).encode()

    def _unknown(self, number: int, depth: int) -> bytes:
        wire = self._rng.choice([0, 1, 2, 3, 5, 5, self._rng.randrange(8)])
        begin = _tag(number, wire)
        if wire == 2:
            content = self._bytes()
            return begin + self._varint(len(content)) + content
        if wire == 3:
            inside = self._unknown(3, depth + 1) if depth < 4 else b""
            return begin + inside + _tag(number, 4)
        return begin + (self._scalar(wire) if wire in {0, 1, 5} else b"")

    def _broken(self, data: bytes) -> bytes:
        rng = self._rng
        found = bytearray(data)
        for _ in range(rng.choice([1, 1, 2, 5])):
            at = rng.randrange(len(found) + 1)
            kind = rng.randrange(4)
            if kind == 0:
                del found[at:]
            elif kind == 1:
                found[at : at + 1] = rng.choice([b"\0", b"\x7f", b"\x80", b"\xff", rng.randbytes(1)])
            elif kind == 2:
                del found[at : at + rng.randrange(4)]
            else:
                found[at:at] = rng.randbytes(rng.randrange(4))
        return bytes(found)


_WIRES = {
    FieldDescriptor.TYPE_DOUBLE: 1, FieldDescriptor.TYPE_FIXED64: 1, FieldDescriptor.TYPE_SFIXED64: 1,
    FieldDescriptor.TYPE_FLOAT: 5, FieldDescriptor.TYPE_FIXED32: 5, FieldDescriptor.TYPE_SFIXED32: 5,
}  # fmt: skip


def _tag(number: int, wire: int) -> bytes:
    tag = number << 3 | wire
    written = bytearray()
    while tag >= 0x80:
        written.append(tag & 0x7F | 0x80)
        tag >>= 7
    written.append(tag)
    return bytes(written)
