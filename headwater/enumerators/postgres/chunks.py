"""Chunks: ranges of a table's key, each read once, whole, in a transaction of its own."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from headwater.core.errors import OffsetError
from headwater.core.jsons import JsonObject, JsonValue
from headwater.core.split import Split, SplitPath
from headwater.enumerators.postgres.chunk_rules import Bound
from headwater.enumerators.postgres.connection import PostgresConnection, mapped_errors
from headwater.enumerators.postgres.table import TableDescription, quoted

_TEXTS: Final = frozenset({25, 1043, 19})
_ORDERED: Final = _TEXTS | {17, 20, 21, 23, 26, 1082, 1114, 1184, 2950}
"""Types whose order here is the server's: of numbers, of bytes, of times. Texts by their bytes."""

_COLLATIONS: Final = """
SELECT a.attname, coalesce(c.collname IN ('C', 'POSIX')
                           OR (c.collname = 'default' AND d.datcollate IN ('C', 'POSIX')
                               AND coalesce(to_jsonb(d)->>'datlocprovider', 'c') <> 'i'), true)
FROM pg_attribute a
JOIN pg_database d ON d.datname = current_database()
LEFT JOIN pg_collation c ON c.oid = a.attcollation
WHERE a.attrelid = %s AND a.attname = ANY(%s)
"""
_SIZE: Final = """
SELECT coalesce(sum(pg_table_size(c.oid)), 0)::bigint, coalesce(sum(greatest(c.reltuples, 0)), 0)::bigint
FROM pg_class c
WHERE c.oid = %(oid)s AND c.relkind <> 'p'
   OR c.oid IN (SELECT relid FROM pg_partition_tree(%(oid)s) WHERE isleaf)
"""
_FILTER: Final = """
SELECT rowfilter FROM pg_publication_tables WHERE pubname = %s AND schemaname = %s AND tablename = %s
"""
_FILTERS: Final = 150_000
"""The first version whose publications have filters of rows."""
_ROW_BYTES: Final = 100
"""The assumed size of a row of which the server knows nothing."""


@dataclass(frozen=True, slots=True)
class KeyColumn:
    """A column by which a table is cut.

    Attributes:
        name: of the column.
        type_name: as SQL has it.
        by_bytes: whether the server must be told to order its texts by their bytes. An index of the column
            has another order then, and is of no use.
        type_oid: of its type, below domains; 0 if it is not known.
    """

    name: str
    type_name: str
    by_bytes: bool = False
    type_oid: int = 0

    @property
    def sql(self) -> str:
        """The column as it is compared, of table t: a column of the query may have the same name."""
        name = f"t.{quoted(self.name)}"
        return f'{name} COLLATE "C"' if self.by_bytes else name


@dataclass(frozen=True, slots=True)
class ChunkedTable:
    """A table as it is cut.

    Attributes:
        oid: of the table.
        only: whether tables that inherit from it are left out, as the log leaves them out.
        key: by which it is cut; empty: one chunk is all of it.
        row_filter: of the publication, in SQL; empty for none.
        start: the LSN at which the stream begins: the column ``_lsn`` of its rows.
        sync: the column ``_sync`` of its rows.
    """

    oid: int
    only: bool
    key: tuple[KeyColumn, ...]
    row_filter: str
    start: int
    sync: int

    def to_json(self) -> JsonObject:
        key: list[JsonValue] = [
            [each.name, each.type_name, each.by_bytes, *([each.type_oid] if each.type_oid else [])]
            for each in self.key
        ]
        return {
            "oid": self.oid,
            "only": self.only,
            "key": key,
            "filter": self.row_filter,
            "start": self.start,
            "sync": self.sync,
        }

    @staticmethod
    def from_json(raw: Any) -> ChunkedTable:
        """Return the inverse of `to_json`."""
        key = tuple(KeyColumn(*each) for each in raw["key"])
        return ChunkedTable(raw["oid"], raw["only"], key, raw["filter"], raw["start"], raw["sync"])


@dataclass(frozen=True, slots=True)
class ChunkSplit(Split):
    """The rows of a table whose keys are in a range. Bounded; its first reading counts.

    Positions are 0, and about how many bytes it has: the end.

    Attributes:
        number: of the chunk, from 0 over all tables; those of a table are in the order of its key.
        low: the first key; None: before all.
        high: the first key behind; None: behind all.
        table: the table.
    """

    number: int
    low: Bound | None
    high: Bound | None
    table: ChunkedTable

    @property
    def path(self) -> SplitPath:
        return (f"chunk-{self.number:06d}",)


def chunks_to_json(splits: Iterable[ChunkSplit]) -> JsonObject:
    """Return the definitions of chunks, table by table: the first one, and under ``others`` the rest.

    That of one chunk never changes: its note goes by it (`headwater.core.task_notes`).
    """
    by_table: dict[int, list[ChunkSplit]] = {}
    for each in splits:
        by_table.setdefault(each.table.oid, []).append(each)
    first, *others = [_of_one_table(chunks) for chunks in by_table.values()]
    listed: list[JsonValue] = [*others]
    return {**first, **({"others": listed} if listed else {})}


def _of_one_table(chunks: Sequence[ChunkSplit]) -> JsonObject:
    bounds: JsonObject = {
        each.path[0]: [_bound_to_json(each.low), _bound_to_json(each.high)] for each in chunks
    }
    return {"bounds": bounds, "table": chunks[0].table.to_json()}


def chunk_from_json(path: SplitPath, raw: Any) -> ChunkSplit:
    """Return one of the chunks whose definitions `chunks_to_json` made.

    Raises:
        OffsetError: it is not there.
    """
    try:
        (fields,) = (each for each in (raw, *raw.get("others", ())) if path[0] in each["bounds"])
        low, high = fields["bounds"][path[0]]
        return ChunkSplit(
            int(path[0].removeprefix("chunk-")),
            None if low is None else tuple(low),
            None if high is None else tuple(high),
            ChunkedTable.from_json(fields["table"]),
        )
    except (TypeError, KeyError, ValueError, AttributeError) as error:
        raise OffsetError(f"the checkpoint's entry for {path[0]} of source 'postgres' is damaged") from error


def _bound_to_json(bound: Bound | None) -> JsonValue:
    return None if bound is None else list(bound)


def chunk_key(
    connection: PostgresConnection,
    table: TableDescription,
    identity: Collection[str],
    native: Collection[str],
) -> tuple[tuple[KeyColumn, ...], str]:
    """Return by which columns a table is cut; none, and the reason, where it can only be read as a whole.

    A change in the log names its row by the columns of the replica identity. So these are the key, or those
    of the primary key where the identity is all columns.

    Args:
        connection: to the server.
        table: the table.
        identity: the columns of its replica identity; empty for all columns.
        native: the columns that the query reads, with their own types.
    """
    names = tuple(identity) or table.key
    if not names:
        return (), "it has no primary key"
    columns = [table.column(name) for name in names]
    for name, column in zip(names, columns, strict=True):
        if name not in native or column is None:
            return (), f"the query does not read column {name!r} of its key with the column's own type"
        if column.type_oid not in _ORDERED:
            return (), f"nothing but the server orders values of {column.type_name}, as of column {name!r}"
    with mapped_errors(f"the collations of table {table.full_name}"):
        by_bytes: dict[str, bool] = dict(connection.execute(_COLLATIONS, [table.oid, list(names)]).fetchall())
    return tuple(
        KeyColumn(
            column.name,
            column.type_name,
            column.type_oid in _TEXTS and not by_bytes[column.name],
            column.type_oid,
        )
        for column in columns
        if column is not None
    ), ""


def estimated_size(connection: PostgresConnection, table: TableDescription) -> tuple[int, int]:
    """Return about how many rows a table has, and how many bytes a row, as far as the server knows it."""
    with mapped_errors(f"the size of table {table.full_name}"):
        row: Any = connection.execute(_SIZE, {"oid": table.oid}).fetchone()
    size, rows = row
    row_bytes = max(1, size // rows) if rows and size else _ROW_BYTES
    return rows or size // row_bytes, row_bytes


def row_filter(connection: PostgresConnection, publication: str, table: TableDescription) -> str:
    """Return which rows of a table a publication has, in SQL; empty for all."""
    if connection.info.server_version < _FILTERS:
        return ""
    with mapped_errors(f"the row filter of publication {publication!r}"):
        row = connection.execute(_FILTER, [publication, table.schema, table.name]).fetchone()
    return row[0] or "" if row is not None else ""


def next_bound(
    connection: PostgresConnection, name: str, table: ChunkedTable, low: Bound | None, rows: int
) -> Bound | None:
    """Return the key that lies a number of rows behind another one; None if there are no more rows.

    A walk along the index of the key.

    Args:
        connection: to the server.
        name: of the table, quoted for SQL.
        table: the table; it has a key.
        low: where to begin; None for the first row.
        rows: how many.
    """
    columns = ", ".join(each.sql for each in table.key)
    texts = ", ".join(f"t.{quoted(each.name)}::text" for each in table.key)
    where = "" if low is None else f"WHERE {_compared(connection, table, '>=', low)}"
    whole = f"ONLY {name}" if table.only else name
    # Names and literals are quoted.
    query = f"SELECT {texts} FROM {whole} t {where} ORDER BY {columns} OFFSET {rows} LIMIT 1"  # noqa: S608
    with mapped_errors("cutting a table into chunks"):
        row = connection.execute(query.encode()).fetchone()
    return None if row is None else tuple(row)


def condition(connection: PostgresConnection, chunk: ChunkSplit) -> str:
    """Return the condition for rows of table t that are in a chunk, in SQL; empty for all rows."""
    table = chunk.table
    parts = [f"({table.row_filter})"] if table.row_filter else []
    if chunk.low is not None:
        parts.append(_compared(connection, table, ">=", chunk.low))
    if chunk.high is not None:
        parts.append(_compared(connection, table, "<", chunk.high))
    return " AND ".join(parts)


def _compared(connection: PostgresConnection, table: ChunkedTable, comparison: str, bound: Bound) -> str:
    from psycopg.sql import Literal

    columns = ", ".join(each.sql for each in table.key)
    values = ", ".join(
        f"{Literal(text).as_string(connection)}::{each.type_name}"
        for each, text in zip(table.key, bound, strict=True)
    )
    return f"({columns}) {comparison} ({values})"
