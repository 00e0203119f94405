"""Defaults of fields: from JSON, as a schema has them, to Avro's binary encoding."""

from __future__ import annotations

import struct
from typing import Any, TypeVar

from headwater.core.varints import varint_bytes, zigzag
from headwater.readers.formats.avro.types import (
    NO_DEFAULT,
    ArrayType,
    AvroMapType,
    AvroType,
    EnumType,
    FixedType,
    RecordType,
    UnionType,
)

T = TypeVar("T")


class UnfitDefaultError(ValueError):
    """A default is not of its field's type."""


def encoded_default(schema: AvroType, value: Any) -> bytes:
    """Return a default in the encoding of its type.

    Raises:
        UnfitDefaultError: it is not of that type.
    """
    try:
        return _encoded(schema, value)
    except (AttributeError, KeyError, OverflowError, TypeError, ValueError, struct.error) as error:
        raise UnfitDefaultError(str(error)) from None


def _encoded(schema: AvroType, value: Any) -> bytes:  # noqa: PLR0911 - a case for each type
    match schema:
        case RecordType():
            default = dict(value)
            return b"".join(
                _encoded(each.type, default.get(each.name, each.default)) for each in schema.fields
            )
        case ArrayType():
            return _block([_encoded(schema.items, item) for item in _of(list, value)])
        case AvroMapType():
            return _block(
                [_text(key) + _encoded(schema.values, item) for key, item in _of(dict, value).items()]
            )
        case UnionType():
            return _branch(schema, value)
        case EnumType():
            return _number(schema.symbols.index(value))
        case FixedType():
            content = _of(str, value).encode("latin-1")
            if len(content) != schema.size:
                raise ValueError
            return content
    return _primitive(schema.kind, value)


def _branch(union: UnionType, value: Any) -> bytes:
    """Encode with the first branch that takes the value. Before Avro 1.12 only the first of all may."""
    for number, branch in enumerate(union.branches):
        try:
            return _number(number) + encoded_default(branch, value)
        except UnfitDefaultError:
            continue
    raise ValueError


def _primitive(kind: str, value: Any) -> bytes:
    if value is NO_DEFAULT:
        raise ValueError
    match kind:
        case "null" if value is None:
            return b""
        case "boolean":
            return bytes([_of(bool, value)])
        case "int" | "long":
            number = _of(int, value)
            most = 1 << (31 if kind == "int" else 63)
            if -most <= number < most:
                return _number(number)
        case "float" | "double" if value in ("NaN", "Infinity", "-Infinity") or type(value) in {int, float}:
            return struct.pack("<f" if kind == "float" else "<d", float(value))
        case "bytes":
            content = _of(str, value).encode("latin-1")
            return _number(len(content)) + content
        case "string":
            return _text(_of(str, value))
    raise ValueError


def _of(kind: type[T], value: Any) -> T:
    if type(value) is not kind:
        raise TypeError
    return value


def _block(items: list[bytes]) -> bytes:
    return _number(len(items)) + b"".join(items) + (b"\0" if items else b"")


def _text(value: str) -> bytes:
    content = value.encode()
    return _number(len(content)) + content


def _number(value: int) -> bytes:
    return varint_bytes(zigzag(value))
