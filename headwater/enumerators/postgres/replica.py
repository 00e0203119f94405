"""Tables that others follow: their rows, then every change by its key. All obstacles, at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from headwater.enumerators.postgres.connection import PostgresConnection, mapped_errors
from headwater.enumerators.postgres.preflight import missing_rights
from headwater.enumerators.postgres.publication import examined, row_key
from headwater.enumerators.postgres.slot import look
from headwater.enumerators.postgres.stream_settings import StreamSettings
from headwater.enumerators.postgres.table import TableDescription, described, quoted

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
    """

    table: TableDescription
    key: tuple[str, ...]


def examine_replicas(
    connection: PostgresConnection, names: Sequence[str], stream: StreamSettings, *, is_new: bool
) -> tuple[list[Replica], list[str]]:
    """Return tables with their keys, and everything that keeps other tables from following them. Blocks.

    Each finding has its remedy behind it; of several tables it names its table first.

    Args:
        connection: to the server.
        names: of the tables, as SQL has them.
        stream: which changes are read.
        is_new: whether the query begins: its slot is not there yet.

    Raises:
        UnknownSplitError: there is no such table.
        OptionError: one is named twice.
        SourceError: the server refuses.
    """
    replicas = [Replica(each, row_key(connection, each)) for each in described(connection, names)]
    # A table without a key needs one, even where REPLICA IDENTITY FULL would do for its changes alone.
    asked = [each.table if each.key else replace(each.table, replica_identity="f") for each in replicas]
    in_publication, findings = examined(connection, asked, stream)
    for replica, published in zip(replicas, in_publication, strict=True):
        table = replica.table
        if table.kind not in {"r", "p"}:
            continue
        columns = published.columns or [each.name for each in table.columns]
        of_table = f"{table.full_name}: " if len(replicas) > 1 else ""
        own = [] if replica.key else [_without_key(table)]
        own += [*missing_rights(connection, table, columns), *_hidden_rows(connection, table)]
        findings += [of_table + each for each in own]
    return replicas, [*findings, *_slot_findings(connection, stream.slot, is_new=is_new)]


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
