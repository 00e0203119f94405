"""The parts of a table that can be read by themselves, and their files: as the catalogue has them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from headwater.core.errors import SourceError
from headwater.enumerators.postgres.connection import PostgresConnection, mapped_errors
from headwater.enumerators.postgres.settings import SOURCE
from headwater.enumerators.postgres.table import TableDescription, quoted

_VIEW: Final = "v"
_FOREIGN: Final = "f"
_ROOT: Final = "p"
_READABLE: Final = frozenset({"r", "p", "v", "m"})
_KINDS: Final = {
    "S": "a sequence",
    "i": "an index",
    "I": "an index",
    "c": "a composite type",
    "t": "a TOAST table",
}
_RANGES_SINCE: Final = 140_000
"""The first version that reads a range of blocks without reading all others."""

# SQL sees pg_class as of the snapshot; the functions answer as of now.
_PARTS: Final = """
WITH RECURSIVE tree AS (
    SELECT %(oid)s::oid AS oid
  UNION
    SELECT i.inhrelid FROM tree JOIN pg_inherits i ON i.inhparent = tree.oid
)
SELECT c.oid::bigint, n.nspname, c.relname, c.relkind::text, c.relfilenode::bigint,
       coalesce(pg_relation_filenode(c.oid), 0)::bigint,
       coalesce(pg_relation_size(c.oid), 0) / current_setting('block_size')::int,
       coalesce(am.amname = 'heap', false),
       has_table_privilege(c.oid, 'SELECT') AND has_schema_privilege(n.oid, 'USAGE'),
       row_security_active(c.oid)
FROM tree
JOIN pg_class c ON c.oid = tree.oid
JOIN pg_namespace n ON n.oid = c.relnamespace
LEFT JOIN pg_am am ON am.oid = c.relam
ORDER BY c.oid
"""

_FILES: Final = """
SELECT c.oid::bigint, pg_relation_filenode(c.oid)::bigint
FROM unnest(%s::bigint[]) AS wanted(oid) JOIN pg_class c ON c.oid = wanted.oid::oid
"""

_ARE_FILES_AS_SEEN: Final = """
WITH RECURSIVE tree AS (
    SELECT %s::oid AS oid
  UNION
    SELECT i.inhrelid FROM tree JOIN pg_inherits i ON i.inhparent = tree.oid
)
SELECT to_regclass(%s) = %s::oid
       AND bool_and(coalesce(c.relfilenode = 0 OR c.relfilenode = pg_relation_filenode(c.oid), false))
FROM tree JOIN pg_class c ON c.oid = tree.oid
"""

_ARE_COLUMNS_AS_SEEN: Final = """
SELECT coalesce(bool_and(coalesce(
    (pg_identify_object_as_address('pg_class'::regclass, %s, number)).object_names[3] = name, false)), true)
FROM unnest(%s::int[], %s::text[]) AS seen(number, name)
"""


@dataclass(frozen=True, slots=True)
class TableFile:
    """The file of a table: another one after TRUNCATE, VACUUM FULL, and some kinds of ALTER TABLE.

    Attributes:
        oid: of the table.
        number: its ``pg_relation_filenode``.
    """

    oid: int
    number: int


@dataclass(frozen=True, slots=True)
class TablePart:
    """The input of one statement: a table or a partition without its heirs, or all in one.

    Attributes:
        oid: of the relation that is named in the statement.
        name: with its schema, for people.
        sql: the text behind ``FROM``.
        blocks: how many blocks it has.
        has_ranges: whether ranges of blocks can be read by themselves.
        files: of all tables that are known to be read. A snapshot does not see the rows that another file of
            a table had.
    """

    oid: int
    name: str
    sql: str
    blocks: int
    has_ranges: bool
    files: tuple[TableFile, ...]


def parts_of(connection: PostgresConnection, table: TableDescription) -> Sequence[TablePart]:
    """Return the parts of a table. Together they have each of its rows once.

    Each partition is one, and each table that inherits; all is one where they may not be read directly.

    Args:
        connection: in the transaction whose snapshot is read.
        table: as that transaction sees it.

    Raises:
        SourceError: it cannot be read at one instant, or was written anew since that snapshot.
    """
    if table.kind not in _READABLE and table.kind != _FOREIGN:
        what = _KINDS.get(table.kind, "no table")
        raise _refusal(table, f"is {what}: option 'table' takes tables, partitioned tables and views")
    with mapped_errors(f"the parts of table {table.full_name}"):
        rows = [_Row(*row) for row in connection.execute(_PARTS, {"oid": table.oid})]
    for row in rows:
        if row.kind == _FOREIGN:
            raise _refusal(
                table,
                f"has rows of {row.name}, a foreign table, which no snapshot of this server covers: read it "
                "at the server that has it",
            )
        if row.file_then not in {0, row.file_now}:
            raise rewritten(table.full_name, row.name)
    stored = [row for row in rows if row.kind not in {_ROOT, _VIEW}]
    if len(rows) == 1 and stored:
        # Tables that begin to inherit from it after the snapshot have none of its rows.
        return [_part(rows[0], connection.info.server_version, only=True)]
    has_policies = any(row.has_policies for row in rows if row in stored or row.oid == table.oid)
    if has_policies or not all(row.is_granted for row in stored) or not stored:
        # Through the root, whose rights and policies count then, and no others.
        whole = TablePart(table.oid, table.full_name, table.sql, 0, has_ranges=False, files=())
        return [
            replace(
                whole, blocks=sum(row.blocks for row in stored), files=tuple(_file(row) for row in stored)
            )
        ]
    return [_part(row, connection.info.server_version, only=True) for row in stored]


def check_files(connection: PostgresConnection, part: TablePart, table: str) -> None:
    """Check that the tables of a part are as they were when it was planned, and stay so.

    The lock of the first statement ends with the transaction, and nobody truncates or rewrites the tables
    before. It needs no right but that to read.

    Args:
        connection: in the transaction that will read the part.
        part: as it was planned.
        table: its name, for errors.

    Raises:
        SourceError: a table was written anew, or another one has its name now.
    """
    with mapped_errors(f"the files of table {part.name}", split=table):
        connection.execute(f"SELECT FROM {part.sql} LIMIT 0".encode())
        row = connection.execute(
            "SELECT to_regclass(%s)::oid::bigint", [part.sql.removeprefix("ONLY ")]
        ).fetchone()
        files: dict[int, int] = dict(
            connection.execute(_FILES, [[file.oid for file in part.files]]).fetchall()
        )
    if row is None or row[0] != part.oid or any(files.get(file.oid) != file.number for file in part.files):
        raise rewritten(table, part.name)


def check_columns(connection: PostgresConnection, table: TableDescription) -> None:
    """Check that the columns of a table have the names that they had when it was described.

    A statement takes names as of now, and a snapshot shows the values of the column that has the name now: a
    column that was dropped and added again has none.

    Args:
        connection: in a transaction that has locked the table.
        table: as a snapshot has it.

    Raises:
        SourceError: a column is gone, or has another name.
    """
    if not _are_columns_as_seen(connection, table):
        raise SourceError(
            f"columns of table {table.full_name} were dropped or renamed (ALTER TABLE) after the snapshot "
            "was taken: load() it again",
            source=SOURCE,
            split=table.full_name,
        )


def is_as_seen(connection: PostgresConnection, table: TableDescription, sql: str) -> bool:
    """Lock a table against DDL until the transaction ends; return whether there was none since its snapshot.

    The snapshot comes first, whatever then waits for a lock: rows that DDL has written anew meanwhile are not
    visible in it.

    Args:
        connection: in a transaction whose snapshot is taken.
        table: as that transaction sees it.
        sql: the table, as it stands behind ``FROM``.
    """
    with mapped_errors(f"rows of table {table.full_name}", split=table.full_name):
        connection.execute(f"SELECT FROM {sql} LIMIT 0".encode())
        row = connection.execute(_ARE_FILES_AS_SEEN, [table.oid, table.sql, table.oid]).fetchone()
    return row is not None and row[0] is True and _are_columns_as_seen(connection, table)


def _are_columns_as_seen(connection: PostgresConnection, table: TableDescription) -> bool:
    numbers = [column.number for column in table.columns]
    names = [column.name for column in table.columns]
    with mapped_errors(f"the columns of table {table.full_name}", split=table.full_name):
        row = connection.execute(_ARE_COLUMNS_AS_SEEN, [table.oid, numbers, names]).fetchone()
    return row is not None and row[0] is True


def rewritten(table: str, part: str) -> SourceError:
    """Return the error of a table whose rows the snapshot does not see any more."""
    return SourceError(
        f"table {part} was truncated, rewritten or replaced (TRUNCATE, VACUUM FULL, CLUSTER, ALTER TABLE, "
        "DROP) after the snapshot was taken, which does not see its rows any more: load() it again",
        source=SOURCE,
        split=table,
    )


@dataclass(frozen=True, slots=True)
class _Row:
    oid: int
    schema: str
    relation: str
    kind: str
    file_then: int
    file_now: int
    blocks: int
    is_heap: bool
    is_granted: bool
    has_policies: bool

    @property
    def name(self) -> str:
        return f"{self.schema}.{self.relation}"


def _file(row: _Row) -> TableFile:
    return TableFile(row.oid, row.file_now)


def _part(row: _Row, version: int, *, only: bool) -> TablePart:
    name = f"{quoted(row.schema)}.{quoted(row.relation)}"
    return TablePart(
        oid=row.oid,
        name=row.name,
        sql=f"ONLY {name}" if only else name,
        blocks=row.blocks,
        has_ranges=row.is_heap and version >= _RANGES_SINCE,
        files=(_file(row),),
    )


def _refusal(table: TableDescription, message: str) -> SourceError:
    return SourceError(f"table {table.full_name} {message}", source=SOURCE, split=table.full_name)
