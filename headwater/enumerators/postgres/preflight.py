"""The obstacles that keep a role from reading a table, or the log: each with the SQL that mends it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from headwater.core.errors import AuthorizationError, SourceError
from headwater.enumerators.postgres.connection import PostgresConnection, mapped_errors
from headwater.enumerators.postgres.settings import SOURCE
from headwater.enumerators.postgres.table import TableDescription, quoted

_OLDEST: Final = 130_000
"""The first version that shows a snapshot as a value (``pg_current_snapshot``)."""

_RIGHTS: Final = """
SELECT current_user, has_schema_privilege(c.relnamespace, 'USAGE'), has_table_privilege(c.oid, 'SELECT'),
       coalesce((SELECT array_agg(name ORDER BY name) FROM unnest(%(columns)s::text[]) AS wanted(name)
                 WHERE NOT has_column_privilege(c.oid, name, 'SELECT')), '{}')::text[]
FROM pg_class c WHERE c.oid = %(oid)s
"""
_MAY_READ_LOG: Final = """
SELECT rolreplication OR rolsuper
       OR EXISTS (SELECT FROM pg_roles r WHERE r.rolname = 'rds_replication'
                  AND pg_has_role(current_user, r.oid, 'MEMBER'))
FROM pg_roles WHERE rolname = current_user
"""
_SERVER: Final = "SELECT pg_backend_pid(), current_setting('server_encoding')"


def check_readable(connection: PostgresConnection, table: TableDescription, columns: Sequence[str]) -> None:
    """Check that the role can read columns of a table, and the server be read at one instant.

    Args:
        connection: to the server.
        table: as the catalogue has it.
        columns: the names of those that are read.

    Raises:
        AuthorizationError: rights are missing, whatever else is.
        SourceError: something else is in the way.
    """
    with mapped_errors(f"the rights on table {table.full_name}", split=table.full_name):
        server = server_findings(connection)
        rights = missing_rights(connection, table, columns)
    findings = [*server, *rights]
    if findings:
        listed = " ".join(f"({number}) {each}." for number, each in enumerate(findings, 1))
        kind = AuthorizationError if rights else SourceError
        raise kind(
            f"table {table.full_name} cannot be read: {listed}",
            source=SOURCE,
            split=table.full_name,
        )


def server_findings(connection: PostgresConnection) -> list[str]:
    """Return the obstacles to reading a server at one instant."""
    findings = []
    version = connection.info.server_version
    if version < _OLDEST:
        findings.append(f"the server is of version {version // 10_000}: version 13 is needed")
    pid, encoding = _row(connection, _SERVER)
    if pid != connection.pgconn.backend_pid:
        findings.append(
            "a connection pooler answers, which gives statements to different sessions: give the address of "
            "the server itself in option url"
        )
    if encoding == "SQL_ASCII":
        findings.append(
            "the database has no encoding (SQL_ASCII), so its texts may be no UTF-8: move it into one that "
            "has: CREATE DATABASE ... ENCODING 'UTF8' TEMPLATE template0"
        )
    return findings


def log_findings(connection: PostgresConnection) -> list[str]:
    """Return the obstacles that keep a role from reading the changes in a server's log."""
    findings = []
    (level,) = _row(connection, "SHOW wal_level")
    if level != "logical" and not _is_raised(connection):
        findings.append(
            f"wal_level is {level}: ALTER SYSTEM SET wal_level = 'logical', and restart the server"
        )
    (may_read,) = _row(connection, _MAY_READ_LOG)
    if not may_read:
        findings.append(
            f"the role may not read the log: ALTER ROLE {quoted(connection.info.user)} REPLICATION"
        )
    return findings


def _is_raised(connection: PostgresConnection) -> bool:
    """Whether the server raises its level by itself when the first slot is made (19 and later)."""
    setting = connection.execute("SELECT FROM pg_settings WHERE name = 'effective_wal_level'").fetchone()
    return setting is not None


def missing_rights(
    connection: PostgresConnection, table: TableDescription, columns: Sequence[str]
) -> list[str]:
    """Return which rights a role lacks to read columns of a table."""
    role, has_schema, has_table, denied = _row(
        connection, _RIGHTS, {"oid": table.oid, "columns": list(columns)}
    )
    findings = []
    if not has_schema:
        findings.append(
            f"role {role} may not use schema {table.schema}: GRANT USAGE ON SCHEMA {quoted(table.schema)} "
            f"TO {quoted(role)}"
        )
    if not has_table and len(denied) == len(columns):
        findings.append(f"role {role} may not read it: GRANT SELECT ON {table.sql} TO {quoted(role)}")
    elif not has_table and denied:
        names = ", ".join(map(quoted, denied))
        findings.append(
            f"role {role} may not read some columns: GRANT SELECT ({names}) ON {table.sql} TO "
            f"{quoted(role)}, or leave them out (option columns)"
        )
    return findings


def _row(connection: PostgresConnection, query: str, values: Any = None) -> Any:
    row = connection.execute(query.encode(), values).fetchone()
    assert row is not None, "these queries have a row"
    return row
