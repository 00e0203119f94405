"""Avro schemas: their JSON text as a tree of types."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeVar

from headwater.core.errors import FormatSchemaError
from headwater.readers.formats.avro.defaults import java_double
from headwater.readers.formats.avro.types import (
    NO_DEFAULT,
    ArrayType,
    AvroDecimal,
    AvroMapType,
    AvroType,
    EnumType,
    FixedType,
    NamedType,
    PrimitiveType,
    RecordField,
    RecordType,
    RecursiveType,
    UnionType,
    short_name,
)

MOST_TYPES: Final = 10_000
"""With each use of a named type counted: a short text can name a type in a type in a type."""
_MOST_DEPTH: Final = 64
_NAME: Final = re.compile(r"[^\W\d]\w*")
_ORDERS: Final = frozenset({"ascending", "descending", "ignore"})
_COMMENT: Final = re.compile(r'("(?:[^"\\]|\\.)*")|//[^\n]*|/\*.*?\*/', re.DOTALL)
_PRIMITIVES: Final = frozenset({"null", "boolean", "int", "long", "float", "double", "bytes", "string"})
_LOGICAL: Final = {
    "date": "int",
    "time-millis": "int",
    "time-micros": "long",
    "timestamp-millis": "long",
    "timestamp-micros": "long",
    "timestamp-nanos": "long",
    "local-timestamp-millis": "long",
    "local-timestamp-micros": "long",
    "local-timestamp-nanos": "long",
}

_Made = TypeVar("_Made", bound=AvroType)
_Named = TypeVar("_Named", bound=NamedType)


def parse_schema(
    text: str, references: Sequence[str] = (), *, recursive: bool = False, any_names: bool = False
) -> AvroType:
    """Return the tree of a schema.

    Args:
        text: the schema in JSON, or the name of a primitive type.
        references: schemas that this one names types of, each after those that it needs itself.
        recursive: whether a record may contain itself: that of a writer may.
        any_names: whether names may be any text. Java's parser takes what the specification allows, except in
            the header of a file.

    Raises:
        FormatSchemaError: it is no Avro schema, or has a type that contains itself.
    """
    parser = _Parser(recursive=recursive, any_names=any_names)
    for reference in references:
        parser.parse(schema_json(reference), "", 0)
    return parser.parse(schema_json(text), "", 0)


def schema_json(text: str) -> Any:
    """Return the JSON of a schema, in which comments may be; of the name of a primitive type that name.

    Raises:
        FormatSchemaError: it is no JSON.
    """
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except RecursionError:
        raise FormatSchemaError("the Avro schema is nested too deeply") from None
    except ValueError as error:
        if text.strip() in _PRIMITIVES:
            return text.strip()
        # Java's parser takes comments.
        if (plain := _COMMENT.sub(lambda match: match[1] or " ", text)) != text:
            return schema_json(plain)
        raise FormatSchemaError(f"the Avro schema is not JSON: {error}") from None


def _refuse_constant(constant: str) -> None:
    """Python takes it for a number of JSON."""
    raise ValueError(f"{constant} is no value of JSON")


class _Parser:
    """Parses one schema. Types are known by their full names once they are complete."""

    def __init__(self, *, recursive: bool, any_names: bool) -> None:
        self._recursive = recursive
        self._any_names = any_names
        self._named: dict[str, NamedType] = {}
        self._open: dict[str, list[RecordType]] = {}
        """The records that are not complete, the outermost first."""
        self._weights: dict[int, int] = {}
        self._alive: list[AvroType] = []

    def parse(self, schema: Any, namespace: str, depth: int) -> AvroType:
        if depth > _MOST_DEPTH:
            raise FormatSchemaError(f"the Avro schema is nested deeper than {_MOST_DEPTH} levels")
        match schema:
            case str():
                return self._by_name(schema, namespace)
            case list():
                return self._union(schema, namespace, depth)
            case {"type": dict() | list() as nested}:
                return self.parse(nested, namespace, depth + 1)
            case {"type": str(kind)}:
                return self._complex(kind, schema, namespace, depth)
        raise FormatSchemaError(f"the Avro schema has {_shown(schema)} where a type belongs")

    def _by_name(self, name: str, namespace: str) -> AvroType:
        if name in _PRIMITIVES:
            return PrimitiveType(name)
        full = _full_name(name, namespace)
        # As Java's parser: else the type of this name that is in no namespace.
        if not self._is_known(full) and self._is_known(short_name(name)):
            full = short_name(name)
        if full in self._open:
            if self._recursive:
                return RecursiveType(full, self._open[full])
            names = list(self._open)
            path = " in ".join(reversed([*names[names.index(full) :], full]))
            raise FormatSchemaError(
                f"the Avro schema has a type that contains itself ({path}): columns cannot hold that. "
                "Leave that field out of the schema that you read with"
            )
        if full not in self._named:
            raise FormatSchemaError(f"the Avro schema names the type {full!r}, and does not define it before")
        return self._named[full]

    def _is_known(self, name: str) -> bool:
        return name in self._open or name in self._named

    def _complex(  # noqa: PLR0911 - a case for each type
        self, kind: str, schema: Mapping[str, Any], namespace: str, depth: int
    ) -> AvroType:
        match kind:
            case "record" | "error":
                return self._record(schema, namespace, depth)
            case "enum":
                return self._enum(schema, namespace)
            case "fixed":
                return self._fixed(schema, namespace)
            case "array":
                items = self.parse(_part(schema, "items", "an array"), namespace, depth + 1)
                return self._weighed(ArrayType(items), [items])
            case "map":
                values = self.parse(_part(schema, "values", "a map"), namespace, depth + 1)
                return self._weighed(AvroMapType(values), [values])
        if kind not in _PRIMITIVES:
            return self._by_name(kind, namespace)
        logical = schema.get("logicalType")
        if kind == "bytes" and logical == "decimal":
            return PrimitiveType(kind, decimal=_decimal(schema, None))
        if isinstance(logical, str) and _LOGICAL.get(logical) == kind:
            return PrimitiveType(kind, logical)
        return PrimitiveType(kind)

    def _union(self, branches: list[Any], namespace: str, depth: int) -> UnionType:
        parsed = tuple(self.parse(branch, namespace, depth + 1) for branch in branches)
        names = [getattr(branch, "name", branch.kind) for branch in parsed]
        if "union" in names:
            raise FormatSchemaError("the Avro schema has a union directly in a union, which Avro forbids")
        if len(set(names)) < len(names) or not names:
            raise FormatSchemaError(f"the Avro schema has a union of {names}: each type once, one at least")
        return self._weighed(UnionType(parsed), parsed)

    def _record(self, schema: Mapping[str, Any], namespace: str, depth: int) -> RecordType:
        name, aliases = self._names(schema, namespace)
        fields = _part(schema, "fields", f"the record {name!r}")
        if not isinstance(fields, list):
            raise FormatSchemaError(f"the fields of the record {name!r} are no list")
        definition: list[RecordType] = []
        self._open[name] = definition
        # As in Java: a record in no namespace leaves the one around it to the types in it.
        within = name.rpartition(".")[0] or namespace
        parsed = tuple(self._field(field, name, within, depth) for field in fields)
        del self._open[name]
        names = [field.name for field in parsed]
        if len(set(names)) < len(names):
            raise FormatSchemaError(f"the record {name!r} has two fields of one name")
        record = RecordType(name, aliases, parsed)
        definition.append(record)
        return self._define(self._weighed(record, [field.type for field in parsed]))

    def _field(self, field: Any, record: str, namespace: str, depth: int) -> RecordField:
        match field:
            case {"name": str(name), "type": kind} if self._is_name(name) and _has_order(field):
                parsed = self.parse(kind, namespace, depth + 1)
                default = field.get("default", NO_DEFAULT)
                if isinstance(default, str) and parsed.kind in {"float", "double"}:
                    default = _double(default, name)
                return RecordField(name, _aliases(field), parsed, default)
        raise FormatSchemaError(f"the record {record!r} has {_shown(field)} where a field belongs")

    def _enum(self, schema: Mapping[str, Any], namespace: str) -> EnumType:
        name, aliases = self._names(schema, namespace)
        symbols = _part(schema, "symbols", f"the enum {name!r}")
        if not (isinstance(symbols, list) and symbols and all(isinstance(each, str) for each in symbols)):
            raise FormatSchemaError(f"the enum {name!r} has no list of symbols")
        if len(set(symbols)) < len(symbols) or not all(map(self._is_name, symbols)):
            raise FormatSchemaError(f"the enum {name!r} has a symbol twice, or one that is no name of Avro")
        default = schema.get("default")
        if not isinstance(default, str):
            default = None
        elif default not in symbols:
            raise FormatSchemaError(f"the default of the enum {name!r} is not one of its symbols")
        return self._define(self._weighed(EnumType(name, aliases, tuple(symbols), default), []))

    def _fixed(self, schema: Mapping[str, Any], namespace: str) -> FixedType:
        name, aliases = self._names(schema, namespace)
        size = _part(schema, "size", f"the fixed type {name!r}")
        if type(size) is not int or not 0 <= size <= 1 << 30:
            raise FormatSchemaError(f"the fixed type {name!r} has the size {_shown(size)}")
        decimal = _decimal(schema, size) if schema.get("logicalType") == "decimal" else None
        return self._define(self._weighed(FixedType(name, aliases, size, decimal), []))

    def _names(self, schema: Mapping[str, Any], namespace: str) -> tuple[str, tuple[str, ...]]:
        name = schema.get("name")
        own = schema.get("namespace")
        aliases = _aliases(schema)
        if not isinstance(name, str):
            raise FormatSchemaError(f"the Avro schema has {_shown(name)} where the name of a type belongs")
        full = _full_name(name, own if isinstance(own, str) else namespace)
        for each in (full, *aliases):
            if not all(map(self._is_name, each.split("."))):
                raise FormatSchemaError(
                    f"the Avro schema has {_shown(each)} where the name of a type belongs"
                )
        if full in self._open or full in _PRIMITIVES:
            raise FormatSchemaError(f"the Avro schema defines the type {full!r} twice")
        within = full.rpartition(".")[0]
        return full, tuple(_full_name(alias, within) for alias in aliases)

    def _is_name(self, text: str) -> bool:
        return self._any_names or _NAME.fullmatch(text) is not None

    def _define(self, definition: _Named) -> _Named:
        # Java's parser takes a type that is defined again as it is.
        if self._named.setdefault(definition.name, definition) != definition:
            raise FormatSchemaError(f"the Avro schema defines the type {definition.name!r} twice")
        return definition

    def _weighed(self, schema: _Made, parts: Sequence[AvroType]) -> _Made:
        """Count a type with all of its parts; columns and operations grow with the sum."""
        weight = 1 + sum(self._weights.get(id(part), 1) for part in parts)
        if weight > MOST_TYPES:
            raise FormatSchemaError(f"the Avro schema has more than {MOST_TYPES} types")
        self._weights[id(schema)] = weight
        self._alive.append(schema)  # so that no other type gets its id
        return schema


def _double(default: str, name: str) -> float:
    """Return a default that is a text, as JSON has no words for some numbers."""
    try:
        return java_double(default)
    except ValueError as error:
        raise FormatSchemaError(
            f"the Avro schema has a default of {name!r} that is no number: {error}"
        ) from None


def _part(schema: Mapping[str, Any], key: str, owner: str) -> Any:
    if key not in schema:
        raise FormatSchemaError(f"the Avro schema has no {key!r} for {owner}")
    return schema[key]


def _aliases(schema: Mapping[str, Any]) -> tuple[str, ...]:
    aliases = schema.get("aliases", [])
    if not (isinstance(aliases, list) and all(isinstance(alias, str) for alias in aliases)):
        raise FormatSchemaError(f"the Avro schema has {_shown(aliases)} where a list of aliases belongs")
    return tuple(aliases)


def _full_name(name: str, namespace: str) -> str:
    return name.removeprefix(".") if "." in name or not namespace else f"{namespace}.{name}"


def _has_order(field: Mapping[str, Any]) -> bool:
    """Whether a field says nothing of its order, or what Avro knows."""
    return str(field.get("order", "ignore")).lower() in _ORDERS


def _decimal(schema: Mapping[str, Any], size: int | None) -> AvroDecimal | None:
    """Return the decimal, or None where Avro ignores the logical type: it is plain bytes then."""
    precision = schema.get("precision")
    scale = schema.get("scale", 0)
    if type(precision) is not int or type(scale) is not int or not 0 <= scale <= precision or precision < 1:
        return None
    if size is not None and precision > math.floor(math.log10(2) * (8 * size - 1)):
        return None
    return AvroDecimal(precision, scale)


def _shown(value: Any) -> str:
    return json.dumps(value)[:60]
