"""Random messages of Protobuf. Their bytes are made by the writer that the tests of the format have."""

from __future__ import annotations

import base64
import itertools
import random
from collections.abc import Sequence
from typing import Any, Final

from google.protobuf import descriptor_pb2

from headwater.readers.formats.format import FormatOptions
from headwater.readers.formats.protobuf.descriptors import find_message
from headwater.readers.formats.protobuf.format import ConfluentProtobufFormat, ProtobufFormat
from headwater.readers.formats.registry.settings import RegistrySettings
from tests.formats.fuzz.subject import Subject
from tests.readers.formats.protobuf.messages import OPTIONAL, REPEATED, REQUIRED, SCALARS, Writer
from tests.readers.formats.scripted_registry import ScriptedRegistry

GOOD_VALUES: Final = 400
TOKENS: Final = (
    b"\x0b" * 120,  # groups that nothing ends
    b"\x0b" * 90 + b"\x0c" * 90,
    b"\x0a\x04\x0a\x02\x0a\x00",
    b"\x12\xff\xff\xff\xff\x07",
    b"\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
    b"\x0a\x00" * 150,
    b"\x08\x01" * 150,
    b"\xfa\xff\xff\xff\x0f\x00",
    b"\x00",
)
_MESSAGES: Final = 4
_numbers: Final = itertools.count(1)


def protobuf(rng: random.Random) -> Subject:
    """Return plain messages."""
    made = _format(rng, _file(rng))
    return Subject(made, _values(rng, made), TOKENS)


def confluent_protobuf(rng: random.Random, registry: ScriptedRegistry) -> Subject:
    """Return messages behind a header. A few name another message of the file, or one that there is not."""
    file = _file(rng)
    plain = _format(rng, file)
    place = int(plain.message.removeprefix("fuzz.M"))
    schema_id = next(_numbers)
    registered = base64.b64encode(file.SerializeToString()).decode()
    registry.has(schema_id, registered, schemaType="PROTOBUF")
    path = f"/schemas/ids/{schema_id}"
    registry.answers[f"{path}?format=serialized"] = registry.answers.pop(path)
    header = b"\0" + schema_id.to_bytes(4, "big")
    indexes = [b"\0" if place == 0 else bytes([2, 2 * place])] * 20
    indexes += [bytes([2, 2 * other]) for other in range(_MESSAGES + 1)] + [b"\x04\x02\x02", b"\x01", b"\x7e"]
    good = [header + rng.choice(indexes) + value for value in _values(rng, plain)]
    settings = RegistrySettings(urls=(registry.url,), deadline_ms=100)
    return Subject(ConfluentProtobufFormat(plain, settings), good, TOKENS, [schema_id])


def _format(rng: random.Random, file: descriptor_pb2.FileDescriptorProto) -> ProtobufFormat:
    return ProtobufFormat(
        descriptor_set=descriptor_pb2.FileDescriptorSet(file=[file]).SerializeToString(),
        message=f"fuzz.M{rng.choice([0, 0, 0, 1])}",
        options=FormatOptions(corrupt_column="corrupt" if rng.random() < 0.5 else None),
        defaults=rng.random() < 0.3,
        enums_as_ints=rng.random() < 0.3,
        upcast_unsigned=rng.random() < 0.3,
    )


def _values(rng: random.Random, made: ProtobufFormat) -> Sequence[bytes]:
    message = find_message(made.descriptor_set, made.message)
    writer = Writer(rng)
    return [writer.message(message) for _ in range(GOOD_VALUES)]


def _file(rng: random.Random) -> descriptor_pb2.FileDescriptorProto:
    """Return a file with messages each of which may have those behind it as parts."""
    file = descriptor_pb2.FileDescriptorProto(
        name="fuzz.proto", package="fuzz", syntax=rng.choice(["proto2", "proto3"])
    )
    file.dependency.extend(["google/protobuf/timestamp.proto", "google/protobuf/duration.proto"])
    enum = file.enum_type.add(name="Color")
    for name, number in (("NONE", 0), ("RED", 1), ("BLUE", 700), ("DARK", -3)):
        enum.value.add(name=name, number=number)
    for at in range(_MESSAGES):
        message = file.message_type.add(name=f"M{at}")
        if rng.random() < 0.5:
            message.oneof_decl.add(name="choice")
        taken = rng.sample([*range(1, 20), 100, 2047, 2048, 536870911], rng.randrange(1, 9))
        for i, number in enumerate(taken):
            _field(rng, file, at, f"f{i}", number)
        if message.oneof_decl and not any(field.HasField("oneof_index") for field in message.field):
            message.field.add(name="one", number=30, type=5, label=OPTIONAL, oneof_index=0)
    return file


def _field(
    rng: random.Random, file: descriptor_pb2.FileDescriptorProto, at: int, name: str, number: int
) -> None:
    message = file.message_type[at]
    kind = _kind(rng, at)
    chance = rng.random()
    if chance < 0.12:
        _map(rng, message, name, number, kind)
    elif chance < 0.4:
        message.field.add(name=name, number=number, label=REPEATED, **kind)
    elif message.oneof_decl and chance < 0.6:
        message.field.add(name=name, number=number, label=OPTIONAL, oneof_index=0, **kind)
    elif file.syntax == "proto2" and chance < 0.63:
        message.field.add(name=name, number=number, label=REQUIRED, **kind)
    else:
        message.field.add(name=name, number=number, label=OPTIONAL, **kind)
        if file.syntax == "proto2" and kind["type"] == SCALARS["string"]:
            message.field[-1].default_value = "default"


def _kind(rng: random.Random, at: int) -> dict[str, Any]:
    chance = rng.random()
    if chance < 0.6:
        return {"type": rng.choice(list(SCALARS.values()))}
    if chance < 0.7:
        return {"type": 14, "type_name": ".fuzz.Color"}
    if chance < 0.8 or at == _MESSAGES - 1:
        return {"type": 11, "type_name": f".google.protobuf.{rng.choice(['Timestamp', 'Duration'])}"}
    return {"type": 11, "type_name": f".fuzz.M{rng.randrange(at + 1, _MESSAGES)}"}


def _map(
    rng: random.Random,
    message: descriptor_pb2.DescriptorProto,
    name: str,
    number: int,
    value: dict[str, Any],
) -> None:
    entry = message.nested_type.add(name=f"{name.capitalize()}Entry")
    entry.options.map_entry = True
    key = rng.choice([kind for scalar, kind in SCALARS.items() if scalar not in {"double", "float", "bytes"}])
    entry.field.add(name="key", number=1, type=key, label=OPTIONAL)
    entry.field.add(name="value", number=2, label=OPTIONAL, **value)
    kind = f".fuzz.{message.name}.{entry.name}"
    message.field.add(name=name, number=number, type=11, type_name=kind, label=REPEATED)
