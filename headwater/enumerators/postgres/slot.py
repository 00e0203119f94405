"""A replication slot: its state on the server, and whether everything after a position is still there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, NoReturn

from headwater.core.errors import LostSlotError, SourceError
from headwater.enumerators.postgres.connection import PostgresConnection, mapped_errors
from headwater.enumerators.postgres.settings import SOURCE
from headwater.enumerators.postgres.split import WalSplit, lsn_of, lsn_text

_PLUGIN: Final = "pgoutput"
_INACTIVE_SINCE: Final = 170_000
"""The first version that says since when nobody reads a slot."""
_FAILOVER: Final = 170_000
"""The first version whose standbys can have copies of a slot."""

# Without parameters: a replication connection speaks the simple protocol only.
_SERVER: Final = """
SELECT (SELECT system_identifier FROM pg_control_system())::text,
       pg_is_in_recovery(),
       CASE WHEN NOT pg_is_in_recovery() THEN pg_walfile_name(pg_current_wal_flush_lsn()) END,
       CASE WHEN NOT pg_is_in_recovery() THEN pg_current_wal_flush_lsn()::text END,
       pg_snapshot_xmin(pg_current_snapshot())::text,
       (pg_snapshot_xmin(pg_current_snapshot())::text::bigint
        + age(pg_snapshot_xmin(pg_current_snapshot())::xid))::text,
       CASE WHEN NOT pg_is_in_recovery() THEN
           mod(pg_current_wal_flush_lsn() - '0/0', current_setting('wal_block_size')::int) = 0
           AND pg_current_wal_insert_lsn() > pg_current_wal_flush_lsn()
       END,
       current_database()::text,
       (extract(epoch FROM clock_timestamp()) * 1000)::bigint::text
"""
"""The end of a snapshot is behind the last transaction that is over: later ones may run, and be in the log.
So the next id comes from ``age``, which counts up to it."""
_SLOT: Final = """
SELECT plugin::text, database::text, temporary, active_pid, confirmed_flush_lsn::text, restart_lsn::text,
       wal_status, safe_wal_size, {since}
FROM pg_replication_slots WHERE slot_name = '{slot}'
"""
_COMMIT: Final = "SELECT pg_current_xact_id()"
"""A transaction of its own: the server flushes its log when it is over."""
_CREATE: Final = "SELECT lsn::text FROM pg_create_logical_replication_slot(%s, %s)"
_CREATE_COPIED: Final = "SELECT lsn::text FROM pg_create_logical_replication_slot(%s, %s, failover => true)"


@dataclass(frozen=True, slots=True)
class SlotView:
    """A slot, as the server shows it.

    Attributes:
        name: of the slot.
        plugin: the writer of its messages; None for a physical slot.
        database: whose changes it has.
        active_pid: the server's process that reads it; None for nobody.
        confirmed: transactions that commit before it are not sent any more; None if there is no such LSN.
        restart: from there on WAL is kept for it; None if it is lost.
        wal_status: ``reserved``, ``extended``, ``unreserved`` or ``lost``.
        safe_bytes: how much WAL may still be written before it is lost; None for any amount.
        inactive_since: since when nobody reads it, for people; None if the server does not say.
    """

    name: str
    plugin: str | None
    database: str | None
    active_pid: int | None
    confirmed: int | None
    restart: int | None
    wal_status: str | None
    safe_bytes: int | None
    inactive_since: str | None


@dataclass(frozen=True, slots=True)
class ServerView:
    """A server and one slot of it, in one moment.

    Attributes:
        system_id: of the database system.
        is_standby: whether it follows another server.
        timeline: grows with each failover and each restore; 0 on a standby.
        flush_lsn: everything before is durable; 0 on a standby.
        is_torn: whether the durable log may end inside of a record. It does when the server writes whole
            blocks of a transaction that is not over; then nothing is sent up to there.
        oldest_xid: no older transaction runs.
        next_xid: no transaction has this id or a later one yet.
        database: of the connection.
        slot: the slot; None if there is none of that name.
        now_ms: the time by its clock, in ms since 1970.
    """

    system_id: str
    is_standby: bool
    timeline: int
    flush_lsn: int
    oldest_xid: int
    next_xid: int
    database: str
    slot: SlotView | None
    now_ms: int = 0
    is_torn: bool = False

    @property
    def kept_bytes(self) -> int | None:
        """How much of its log the server keeps for the slot; None if there is none, or it is lost."""
        if self.slot is None or self.slot.restart is None:
            return None
        return max(0, self.flush_lsn - self.slot.restart)


def look(connection: PostgresConnection, slot: str) -> ServerView:
    """Return the state of a server and of a slot.

    Args:
        connection: of any kind.
        slot: its name, which holds lower-case letters, digits and _ alone.
    """
    since = "inactive_since::text" if connection.info.server_version >= _INACTIVE_SINCE else "NULL"
    with mapped_errors(f"the state of slot {slot!r}"):
        # The slot first: its confirmed LSN does not lie behind the one that is asked for after it.
        row = connection.execute(_SLOT.format(since=since, slot=slot).encode()).fetchone()
        server: Any = connection.execute(_SERVER.encode()).fetchone()
    system_id, is_standby, walfile, flush, oldest, newest, is_torn, database, now_ms = server
    return ServerView(
        system_id=system_id,
        is_standby=is_standby,
        timeline=int(walfile[:8], 16) if walfile else 0,
        flush_lsn=lsn_of(flush) if flush else 0,
        oldest_xid=int(oldest),
        next_xid=int(newest),
        database=database,
        slot=None if row is None else _slot_view(slot, row),
        now_ms=int(now_ms),
        is_torn=is_torn in {True, "t"},
    )


def let_log_be_whole(connection: PostgresConnection, view: ServerView) -> None:
    """Let the server flush the record in which its durable log ends: soon, and without waiting for it.

    Without commits it does so every 15 s, and a reader of the log up to there would wait for that.
    """
    if view.is_torn:
        with mapped_errors("the end of the log"):
            connection.execute(_COMMIT.encode())


def _slot_view(name: str, row: tuple[Any, ...]) -> SlotView:
    plugin, database, _, active_pid, confirmed, restart, status, safe_bytes, since = row
    return SlotView(
        name=name,
        plugin=plugin,
        database=database,
        active_pid=active_pid,
        confirmed=None if confirmed is None else lsn_of(confirmed),
        restart=None if restart is None else lsn_of(restart),
        wal_status=status,
        safe_bytes=safe_bytes,
        inactive_since=since,
    )


def check_usable(view: ServerView, slot: str) -> None:
    """Refuse a server or a slot that no query can read.

    Raises:
        SourceError: it is a standby, or the slot is of another kind or of another database.
    """
    if view.is_standby:
        _refuse("this server is a standby: give the address of the primary in option 'url'")
    own = view.slot
    if own is None:
        return
    if own.plugin != _PLUGIN:
        _refuse(
            f"slot {slot!r} is {'physical' if own.plugin is None else f'of plugin {own.plugin}'}, and not of "
            f"{_PLUGIN}: give another name in option 'slot'"
        )
    if own.database != view.database:
        _refuse(
            f"slot {slot!r} is of database {own.database!r}, and option 'url' names {view.database!r}: give "
            "another name in option 'slot'"
        )


def check_same_log(view: ServerView, split: WalSplit, position: int) -> None:
    """Make sure that a server's log is the one that was read: of the same system, and the same timeline.

    Raises:
        LostSlotError: it is another one.
    """
    if view.system_id != split.system_id:
        _lose(
            f"this is another database system ({view.system_id}, not {split.system_id}): its log has other "
            "changes at the same LSNs. Check option 'url'",
            split,
            position,
            can_resync=False,
        )
    if view.timeline != split.timeline:
        _lose(
            f"the server is on timeline {view.timeline} now, after a failover or a restore, and the query "
            f"has "
            f"read timeline {split.timeline}: what was committed after the branch may be undone",
            split,
            position,
        )


def check_kept(view: ServerView, split: WalSplit, position: int) -> None:
    """Make sure that the slot still has every transaction from a position on, before anything is read there.

    A server begins later without a word if a slot was confirmed beyond the position.

    Raises:
        LostSlotError: changes are gone, or it cannot be known that none is.
    """
    own = view.slot
    check_same_log(view, split, position)
    if own is None:
        _lose(
            f"slot {split.slot!r} does not exist any more. The WAL since {lsn_text(position)} "
            f"({view.flush_lsn - position:,} bytes up to now) is not kept for this query. Somebody "
            f"dropped it, or the "
            "provider did, as some do with slots that nobody reads for long",
            split,
            position,
        )
    if own.wal_status == "lost" or own.restart is None or own.confirmed is None:
        since = f" Nobody has read it since {own.inactive_since}." if own.inactive_since else ""
        _lose(
            f"slot {split.slot!r} was invalidated by the server (wal_status {own.wal_status}): WAL since "
            f"{lsn_text(position)} ({view.flush_lsn - position:,} bytes up to now) was removed, by "
            f"max_slot_wal_keep_size or idle_replication_slot_timeout.{since}",
            split,
            position,
        )
    if own.confirmed > position:
        _lose(
            f"slot {split.slot!r} begins at {lsn_text(own.confirmed)}: changes from {lsn_text(position)} on, "
            f"{own.confirmed - position:,} bytes of WAL, are not kept. The slot was made anew, or "
            f"somebody else has read "
            "it, or the checkpoint is an older one",
            split,
            position,
        )
    if view.flush_lsn < position:
        _lose(
            f"the server's log ends at {lsn_text(view.flush_lsn)}, before what was read already: "
            f"{position - view.flush_lsn:,} bytes of it are undone. It was restored, or a standby took "
            f"over that lagged",
            split,
            position,
        )


_RESYNC: Final = (
    "With option onSlotLost=resync the query goes on by itself, with a new slot and all rows of the table. "
    "Or go on"
)
_WAY_OUT: Final = (
    " with a new checkpointLocation and a new slot, and read the table itself for what changed meanwhile "
    "(spark.read); drop what is left of the old one: headwater slots <url> --drop {slot}"
)


def _lose(what: str, split: WalSplit, position: int, *, can_resync: bool = True) -> NoReturn:
    way_out = (_RESYNC if can_resync else "Go on") + _WAY_OUT.format(slot=split.slot)
    raise LostSlotError(
        f"{what}. {way_out}",
        source=SOURCE,
        split=split.split_id,
        position=lsn_text(position),
    )


def lost(what: str, split: WalSplit, position: int) -> LostSlotError:
    """Return the error for a slot of which the server says while it is read that it is gone."""
    try:
        _lose(what, split, position)
    except LostSlotError as error:
        return error


def _refuse(what: str) -> NoReturn:
    raise SourceError(what, source=SOURCE)


def create_slot(connection: PostgresConnection, slot: str) -> int:
    """Make a slot, and return where it begins: with the first transaction that began after all that run now.

    So it waits until these are over. Standbys that copy slots copy it too (17 and later): it has no price
    where none does. Blocks.

    Raises:
        SourceError: the server refuses.
    """
    sql = _CREATE_COPIED if connection.info.server_version >= _FAILOVER else _CREATE
    with mapped_errors(f"making slot {slot!r}"):
        row: Any = connection.execute(sql, [slot, _PLUGIN]).fetchone()
    return lsn_of(row[0])
