"""Relation messages of pgoutput: the form of a table from here on in the log."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Final

from headwater.core.errors import CorruptRecordError

MOST_COLUMNS: Final = 1_664
"""More the server has in no row."""


@dataclass(frozen=True, slots=True)
class RelationColumn:
    """A column as the log has it.

    Attributes:
        name: of the column.
        is_identity: whether it is part of the replica identity.
        type_oid: of its type.
        typmod: of that type; -1 for none.
    """

    name: str
    is_identity: bool
    type_oid: int
    typmod: int


@dataclass(frozen=True, slots=True)
class Relation:
    """A table as the log has it.

    Attributes:
        oid: of the table.
        schema: its schema's name.
        name: its name.
        replica_identity: ``d`` default, ``f`` full, ``i`` index, ``n`` nothing.
        columns: in the order of the rows that follow.
    """

    oid: int
    schema: str
    name: str
    replica_identity: str
    columns: tuple[RelationColumn, ...]

    @property
    def full_name(self) -> str:
        """With its schema, for people."""
        return f"{self.schema}.{self.name}"


def parse_relation(message: bytes) -> Relation:
    """Return the content of a Relation message.

    Args:
        message: without the header of XLogData.

    Raises:
        CorruptRecordError: it is cut off.
    """
    try:
        (oid,) = struct.unpack_from(">I", message, 1)
        schema, at = _name(message, 5)
        name, at = _name(message, at)
        identity = chr(message[at])
        (count,) = struct.unpack_from(">H", message, at + 1)
        if count > MOST_COLUMNS:
            raise CorruptRecordError(f"a Relation message of pgoutput names {count} columns")
        at += 3
        columns = []
        for _ in range(count):
            is_identity = bool(message[at] & 1)
            column, at = _name(message, at + 1)
            type_oid, typmod = struct.unpack_from(">Ii", message, at)
            at += 8
            columns.append(RelationColumn(column, is_identity, type_oid, typmod))
    except (struct.error, IndexError, ValueError) as error:
        raise CorruptRecordError(f"a Relation message of pgoutput is cut off: {error}") from error
    # pgoutput leaves the schema of the built-in types and tables empty.
    return Relation(oid, schema or "pg_catalog", name, identity, tuple(columns))


def _name(message: bytes, at: int) -> tuple[str, int]:
    end = message.index(0, at)
    return message[at:end].decode(), end + 1
