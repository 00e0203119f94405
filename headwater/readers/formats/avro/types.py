"""Avro's types as a tree, and which of them match by the rules of schema resolution."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

NO_DEFAULT: Final = object()
"""The default of a field without one: None is the default ``null``."""
_PROMOTIONS: Final = {
    "int": ("long", "float", "double"),
    "long": ("float", "double"),
    "float": ("double",),
    "string": ("bytes",),
    "bytes": ("string",),
}


@dataclass(frozen=True)
class AvroDecimal:
    """The logical type of bytes or of a fixed type that hold an unscaled number."""

    precision: int
    scale: int


@dataclass(frozen=True)
class PrimitiveType:
    """A type without parts.

    Attributes:
        kind: as Avro names it: ``null``, ``boolean``, ``int`` ...
        logical: the logical type of an int or long; empty if there is none, or one that Avro does not know.
        decimal: that of bytes.
    """

    kind: str
    logical: str = ""
    decimal: AvroDecimal | None = None


@dataclass(frozen=True)
class FixedType:
    """A number of bytes."""

    name: str
    aliases: tuple[str, ...]
    size: int
    decimal: AvroDecimal | None
    kind: str = "fixed"


@dataclass(frozen=True)
class EnumType:
    """One of some names."""

    name: str
    aliases: tuple[str, ...]
    symbols: tuple[str, ...]
    default: str | None
    kind: str = "enum"


@dataclass(frozen=True)
class ArrayType:
    """Elements of one type."""

    items: AvroType
    kind: str = "array"


@dataclass(frozen=True)
class AvroMapType:
    """Values of one type, by strings."""

    values: AvroType
    kind: str = "map"


@dataclass(frozen=True)
class RecordField:
    """A field of a record; its default as JSON has it."""

    name: str
    aliases: tuple[str, ...]
    type: AvroType
    default: Any


@dataclass(frozen=True)
class RecordType:
    """Fields by name."""

    name: str
    aliases: tuple[str, ...]
    fields: tuple[RecordField, ...]
    kind: str = "record"


@dataclass(frozen=True)
class RecursiveType:
    """A record inside of itself, in a writer's schema: values of it can be skipped to any depth."""

    name: str
    definition: list[RecordType] = dataclasses.field(compare=False)
    """Filled with the record once that is complete."""
    kind: str = "record"

    @property
    def record(self) -> RecordType:
        """The record itself."""
        return self.definition[0]


@dataclass(frozen=True)
class UnionType:
    """One of some types."""

    branches: tuple[AvroType, ...]
    kind: str = "union"

    @property
    def without_null(self) -> tuple[AvroType, ...]:
        """The branches that have values."""
        return tuple(branch for branch in self.branches if branch.kind != "null")


NamedType: TypeAlias = FixedType | EnumType | RecordType
AvroType: TypeAlias = PrimitiveType | NamedType | RecursiveType | ArrayType | AvroMapType | UnionType


def short_name(full_name: str) -> str:
    """Return a name without its namespace."""
    return full_name.rpartition(".")[2]


def by_writers_names(writer: RecordType, reader: RecordType) -> dict[str, RecordField]:
    """Return the reader's fields by the writer's names for them. Its own names go before its aliases.

    Aliases of fields count where the records have the same full name, or one is an alias of the other, as in
    Avro's library for Java.
    """
    written = {field.name for field in writer.fields}
    fields = {field.name: field for field in reader.fields if field.name in written}
    if not _same_full_name(writer, reader):
        return fields
    for field in reader.fields:
        if field.name not in written:
            alias = next((alias for alias in field.aliases if alias in written - fields.keys()), None)
            if alias is not None:
                fields[alias] = field
    return fields


def matching_branch(writer: AvroType, reader: UnionType) -> AvroType | None:
    """Return the branch of the reader's union that takes values of the writer's type."""
    same_kind = [branch for branch in reader.branches if branch.kind == writer.kind]
    if isinstance(writer, (RecordType, EnumType, FixedType)):
        for is_it in (_same_full_name, same_name, _same_structure):
            for branch in same_kind:
                if is_it(writer, branch):
                    return branch
        return None
    if same_kind:
        return same_kind[0]
    promoted = _PROMOTIONS.get(writer.kind, ())
    return next((branch for branch in reader.branches if branch.kind in promoted), None)


def _same_full_name(writer: AvroType, reader: AvroType) -> bool:
    assert isinstance(writer, (RecordType, EnumType, FixedType))
    assert isinstance(reader, (RecordType, EnumType, FixedType))
    return writer.name == reader.name or writer.name in reader.aliases


def same_name(writer: AvroType, reader: AvroType) -> bool:
    """Return whether the names without namespaces are the same, as the specification has it."""
    assert isinstance(writer, (RecordType, EnumType, FixedType))
    assert isinstance(reader, (RecordType, EnumType, FixedType))
    names = {short_name(name) for name in (reader.name, *reader.aliases)}
    return short_name(writer.name) in names


def _same_structure(writer: AvroType, reader: AvroType) -> bool:
    """Return whether a record has all fields that another one needs."""
    if not (isinstance(writer, RecordType) and isinstance(reader, RecordType)):
        return False
    writer_names = {field.name for field in by_writers_names(writer, reader).values()}
    return all(field.name in writer_names or field.default is not NO_DEFAULT for field in reader.fields)
