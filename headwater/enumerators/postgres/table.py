"""A table in the catalogue."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from headwater.core.errors import OptionError, UnknownSplitError
from headwater.enumerators.postgres.connection import PostgresConnection, mapped_errors
from headwater.enumerators.postgres.settings import SOURCE

_TABLE: Final = """
SELECT c.oid::bigint, n.nspname, c.relname, c.relkind, c.relreplident, c.relispartition,
       coalesce((SELECT array_agg(a.attname ORDER BY k.place)
                 FROM pg_index i
                 CROSS JOIN unnest(i.indkey) WITH ORDINALITY k(number, place)
                 JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.number
                 WHERE i.indrelid = c.oid AND i.indisprimary
                       AND k.place <= i.indnkeyatts), '{{}}')::text[]
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE {which}
"""
_NAMED: Final = """
      CASE cardinality(parse_ident(%(table)s))
          WHEN 2 THEN n.nspname = (parse_ident(%(table)s))[1] AND c.relname = (parse_ident(%(table)s))[2]
          ELSE c.oid = to_regclass(%(table)s)
      END
"""
"""A table that is named with its schema is found without any right on either. An index has the columns that
it only carries (INCLUDE) behind those of its key."""

_COLUMNS: Final = """
WITH RECURSIVE base AS (
    SELECT a.attnum, t.oid, t.typtype, t.typbasetype, t.typtypmod, a.atttypmod AS typmod
    FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
    WHERE a.attrelid = %(oid)s AND a.attnum > 0 AND NOT a.attisdropped
  UNION ALL
    SELECT base.attnum, t.oid, t.typtype, t.typbasetype, t.typtypmod,
           CASE WHEN base.typmod = -1 THEN base.typtypmod ELSE base.typmod END
    FROM base JOIN pg_type t ON t.oid = base.typbasetype
    WHERE base.typtype = 'd'
)
SELECT a.attnum, a.attname, base.oid::bigint, base.typtype, base.typmod,
       format_type(a.atttypid, a.atttypmod), NOT a.attnotnull, a.attgenerated
FROM pg_attribute a JOIN base ON base.attnum = a.attnum AND base.typtype <> 'd'
WHERE a.attrelid = %(oid)s
ORDER BY a.attnum
"""

_NEAR: Final = """
SELECT format('%%I.%%I', n.nspname, c.relname)
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE lower(c.relname) = lower(%s) AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
ORDER BY 1 LIMIT 5
"""


@dataclass(frozen=True, slots=True)
class TableColumn:
    """A column, as the catalogue has it.

    Attributes:
        number: its ``attnum``: it stays when columns before it are dropped.
        name: of the column.
        type_oid: of its type; of a domain the type below it.
        type_kind: ``typtype`` of that type: ``b`` base, ``e`` enum, ``c`` composite, ``r`` range.
        typmod: of that type: length, or precision and scale; -1 for none.
        type_name: as SQL has it, for people: ``numeric(12,2)``.
        is_nullable: whether it may hold NULL.
        generated: ``s`` stored, ``v`` virtual; empty for an ordinary column.
    """

    number: int
    name: str
    type_oid: int
    type_kind: str
    typmod: int
    type_name: str
    is_nullable: bool
    generated: str


@dataclass(frozen=True, slots=True)
class TableDescription:
    """A table, a partitioned table, a view or a materialized view.

    Attributes:
        oid: another table of the same name has another one.
        schema: its schema's name.
        name: its name.
        kind: ``relkind``: ``r`` table, ``p`` partitioned, ``v`` view, ``m`` materialized view, ``f`` foreign.
        replica_identity: ``d`` default, ``f`` full, ``i`` index, ``n`` nothing.
        is_partition: whether it is a partition of another table.
        key: the columns of its primary key, in the key's order; empty if it has none.
        columns: in their order.
    """

    oid: int
    schema: str
    name: str
    kind: str
    replica_identity: str
    is_partition: bool
    key: tuple[str, ...]
    columns: tuple[TableColumn, ...]

    @property
    def full_name(self) -> str:
        """With its schema, for people."""
        return f"{self.schema}.{self.name}"

    @property
    def sql(self) -> str:
        """With its schema, quoted for SQL."""
        return f"{quoted(self.schema)}.{quoted(self.name)}"

    def column(self, name: str) -> TableColumn | None:
        """Return a column by its exact name, else the only one that differs in case alone; else None."""
        exact = [each for each in self.columns if each.name == name]
        matches = exact or [each for each in self.columns if each.name.lower() == name.lower()]
        return matches[0] if len(matches) == 1 else None


def quoted(name: str) -> str:
    """Return a name as SQL takes it whatever is in it."""
    return '"' + name.replace('"', '""') + '"'


def describe(connection: PostgresConnection, table: str) -> TableDescription:
    """Return the description of a table in the catalogue, as the connection's transaction sees it.

    Args:
        connection: to the database.
        table: as in SQL: ``orders``, found by the search path, ``public.orders``, ``"Shop"."Orders"``.

    Raises:
        UnknownSplitError: there is no such table. The error names those that look alike.
        SourceError: the server refuses.
    """
    description = _found(connection, _NAMED, table)
    if description is None:
        raise _unknown(connection, table)
    return description


def describe_again(connection: PostgresConnection, oid: int) -> TableDescription | None:
    """Return the description of a table that was found before, whatever its name is now; None: it is gone."""
    return _found(connection, "c.oid = %(table)s", oid)


def _found(connection: PostgresConnection, which: str, table: str | int) -> TableDescription | None:
    with mapped_errors(f"the description of table {table}"):
        row = connection.execute(_TABLE.format(which=which).encode(), {"table": table}).fetchone()
        if row is None:
            return None
        oid, schema, name, kind, identity, is_partition, key = row
        columns = connection.execute(_COLUMNS, {"oid": oid}).fetchall()
    return TableDescription(
        oid=oid,
        schema=schema,
        name=name,
        kind=_char(kind),
        replica_identity=_char(identity),
        is_partition=is_partition,
        key=tuple(key),
        columns=tuple(_column(each) for each in columns),
    )


def described(connection: PostgresConnection, tables: Sequence[str]) -> list[TableDescription]:
    """Return the descriptions of several tables, as `describe` does.

    Raises:
        OptionError: one is named twice.
    """
    descriptions = [describe(connection, name) for name in tables]
    twice = [each.full_name for at, each in enumerate(descriptions) if each in descriptions[:at]]
    if twice:
        raise OptionError(f"names table {twice[0]} twice", option="tables")
    return descriptions


def _column(row: tuple[Any, ...]) -> TableColumn:
    number, name, type_oid, kind, typmod, type_name, is_nullable, generated = row
    return TableColumn(number, name, type_oid, _char(kind), typmod, type_name, is_nullable, _char(generated))


def _char(value: str | bytes) -> str:
    """Return a value of the type "char", which psycopg gives as bytes."""
    return value.decode("ascii") if isinstance(value, bytes) else value


def _unknown(connection: PostgresConnection, table: str) -> UnknownSplitError:
    last = table.rpartition(".")[2].strip('"')
    near = [row[0] for row in connection.execute(_NEAR, [last])]
    hint = f"there is {', '.join(near)}" if near else "check its schema, and option url for the database"
    return UnknownSplitError(
        f"there is no table {table} in database {connection.info.dbname!r}; {hint}. Option 'table' takes a "
        'name as SQL has it: schema.table, in double quotes where it has capitals ("Shop"."Orders")',
        source=SOURCE,
        split=table,
    )
