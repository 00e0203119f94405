"""A table that another one follows: its rows, then every change by its key. All obstacles, at once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

from headwater.enumerators.postgres.connection import PostgresConnection, mapped_errors
from headwater.enumerators.postgres.preflight import missing_rights
from headwater.enumerators.postgres.publication import examined, row_key
from headwater.enumerators.postgres.slot import look
from headwater.enumerators.postgres.stream_settings import StreamSettings
from headwater.enumerators.postgres.table import TableDescription, describe, quoted

_HIDES_ROWS: Final = "SELECT row_security_active(%s::oid)"
_SLOTS: Final = """
SELECT count(*) FROM pg_replication_slots HAVING count(*) >= current_setting('max_replication_slots')::int
"""


@dataclass(frozen=True, slots=True)
class Replica:
    """A table, as another one follows it.

    Attributes:
        table: as the catalogue has it.
        key: the columns by which a change finds its row; empty if there are none.
        findings: the obstacles, each with its remedy.
    """

    table: TableDescription
    key: tuple[str, ...]
    findings: tuple[str, ...]


def examine_replica(
    connection: PostgresConnection, name: str, stream: StreamSettings, *, is_new: bool
) -> Replica:
    """Return a table with its key, and everything that keeps another table from following it. Blocks.

    Args:
        connection: to the server.
        name: of the table, as SQL has it.
        stream: which changes are read.
        is_new: whether the query begins: its slot is not there yet.

    Raises:
        UnknownSplitError: there is no such table.
        SourceError: the server refuses.
    """
    table = describe(connection, name)
    key = row_key(connection, table)
    findings = []
    # A table without a key needs one, even where REPLICA IDENTITY FULL would do for its changes alone.
    ((published,), in_the_way) = examined(
        connection, [table if key else replace(table, replica_identity="f")], stream
    )
    findings += in_the_way
    if table.kind in {"r", "p"}:
        if not key:
            findings.append(_without_key(table))
        findings += missing_rights(connection, table, published.columns or [c.name for c in table.columns])
        findings += _hidden_rows(connection, table)
    findings += _slot_findings(connection, stream.slot, is_new=is_new)
    return Replica(table, key, tuple(findings))


def _without_key(table: TableDescription) -> str:
    return (
        "the table has no key by which a change finds its row, or one that may be broken until a transaction "
        f"ends (DEFERRABLE): ALTER TABLE {table.sql} ADD PRIMARY KEY (...)"
    )


def _hidden_rows(connection: PostgresConnection, table: TableDescription) -> list[str]:
    with mapped_errors(f"row security of table {table.full_name}"):
        row: Any = connection.execute(_HIDES_ROWS, [table.oid]).fetchone()
    if not row[0]:
        return []
    role = connection.info.user
    policies = f"policies of row security hide rows of the table from role {role}, and the log has all"
    return [f"{policies}: ALTER ROLE {quoted(role)} BYPASSRLS"]


def _slot_findings(connection: PostgresConnection, slot: str, *, is_new: bool) -> list[str]:
    view = look(connection, slot)
    findings = []
    if view.is_standby:
        findings.append("this server is a standby: give the address of the primary")
    if not is_new:
        return findings
    if view.slot is not None:
        reader = "" if view.slot.active_pid is None else f" (pid {view.slot.active_pid} reads it now)"
        findings.append(
            f"slot {slot!r} is there already{reader}, and a slot has one query: give another name, or if "
            f"nobody needs it: SELECT pg_drop_replication_slot('{slot}')"
        )
        return findings
    with mapped_errors("the server's slots"):
        full = connection.execute(_SLOTS.encode()).fetchone()
    if full is not None:
        findings.append(
            f"the server has {full[0]} slots and takes no more: drop one that nobody needs, or ALTER SYSTEM "
            f"SET max_replication_slots = {full[0] + 10}, and restart the server"
        )
    return findings
