"""Timelines: whether a server that took over has all that a query has read, and nothing else before it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from headwater.core.redaction import logger_of
from headwater.enumerators.postgres.connection import PostgresConnection
from headwater.enumerators.postgres.errors import server_error
from headwater.enumerators.postgres.slot import ServerView, lost
from headwater.enumerators.postgres.split import WalSplit, lsn_of, lsn_text

log = logger_of(__name__)


def timeline_end(connection: PostgresConnection, now: int, timeline: int) -> int | None:
    """Return where a timeline ended, of which the server's own one comes; None: it comes of others.

    Up to there both have the same log. Blocks.

    Args:
        connection: for replication, idle.
        now: the timeline that the server is on.
        timeline: an earlier one.

    Raises:
        SourceError: the server refuses.
    """
    # Not by psycopg's cursor: it would read the file as a bytea in text form, which it is not.
    result = connection.pgconn.exec_(f"TIMELINE_HISTORY {now}".encode())
    content: Any = result.get_value(0, 1) if result.ntuples else None
    if content is None:
        code = result.error_field(ord("C"))
        text = result.error_message.decode(errors="replace")
        raise server_error(code.decode() if code else None, text, f"the history of timeline {now}")
    return end_in(content.decode(), timeline)


def end_in(history: str, timeline: int) -> int | None:
    """Return where a timeline ended by the text of a history file; None if it is not in there."""
    for line in history.splitlines():
        fields = line.partition("#")[0].split()
        if len(fields) >= 2 and int(fields[0]) == timeline:
            return lsn_of(fields[1])
    return None


def followed(view: ServerView, split: WalSplit, position: int, until: int, end: int | None) -> WalSplit:
    """Return the split on the timeline that the server is on, where the log up to an LSN is the same.

    A server that takes over begins a timeline, at the end of the log that it had. Transactions that the one
    before wrote behind it are undone, and others come at the same LSNs. So a range that a task may have read
    must end before it: the same range gives the same rows then.

    Args:
        view: of the server, on a later timeline than the split's.
        split: as it was logged.
        position: of the query, for errors.
        until: as far as anything may have been read.
        end: of the split's timeline (`timeline_end`).

    Raises:
        LostSlotError: something that was read is undone, or it cannot be known that nothing is.
    """
    where = f"the server is on timeline {view.timeline} now, after a failover or a restore"
    if end is None:
        raise lost(
            f"{where}, which does not come of timeline {split.timeline}, that the query has read",
            split,
            position,
        )
    if until > end:
        raise lost(
            f"{where}, that began at {lsn_text(end)}, and the query has read timeline {split.timeline} up to "
            f"{lsn_text(until)}, or was reading it: {until - end:,} bytes of that log are undone. "
            "synchronized_standby_slots keeps a query from reading what no standby has",
            split,
            position,
        )
    split_on = on_timeline(split, view.timeline, position)
    log.warning(
        "slot %r: another server has taken over: timeline %d ended at %s, behind what was read, and the "
        "query goes on with timeline %d",
        split.slot,
        split.timeline,
        lsn_text(end),
        view.timeline,
    )
    return split_on


def on_timeline(split: WalSplit, timeline: int, position: int) -> WalSplit:
    """Return the split on a later timeline, whose log is the same up to where it was read.

    Args:
        split: as it was logged.
        timeline: the later one.
        position: of the query, for errors.

    Raises:
        LostSlotError: chunks may have seen transactions that are undone.
    """
    if split.rules is not None or split.held:
        raise lost(
            f"the server is on timeline {timeline} now, after a failover or a restore, and rows of chunks "
            f"may hold transactions of timeline {split.timeline} that are undone",
            split,
            position,
        )
    return replace(split, timeline=timeline)
