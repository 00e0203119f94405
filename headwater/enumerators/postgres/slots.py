"""All replication slots of a server: how much WAL each keeps back, who reads it, and how one is dropped."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from headwater.core.errors import SourceError, UnknownSplitError
from headwater.enumerators.postgres.connection import PostgresConnection, mapped_errors
from headwater.enumerators.postgres.settings import SOURCE

_INACTIVE_SINCE: Final = 170_000
"""The first version that says since when nobody reads a slot."""

_SLOTS: Final = """
WITH here(lsn) AS (
    SELECT CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_lsn() END
)
SELECT s.slot_name::text, s.plugin::text, s.database::text, s.wal_status, s.safe_wal_size,
       pg_wal_lsn_diff(here.lsn, s.restart_lsn)::bigint,
       s.active_pid, a.usename::text, a.application_name,
       coalesce(host(a.client_addr), CASE WHEN a.client_port = -1 THEN 'the server''s host' END), {since}
FROM here CROSS JOIN pg_replication_slots s LEFT JOIN pg_stat_activity a ON a.pid = s.active_pid
ORDER BY s.slot_name
"""


@dataclass(frozen=True, slots=True)
class SlotUse:
    """A slot, its cost for the server, and its reader.

    Attributes:
        name: of the slot.
        plugin: the writer of its messages; None for a physical slot.
        database: whose changes it has; None for a physical slot.
        wal_status: ``reserved``, ``extended``, ``unreserved`` or ``lost``; None if it was never used.
        safe_bytes: how much WAL may still be written before it is lost; None for any amount.
        kept_bytes: how much WAL the server keeps for it; None if none.
        active_pid: the server's process that reads it; None for nobody.
        reader: role, application and host of that process, for people; empty for nobody.
        inactive_since: since when nobody reads it, for people; None if the server does not say.
    """

    name: str
    plugin: str | None
    database: str | None
    wal_status: str | None
    safe_bytes: int | None
    kept_bytes: int | None
    active_pid: int | None
    reader: str
    inactive_since: str | None

    @property
    def is_lost(self) -> bool:
        """Whether the server has removed WAL that its reader did not have yet: it can never be read again."""
        return self.wal_status == "lost"


def all_slots(connection: PostgresConnection) -> list[SlotUse]:
    """Return the slots of a server, of all databases, ordered by name. Blocks.

    Raises:
        SourceError: the server refuses.
    """
    since = "s.inactive_since::text" if connection.info.server_version >= _INACTIVE_SINCE else "NULL"
    with mapped_errors("the server's slots"):
        rows = connection.execute(_SLOTS.format(since=since).encode()).fetchall()
    return [_slot_use(row) for row in rows]


def _slot_use(row: tuple[Any, ...]) -> SlotUse:
    name, plugin, database, status, safe, retained_bytes, pid, role, application, host, since = row
    return SlotUse(
        name=name,
        plugin=plugin,
        database=database,
        wal_status=status,
        safe_bytes=safe,
        kept_bytes=None if status == "lost" else retained_bytes,
        active_pid=pid,
        reader="" if pid is None else _reader(pid, role, application, host),
        inactive_since=since,
    )


def _reader(pid: int, role: str | None, application: str | None, host: str | None) -> str:
    """Say who a process of the server works for, as far as this role may see it."""
    facts = [f"pid {pid}"]
    if role:
        facts.append(f"role {role}")
    if application:
        facts.append(application)
    if host:
        facts.append(f"from {host}")
    return ", ".join(facts)


def drop_slot(connection: PostgresConnection, name: str) -> None:
    """Drop a slot that nobody reads. Blocks; never ends its reader, never waits for it.

    Args:
        connection: to the server.
        name: of the slot.

    Raises:
        UnknownSplitError: there is no such slot.
        SourceError: somebody reads it; the error says who. Or the server refuses.
    """
    import psycopg

    with mapped_errors(f"dropping slot {name!r}"):
        try:
            # The server alone can refuse without a race: who reads it is asked afterwards, for the message.
            connection.execute("SELECT pg_drop_replication_slot(%s)", [name])
        except psycopg.errors.ObjectInUse as error:
            refusal = str(error).strip()
        except psycopg.errors.UndefinedObject:
            there = ", ".join(each.name for each in all_slots(connection)) or "none"
            message = f"there is no slot {name!r}; the server has {there}"
            raise UnknownSplitError(message, source=SOURCE, split=name) from None
        else:
            return
    readers = [each.reader for each in all_slots(connection) if each.name == name and each.reader]
    who = readers[0] if readers else refusal
    message = f"slot {name!r} is not dropped, since it is read, by {who}: stop that query first"
    raise SourceError(message, source=SOURCE, split=name)
