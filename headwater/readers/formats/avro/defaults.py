"""Defaults of fields: from JSON, as a schema has them, to Avro's binary encoding.

What Java's resolving decoder makes of a value of another type is made here, too: it looks at the kind of JSON
value that it needs, and bends that to the field's type.
"""

from __future__ import annotations

import re
import struct
from typing import Any, Final

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

_JAVA_DOUBLE: Final = re.compile(
    r"[\0- ]*(?:([+-]?(?:NaN|Infinity|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?))"
    r"|([+-]?0[xX](?:[\da-fA-F]+\.?|[\da-fA-F]*\.[\da-fA-F]+)[pP][+-]?\d+))[fFdD]?[\0- ]*",
    re.ASCII,
)
_KINDS: Final[dict[str, tuple[type, ...]]] = {
    "null": (type(None),),
    "boolean": (bool,),
    **dict.fromkeys(("int", "long", "float", "double"), (int, float)),
    **dict.fromkeys(("bytes", "string", "fixed"), (str,)),
    "array": (list, dict),
}
"""What these types take; of an array only where it is a branch of a union. The others look no closer."""


class UnfitDefaultError(ValueError):
    """A default is not of its field's type."""


def encoded_default(schema: AvroType, value: Any) -> bytes:
    """Return a default in the encoding of its type.

    Raises:
        UnfitDefaultError: it is not of that type, nor of one that Java takes for it.
    """
    try:
        return _encoded(schema, value)
    except (TypeError, ValueError) as error:
        raise UnfitDefaultError(str(error)) from None


def java_double(text: str) -> float:
    """Return the number that Java's ``Double.valueOf`` reads, as the default of a field may be written.

    Raises:
        ValueError: it is none.
    """
    match = _JAVA_DOUBLE.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is no number")
    try:
        return float.fromhex(match[2]) if match[2] else float(match[1])
    except OverflowError:
        return float("-inf" if match[2].startswith("-") else "inf")


def _encoded(schema: AvroType, value: Any) -> bytes:  # noqa: PLR0911 - a case for each type
    if value is NO_DEFAULT:
        raise ValueError
    match schema:
        case RecordType():
            members = value if isinstance(value, dict) else {}
            return b"".join(
                _encoded(each.type, members.get(each.name, each.default)) for each in schema.fields
            )
        case ArrayType():
            items = list(value.values()) if isinstance(value, dict) else value
            return _block([_encoded(schema.items, item) for item in items] if isinstance(items, list) else [])
        case AvroMapType():
            if isinstance(value, list) and value:
                raise TypeError
            entries = value.items() if isinstance(value, dict) else ()
            return _block([_text(key) + _encoded(schema.values, item) for key, item in entries])
        case UnionType():
            # The first branch that takes values of this kind. Before Avro 1.12 it was the first of all.
            number = [_takes(branch, value) for branch in schema.branches].index(True)
            return _number(number) + _encoded(schema.branches[number], value)
        case EnumType():
            return _number(schema.symbols.index(value))
    if not _takes(schema, value):
        raise TypeError
    if isinstance(schema, FixedType):
        return _latin(value)[: schema.size].ljust(schema.size, b"\0")
    return _primitive(schema.kind, value)


def _takes(schema: AvroType, value: Any) -> bool:
    return type(value) in _KINDS.get(schema.kind, (type(value),))


def _primitive(kind: str, value: Any) -> bytes:
    match kind:
        case "null":
            return b""
        case "boolean":
            return bytes([value])
        case "int" | "long":
            return _number(_integer(value, 32 if kind == "int" else 64))
        case "float" | "double":
            return _floating("<f" if kind == "float" else "<d", value)
        case "bytes":
            content = _latin(value)
            return _number(len(content)) + content
    return _text(value)


def _integer(value: float, bits: int) -> int:
    """Return a number as Java narrows it: a whole one keeps its last bits, another one ends at the limits."""
    half = 1 << (bits - 1)
    if isinstance(value, int):
        return (value + half) % (2 * half) - half
    return int(max(-half, min(value, half - 1)))


def _floating(layout: str, value: float) -> bytes:
    try:
        return struct.pack(layout, value)
    except OverflowError:
        return struct.pack(layout, float("inf" if value > 0 else "-inf"))


def _latin(value: str) -> bytes:
    return value.encode("latin-1", errors="replace")


def _block(items: list[bytes]) -> bytes:
    return _number(len(items)) + b"".join(items) + (b"\0" if items else b"")


def _text(value: str) -> bytes:
    content = value.encode(errors="replace")
    return _number(len(content)) + content


def _number(value: int) -> bytes:
    return varint_bytes(zigzag(value))
