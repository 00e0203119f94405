"""Random Avro schemas, and random data of them, written without a library: a datum needs no value."""

from __future__ import annotations

import itertools
import json
import random
import struct
from typing import Any, Final

from headwater.readers.formats.avro.avro_format import AvroValueFormat, ConfluentAvroFormat
from headwater.readers.formats.format import FormatOptions
from headwater.readers.formats.registry.settings import RegistrySettings
from tests.formats.fuzz.subject import Subject
from tests.readers.formats.scripted_registry import ScriptedRegistry

GOOD_VALUES: Final = 400
TOKENS: Final = (
    b"\x03\x80\x80\x80\x80\x08",  # a block of -2 elements, and how many bytes it has: very many
    b"\x01" + b"\xff" * 9 + b"\x01",
    b"\xfe" + b"\xff" * 7 + b"\x7f",
    b"\x80\x80\x80\x80\x80\x80\x80\x80\x80\x02",
    b"\x02" * 300,
    b"\x04" + b"a" * 200,
    bytes(16),
)
_PRIMITIVES: Final = ("boolean", "int", "long", "float", "double", "bytes", "string")
_LOGICAL: Final = (
    *(("int", name) for name in ("date", "time-millis")),
    *(
        ("long", f"{name}-{unit}")
        for name in ("timestamp", "local-timestamp")
        for unit in ("millis", "micros", "nanos")
    ),
    ("long", "time-micros"),
)
_NEW_FIELDS: Final = (
    {"type": "string", "default": "a default that no value has"},
    {"type": ["null", "long"], "default": None},
    {"type": {"type": "array", "items": "int"}, "default": [1, 2, 3]},
    {"type": {"type": "map", "values": "double"}, "default": {"a": 1.5}},
    {"type": "long", "default": -7},
)
_WIDER: Final = {"int": "long", "long": "double", "float": "double", "string": "bytes", "bytes": "string"}
_numbers: Final = itertools.count(1)


def avro(rng: random.Random) -> Subject:
    """Return plain values; every other time they are read with another schema than they were written with."""
    writer = record(rng)
    reader = _evolved(rng, writer) if rng.random() < 0.5 else writer
    made = AvroValueFormat(json.dumps(reader), json.dumps(writer), _options(rng))
    return Subject(made, [datum(rng, writer) for _ in range(GOOD_VALUES)], TOKENS)


def confluent_avro(rng: random.Random, registry: ScriptedRegistry) -> Subject:
    """Return values that name one of several schemas, and not always the one they were written with."""
    writer = record(rng)
    writers = [writer, _evolved(rng, writer), _evolved(rng, writer), record(rng)]
    ids = []
    good = []
    for each in writers:
        schema_id = next(_numbers)
        registry.has(schema_id, each)
        ids.append(schema_id)
        header = b"\0" + schema_id.to_bytes(4, "big")
        good += [header + datum(rng, each) for _ in range(GOOD_VALUES // len(writers))]
    settings = RegistrySettings(urls=(registry.url,), deadline_ms=100)
    made = ConfluentAvroFormat(json.dumps(rng.choice(writers[:3])), settings, options=_options(rng))
    return Subject(made, good, TOKENS, ids)


def record(rng: random.Random) -> dict[str, Any]:
    """Return a random record."""
    return _record(rng, 0)


def datum(rng: random.Random, schema: Any) -> bytes:  # noqa: PLR0911 - a case for each type
    """Return random data of a schema."""
    match schema:
        case list():
            branch = rng.randrange(len(schema))
            return _number(branch) + datum(rng, schema[branch])
        case {"type": "record", "fields": fields}:
            return b"".join(datum(rng, field["type"]) for field in fields)
        case {"type": "enum", "symbols": symbols}:
            return _number(rng.randrange(len(symbols)))
        case {"type": "fixed", "size": size}:
            return rng.randbytes(size)
        case {"type": "array", "items": items}:
            return _blocks(rng, lambda: datum(rng, items))
        case {"type": "map", "values": values}:
            return _blocks(rng, lambda: datum(rng, "string") + datum(rng, values))
        case {"type": kind}:
            return datum(rng, kind)
    return _primitive(rng, schema)


def _record(rng: random.Random, depth: int) -> dict[str, Any]:
    fields = [{"name": f"f{i}", "type": _type(rng, depth + 1)} for i in range(rng.randrange(1, 7))]
    # The root has one name: schemas of writers and readers are told apart by it.
    return {"type": "record", "name": f"R{next(_numbers)}" if depth else "Root", "fields": fields}


def _type(rng: random.Random, depth: int) -> Any:
    chance = rng.random()
    if depth < 4 and chance < 0.3:
        return rng.choice([_record, _array, _map])(rng, depth)
    if chance < 0.55:
        return ["null", _simple(rng)] if rng.random() < 0.7 else [_simple(rng), "null"]
    if chance < 0.62:
        return rng.choice([["int", "long"], ["null", "string", "long"], ["float", "double", "null"]])
    return _simple(rng)


def _array(rng: random.Random, depth: int) -> Any:
    return {"type": "array", "items": _type(rng, depth + 1)}


def _map(rng: random.Random, depth: int) -> Any:
    return {"type": "map", "values": _type(rng, depth + 1)}


def _simple(rng: random.Random) -> Any:
    chance = rng.random()
    name = f"N{next(_numbers)}"
    if chance < 0.6:
        return rng.choice(_PRIMITIVES)
    if chance < 0.75:
        kind, logical = rng.choice(_LOGICAL)
        return {"type": kind, "logicalType": logical}
    if chance < 0.82:
        return {"type": "enum", "name": name, "symbols": [f"S{i}" for i in range(rng.randrange(1, 5))]}
    decimal = {"logicalType": "decimal", "precision": rng.randrange(1, 39), "scale": 0}
    if chance < 0.9:
        return {"type": "bytes", **decimal}
    return {"type": "fixed", "name": name, "size": rng.randrange(1, 20), **(decimal if chance < 0.95 else {})}


def _evolved(rng: random.Random, writer: dict[str, Any]) -> dict[str, Any]:
    """Return a later version: without a field, with others that have defaults, of wider types."""
    fields = [dict(field) for field in writer["fields"] if rng.random() < 0.8]
    for field in fields:
        if rng.random() < 0.3 and isinstance(field["type"], str):
            field["type"] = _WIDER.get(field["type"], field["type"])
    fields += [
        {"name": f"new{i}", **rng.choice(_NEW_FIELDS)} for i in range(rng.randrange(0 if fields else 1, 3))
    ]
    rng.shuffle(fields)
    return {**writer, "fields": fields}


def _options(rng: random.Random) -> FormatOptions:
    return FormatOptions(corrupt_column="corrupt" if rng.random() < 0.5 else None)


def _primitive(rng: random.Random, kind: str) -> bytes:  # noqa: PLR0911 - a case for each type
    match kind:
        case "null":
            return b""
        case "boolean":
            return rng.choice([b"\0", b"\1"])
        case "int":
            return _number(_integer(rng, 31))
        case "long":
            return _number(_integer(rng, 63))
        case "float":
            return struct.pack("<f", rng.uniform(-9, 9)) if rng.random() < 0.8 else rng.randbytes(4)
        case "double":
            return struct.pack("<d", rng.uniform(-9, 9)) if rng.random() < 0.8 else rng.randbytes(8)
        case "bytes":
            return _sized(rng.randbytes(rng.choice([0, 1, 3, 8, 16, 17])))
    return _sized(rng.choice(["", "a", "text", "grüße €", "🙂", "x" * 15, "y" * 16, "z" * 40]).encode())


def _integer(rng: random.Random, bits: int) -> int:
    return rng.getrandbits(rng.choice([1, 6, 7, bits])) * rng.choice([1, -1])


def _blocks(rng: random.Random, element: Any) -> bytes:
    written = b""
    for _ in range(rng.choice([0, 1, 1, 2])):
        elements = [element() for _ in range(rng.choice([1, 1, 2, 3]))]
        body = b"".join(elements)
        if rng.random() < 0.3:  # the other way to write a block: with its size
            written += _number(-len(elements)) + _number(len(body)) + body
        else:
            written += _number(len(elements)) + body
    return written + b"\0"


def _sized(data: bytes) -> bytes:
    return _number(len(data)) + data


def _number(value: int) -> bytes:
    bits = (value << 1) ^ (value >> 63)
    written = bytearray()
    while bits >= 0x80:
        written.append(bits & 0x7F | 0x80)
        bits >>= 7
    written.append(bits)
    return bytes(written)
