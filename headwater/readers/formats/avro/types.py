"""Avro types, as a tree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, TypeAlias

NO_DEFAULT: Final = object()
"""The default of a field without one: None is the default ``null``."""


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
class UnionType:
    """One of some types."""

    branches: tuple[AvroType, ...]
    kind: str = "union"

    @property
    def without_null(self) -> tuple[AvroType, ...]:
        """The branches that have values."""
        return tuple(branch for branch in self.branches if branch.kind != "null")


NamedType: TypeAlias = FixedType | EnumType | RecordType
AvroType: TypeAlias = PrimitiveType | NamedType | ArrayType | AvroMapType | UnionType


def short_name(full_name: str) -> str:
    """Return a name without its namespace."""
    return full_name.rpartition(".")[2]
