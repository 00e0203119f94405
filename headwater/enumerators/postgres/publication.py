"""Publications: their part of a table, and all that stands in the way of a stream, found at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from headwater.core.errors import SourceError
from headwater.enumerators.postgres.connection import PostgresConnection, mapped_errors
from headwater.enumerators.postgres.preflight import log_findings, server_findings
from headwater.enumerators.postgres.settings import SOURCE
from headwater.enumerators.postgres.stream_settings import Reaction, StreamSettings
from headwater.enumerators.postgres.table import TableDescription, quoted

_LISTS: Final = 150_000
"""The first version whose publications have lists of columns, filters of rows, and whole schemas."""
_GENERATED: Final = 180_000
"""The first version that can publish generated columns; earlier ones list them and do not send them."""

_PUBLICATION: Final = """
SELECT pubinsert, pubupdate, pubdelete, pubtruncate, pubviaroot FROM pg_publication WHERE pubname = %s
"""
_TABLE: Final = """
SELECT {attnames} FROM pg_publication_tables WHERE pubname = %s AND schemaname = %s AND tablename = %s
"""
_NEWEST: Final = """
SELECT max(xmin::text::bigint) FROM (
  SELECT xmin FROM pg_publication WHERE pubname = %(name)s AND age(xmin) <= age(%(horizon)s::xid)
  UNION ALL
  SELECT r.xmin FROM pg_publication_rel r JOIN pg_publication p ON p.oid = r.prpubid
  WHERE p.pubname = %(name)s AND r.prrelid = %(table)s AND age(r.xmin) <= age(%(horizon)s::xid)) newer
"""
ALL: Final = "*"
"""In place of names: all tables of the publication."""
_TABLES: Final = """
SELECT format('%%I.%%I', schemaname, tablename) FROM pg_publication_tables WHERE pubname = %s ORDER BY 1
"""
_MEMBERSHIP: Final = """
SELECT concat_ws(' ', p.oid, p.xmin, r.oid, r.xmin{of_schema})
FROM pg_publication p
LEFT JOIN pg_publication_rel r ON r.prpubid = p.oid AND r.prrelid = %(table)s{join}
WHERE p.pubname = %(name)s
"""
_SCHEMAS: Final = """
LEFT JOIN pg_publication_namespace n ON n.pnpubid = p.oid
          AND n.pnnspid = (SELECT relnamespace FROM pg_class WHERE oid = %(table)s)"""
_MAY_CREATE: Final = """
SELECT current_user, has_database_privilege(current_database(), 'CREATE')
       AND (SELECT bool_and(pg_has_role(relowner, 'USAGE')) FROM pg_class WHERE oid = ANY(%s::oid[]))
"""
_IDENTITY: Final = """
SELECT coalesce(array_agg(a.attname::text ORDER BY k.place), '{}')
FROM pg_index i
CROSS JOIN unnest(i.indkey) WITH ORDINALITY k(number, place)
JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.number
WHERE i.indrelid = %s AND k.place <= i.indnkeyatts AND i.indimmediate
      AND CASE %s WHEN 'i' THEN i.indisreplident WHEN 'd' THEN i.indisprimary END
"""
"""The server takes no key that may be broken until a transaction ends (DEFERRABLE)."""
_TOASTS: Final = """
SELECT coalesce(array_agg(attname::text ORDER BY attnum), '{}') FROM pg_attribute
WHERE attrelid = %s AND attnum > 0 AND NOT attisdropped AND attlen = -1 AND attstorage IN ('x', 'e', 'm')
"""


@dataclass(frozen=True, slots=True)
class PublishedTable:
    """A table as a publication has it.

    Attributes:
        columns: the names of the columns that are published, in the table's order.
        kinds: of ``insert``, ``update``, ``delete`` and ``truncate`` those that are published.
        identity: the columns by which a change names its row; empty for none, or for all.
    """

    columns: tuple[str, ...]
    kinds: frozenset[str]
    identity: tuple[str, ...]


def published(
    connection: PostgresConnection, tables: Sequence[TableDescription], settings: StreamSettings
) -> list[PublishedTable]:
    """Return the publication's part of each table, as it is now or as it will be made.

    Raises:
        SourceError: the changes of a table cannot be read. It names everything that is in the way, each with
            the SQL that mends it.
    """
    parts, findings = examined(connection, tables, settings)
    if findings:
        names = ", ".join(table.full_name for table in tables)
        many = f"{len(findings)} things are in the way of a stream of table {names}"
        raise SourceError(
            findings[0]
            if len(findings) == 1
            else f"{many}: " + "; ".join(f"({i}) {each}" for i, each in enumerate(findings, 1)),
            source=SOURCE,
            split=names,
        )
    return parts


def examined(
    connection: PostgresConnection, tables: Sequence[TableDescription], settings: StreamSettings
) -> tuple[list[PublishedTable], list[str]]:
    """Return the publication's part of each table, and everything that is in the way of their changes."""
    with mapped_errors(f"publication {settings.publication!r}"):
        row = connection.execute(_PUBLICATION, [settings.publication]).fetchone()
        findings = [*server_findings(connection), *log_findings(connection)]
        if row is None:
            findings += _missing_publication(connection, tables, settings)
        parts = []
        for table in tables:
            in_publication, in_the_way = _published(connection, table, settings, row)
            parts.append(in_publication)
            of_table = f"{table.full_name}: " if len(tables) > 1 else ""
            findings += [of_table + each for each in in_the_way]
    return parts, findings


def _missing_publication(
    connection: PostgresConnection, tables: Sequence[TableDescription], settings: StreamSettings
) -> list[str]:
    name = settings.publication
    creation = _creation(tables, name)
    if not settings.creates_publication:
        return [f"there is no publication {name!r}: {creation}; or set option createPublication=true"]
    role, may_create = connection.execute(_MAY_CREATE, [[table.oid for table in tables]]).fetchone() or (
        "",
        0,
    )
    if may_create:
        return []
    needs = "CREATE on the database and the ownership of all tables"
    return [
        f"role {role} may not make publication {name!r}, which takes {needs}: have another one run {creation}"
    ]


def _creation(tables: Sequence[TableDescription], name: str) -> str:
    named = ", ".join(table.sql for table in tables)
    return f"CREATE PUBLICATION {quoted(name)} FOR TABLE {named} WITH (publish_via_partition_root = true)"


def row_key(connection: PostgresConnection, table: TableDescription) -> tuple[str, ...]:
    """Return the columns by which a row of a table is found; empty if there are none.

    Those of the index that REPLICA IDENTITY names, else those of the primary key.
    """
    kind = "i" if table.replica_identity == "i" else "d"
    with mapped_errors(f"the key of table {table.full_name}"):
        row: Any = connection.execute(_IDENTITY, [table.oid, kind]).fetchone()
    return tuple(row[0])


def _published(
    connection: PostgresConnection,
    table: TableDescription,
    settings: StreamSettings,
    row: tuple[Any, ...] | None,
) -> tuple[PublishedTable, list[str]]:
    """Return a table's part, and the obstacles to reading it.

    Args:
        connection: to the server.
        table: the table.
        settings: of the stream.
        row: of the publication in the catalogue; None if there is none.
    """
    names = published_columns(connection, table, settings)
    identity: Any = connection.execute(_IDENTITY, [table.oid, table.replica_identity]).fetchone()
    toasts: Any = connection.execute(_TOASTS, [table.oid]).fetchone()
    findings = _table_findings(table)
    kinds = frozenset(("insert", "update", "delete", "truncate"))
    columns = tuple(each.name for each in table.columns if not each.generated)
    if row is not None:
        kinds = frozenset(kind for kind, is_on in zip(_KINDS, row[:4], strict=True) if is_on)
        findings += _publication_findings(table, settings, names, via_root=bool(row[4]))
        columns = tuple(each.name for each in table.columns if names is not None and each.name in names)
    findings += _identity_findings(
        table, settings, kinds=kinds, identity=identity[0], columns=columns, toasts=toasts[0]
    )
    names_rows_by = tuple(identity[0]) if table.replica_identity != "f" else ()
    return PublishedTable(columns, kinds, names_rows_by), findings


_KINDS: Final = ("insert", "update", "delete", "truncate")


def create_publication(connection: PostgresConnection, tables: Sequence[TableDescription], name: str) -> bool:
    """Make a publication for tables, if there is none of that name; return whether it was made."""
    with mapped_errors(f"making publication {name!r}"):
        if connection.execute(_PUBLICATION, [name]).fetchone() is not None:
            return False
        connection.execute(_creation(tables, name).encode())
    return True


def table_names(connection: PostgresConnection, names: Sequence[str], publication: str) -> Sequence[str]:
    """Return the tables that a user names: with `ALL` those that a publication has now.

    Raises:
        SourceError: it has none.
    """
    if tuple(names) != (ALL,):
        return names
    with mapped_errors(f"the tables of publication {publication!r}"):
        found = [row[0] for row in connection.execute(_TABLES, [publication])]
    if not found:
        raise SourceError(
            f"there is no publication {publication!r}, or it has no table, and option tables=* reads all of "
            f"them: CREATE PUBLICATION {quoted(publication)} FOR TABLE ... WITH "
            "(publish_via_partition_root = true)",
            source=SOURCE,
        )
    return found


def published_columns(
    connection: PostgresConnection, table: TableDescription, settings: StreamSettings
) -> Sequence[str] | None:
    """Return the columns that are published; None if the table is not."""
    has_lists = connection.info.server_version >= _LISTS
    sql = _TABLE.format(attnames="attnames::text[]" if has_lists else "NULL")
    row = connection.execute(sql.encode(), [settings.publication, table.schema, table.name]).fetchone()
    if row is None:
        return None
    sends_generated = connection.info.server_version >= _GENERATED
    names = [each.name for each in table.columns if sends_generated or not each.generated]
    return names if row[0] is None else [name for name in names if name in row[0]]


def membership(connection: PostgresConnection, publication: str, table: TableDescription) -> str:
    """Return a text that tells one state of a publication from every later one, as far as a table goes.

    The log does not say that a table left a publication and came back, and has nothing of the time between.
    The catalogue does: each change writes a row of it anew.

    Args:
        connection: to the server.
        publication: its name.
        table: in it.
    """
    has_schemas = connection.info.server_version >= _LISTS
    sql = _MEMBERSHIP.format(
        of_schema=", n.oid, n.xmin" if has_schemas else "", join=_SCHEMAS if has_schemas else ""
    )
    with mapped_errors(f"publication {publication!r}"):
        values = {"name": publication, "table": table.oid}
        row = connection.execute(sql.encode(), values).fetchone()
    return "" if row is None else str(row[0])


def is_newer(connection: PostgresConnection, publication: str, table: TableDescription, slot: str) -> bool:
    """Whether a publication was made or changed after the point from which a slot knows the catalogue.

    Then changes from before it, which the slot has, are not published.
    """
    with mapped_errors(f"the age of publication {publication!r}"):
        horizon = connection.execute(
            "SELECT catalog_xmin::text FROM pg_replication_slots WHERE slot_name = %s", [slot]
        ).fetchone()
        if horizon is None or horizon[0] is None:
            return False
        values = {"name": publication, "table": table.oid, "horizon": horizon[0]}
        newest: Any = connection.execute(_NEWEST, values).fetchone()
    return newest[0] is not None


def _table_findings(table: TableDescription) -> list[str]:
    if table.kind in {"r", "p"}:
        return []
    kind = {"v": "a view", "m": "a materialized view", "f": "a foreign table"}.get(table.kind, "no table")
    return [f"{table.full_name} is {kind}, which has no changes in the log: name the tables below it"]


def _publication_findings(
    table: TableDescription, settings: StreamSettings, names: Sequence[str] | None, *, via_root: bool
) -> list[str]:
    name = quoted(settings.publication)
    if table.kind == "p" and not via_root:
        return [
            (
                f"publication {settings.publication!r} publishes the partitions of {table.full_name}, and "
                f"not the "
                f"table: ALTER PUBLICATION {name} SET (publish_via_partition_root = true)"
            )
        ]
    if names is None:
        of_root = (
            " as a partition: its changes come as those of the table above it" if table.is_partition else ""
        )
        return [
            (
                f"publication {settings.publication!r} does not have the table{of_root}: "
                f"ALTER PUBLICATION {name} ADD TABLE {table.sql}"
            )
        ]
    return []


def _altered(settings: StreamSettings) -> str:
    return f"ALTER PUBLICATION {quoted(settings.publication)}"


def _identity_findings(
    table: TableDescription,
    settings: StreamSettings,
    *,
    kinds: frozenset[str],
    identity: Sequence[str],
    columns: Sequence[str],
    toasts: Sequence[str],
) -> list[str]:
    findings = []
    names_rows = bool(kinds & {"update", "delete"})
    if names_rows and table.replica_identity != "f" and not identity:
        findings.append(
            "the table has no key in the log, so that the server refuses UPDATE and DELETE of it: add a "
            "primary "
            f"key, or ALTER TABLE {table.sql} REPLICA IDENTITY FULL"
        )
    missing = [each for each in identity if each not in columns]
    if names_rows and table.replica_identity != "f" and missing and columns:
        left_out = ", ".join(missing)
        findings.append(
            f"publication {settings.publication!r} leaves out {left_out} of the key, so that the server "
            f"takes no changes of rows: {_altered(settings)} SET TABLE {table.sql}"
        )
    large = [each for each in toasts if each in columns]
    if settings.on_toast is Reaction.FAIL and table.replica_identity != "f" and large:
        findings.append(
            f"option onToast=fail demands whole rows, for the columns {', '.join(large)}: "
            f"ALTER TABLE {table.sql} REPLICA IDENTITY FULL"
        )
    return findings
