"""Types of PostgreSQL as types of Arrow: the one place that says which column a type becomes.

A *native* type has an Arrow type with a place for each of its values, or nearly each: then a value that has
none is an error. Every other type is a string column, with the text that the server itself makes of a value.
Snapshot and stream share this table, so a value is the same on both ways.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

import pyarrow as pa

from headwater.enumerators.postgres.table import TableColumn, quoted
from headwater.readers.postgres import layout as L

_NUMERIC: Final = 1_700
_MOST_DIGITS: Final = 38

_UTC: Final = pa.timestamp("us", tz="UTC")
_NATIVE: Final[Mapping[int, tuple[Any, int]]] = MappingProxyType(
    {
        16: (pa.bool_(), L.BOOL),
        17: (pa.binary(), L.BYTES),  # bytea
        19: (pa.string(), L.TEXT),  # name
        20: (pa.int64(), L.INT64),
        21: (pa.int16(), L.INT16),
        23: (pa.int32(), L.INT32),
        25: (pa.string(), L.TEXT),
        26: (pa.int64(), L.OID),
        114: (pa.string(), L.TEXT),  # json
        700: (pa.float32(), L.INT32),
        701: (pa.float64(), L.INT64),
        1042: (pa.string(), L.TEXT),  # bpchar
        1043: (pa.string(), L.TEXT),  # varchar
        1082: (pa.date32(), L.DATE),
        1114: (pa.timestamp("us"), L.TIMESTAMP),
        1184: (_UTC, L.TIMESTAMP),
        2950: (pa.string(), L.UUID),
        3802: (pa.string(), L.JSONB),
    }
)
"""By the oids of types, which never change: the Arrow type, and the kind of its binary form."""
_CAST: Final = frozenset({17, 20, 21, 23, 26, 700, 701, 1082, 1114, 1184, _NUMERIC, 2950, 3802})
"""Types whose cast to text is their output function, and takes the server half the time of ``format``."""


@dataclass(frozen=True, slots=True)
class PostgresColumn:
    """A column of a table, as it is read. Picklable.

    Attributes:
        name: of the column.
        arrow_type: of its values here.
        kind: of its values, of `layout`: how the bytes of a native one are read; `layout.TEXT` for others.
        is_native: whether the type itself travels; otherwise the text that the server makes of it.
        type_name: as SQL has it, for people.
        is_cast: whether the text of a value is that of its cast.
    """

    name: str
    arrow_type: Any
    kind: int
    is_native: bool
    type_name: str
    is_cast: bool = False

    @property
    def scale(self) -> int:
        """Of decimals; else 0."""
        return int(self.arrow_type.scale) if self.kind == L.DECIMAL else 0

    @property
    def sql(self) -> str:
        """The expression of it in COPY.

        Changes in the stream have values as their types' output functions write them, and so do these texts.
        For some types the cast to text is another function: it writes inet with its mask.
        """
        name = quoted(self.name)
        if self.is_native:
            return name
        if self.is_cast:
            return f"{name}::pg_catalog.text"
        # The test for NULL that a composite value of NULLs does not pass.
        return f"CASE WHEN {name} IS DISTINCT FROM NULL THEN pg_catalog.format('%s', {name}) END"


def column_of(column: TableColumn, *, as_text: bool = False) -> PostgresColumn:
    """Return how a column is read.

    Args:
        column: as the catalogue has it.
        as_text: whether the user wants the server's text, whatever its type is.
    """
    arrow_type, kind = (None, L.TEXT) if as_text else _native(column)
    return PostgresColumn(
        name=column.name,
        arrow_type=arrow_type or pa.string(),
        kind=kind,
        is_native=arrow_type is not None,
        type_name=column.type_name,
        is_cast=column.type_oid in _CAST,
    )


def type_of(oid: int) -> pa.DataType:
    """Return the Arrow type of a native type without a modifier."""
    arrow_type: pa.DataType = _NATIVE[oid][0]
    return arrow_type


def schema_of(columns: Sequence[PostgresColumn]) -> pa.Schema:
    """Return the schema of columns; all may be null, as `Source.schema` has it."""
    return pa.schema([pa.field(each.name, each.arrow_type) for each in columns])


def _native(column: TableColumn) -> tuple[Any, int]:
    if column.type_kind == "e":
        return pa.string(), L.TEXT  # the label
    if column.type_oid == _NUMERIC:
        decimal = _decimal(column.typmod)
        return (None, L.TEXT) if decimal is None else (decimal, L.DECIMAL)
    return _NATIVE.get(column.type_oid, (None, L.TEXT))


def _decimal(typmod: int) -> Any:
    """Return the decimal of a numeric with precision and scale; None if there is none that holds all values.

    Its modifier has the precision in the upper 16 bits and the scale, with a sign, in the lower 11.
    """
    if typmod < 4:
        return None
    precision = (typmod - 4) >> 16 & 0xFFFF
    scale = ((typmod - 4) & 0x7FF ^ 1024) - 1024
    # A scale below 0 rounds before the point, and one above the precision leaves zeros behind it.
    digits = max(precision - min(scale, 0), scale)
    return pa.decimal128(digits, max(scale, 0)) if digits <= _MOST_DIGITS else None
