"""The tables whose changes a query reads: since when they are published, and whether they have changed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Final

from headwater.core.clock import Clock
from headwater.core.errors import DataLossError, SourceError, TransientSourceError
from headwater.core.redaction import logger_of
from headwater.enumerators.postgres.connection import PostgresConnection
from headwater.enumerators.postgres.publication import (
    PublishedTable,
    create_publication,
    is_newer,
    membership,
    published,
    table_names,
)
from headwater.enumerators.postgres.settings import SOURCE
from headwater.enumerators.postgres.slot import ServerView, look
from headwater.enumerators.postgres.split import NEVER, LogTable, WalSplit
from headwater.enumerators.postgres.stream_settings import StartingPosition, StreamSettings
from headwater.enumerators.postgres.table import TableDescription, describe_again, described

log = logger_of(__name__)

_LOOK_MS: Final = 10_000
"""How often the tables and their publication are looked at again."""


class PublishedTables:
    """Looks at tables and their publication. Belongs to one thread, that of the worker: every method blocks.

    Args:
        names: of the tables, as the user writes them.
        stream: the changes that are read.
        check: raises if rows of a table do not fit the query's schema.
        clock: time.
    """

    def __init__(
        self,
        names: Sequence[str],
        stream: StreamSettings,
        check: Callable[[TableDescription, PublishedTable], object],
        clock: Clock,
    ) -> None:
        self._names = names
        self._stream = stream
        self._check = check
        self._clock = clock
        self._seen_ms: int | None = None
        self._waits_for: int | None = None

    def described(self, connection: PostgresConnection) -> dict[TableDescription, PublishedTable]:
        """Return the tables as the catalogue describes them, in the order in which they are named.

        Raises:
            SourceError: a table is not there or cannot be read; it names everything that is in the way.
        """
        tables = self.named(connection)
        parts = dict(zip(tables, published(connection, tables, self._stream), strict=True))
        for table, in_publication in parts.items():
            self._check(table, in_publication)
        return parts

    def named(self, connection: PostgresConnection) -> list[TableDescription]:
        """Return the tables alone."""
        return described(connection, table_names(connection, self._names, self._stream.publication))

    def make_publication(self, connection: PostgresConnection, tables: Sequence[TableDescription]) -> None:
        """Make the publication if it is not there and the user allows it."""
        name = self._stream.publication
        if self._stream.creates_publication and create_publication(connection, tables, name):
            named = ", ".join(table.full_name for table in tables)
            log.info("publication %r was made for table %s", name, named)

    def published_now(
        self, connection: PostgresConnection, tables: Sequence[TableDescription]
    ) -> list[LogTable]:
        """Return the tables as a split has them, with their part in the publication."""
        name = self._stream.publication
        return [LogTable(table.oid, table.key, membership(connection, name, table)) for table in tables]

    def first_position(
        self, connection: PostgresConnection, tables: Sequence[TableDescription], view: ServerView
    ) -> int:
        """Return where a query begins whose slot is there already.

        Raises:
            SourceError: the slot has kept changes from before they were published.
            TransientSourceError: a transaction is running that began before its changes were published.
        """
        slot = self._stream.slot
        newer = any(is_newer(connection, self._stream.publication, table, slot) for table in tables)
        if self._stream.starting_position is StartingPosition.SLOT:
            if newer:
                raise SourceError(
                    f"publication {self._stream.publication!r} was made or changed after slot {slot!r}: what "
                    "the slot has kept from before is not published. Use option startingPosition=latest, or "
                    f"drop the slot, which is then made anew: SELECT pg_drop_replication_slot('{slot}')",
                    source=SOURCE,
                )
            assert view.slot is not None, "the caller has seen it"
            return view.slot.confirmed or 0
        if newer:
            # A transaction that wrote to the table before it was published comes in part.
            if self._waits_for is None:
                self._waits_for = view.next_xid
            if view.oldest_xid < self._waits_for:
                raise TransientSourceError(
                    "waiting for transactions that were running when the publication was made or changed: "
                    "their changes from before are not published (pg_stat_activity, column backend_xid)",
                    source=SOURCE,
                )
        return view.flush_lsn

    def checked(self, connection: PostgresConnection, split: WalSplit) -> WalSplit:
        """Make sure, now and then, that a split's tables are the same ones, and published as they were.

        Tables that the query names and the split does not have are added. A transaction that was running when
        such a table came into the publication is in the log in part: so nothing of it is read before all
        transactions that run now are over. Tables that it does not name any more leave it.

        Raises:
            DataLossError: changes from the meantime are not in the log.
            SourceError: the query has other tables.
        """
        now_ms = self._clock.monotonic_ms()
        if self._seen_ms is not None and now_ms - self._seen_ms < _LOOK_MS:
            return split
        tables = list(self.described(connection))
        logged = {each.oid: each for each in split.tables}
        gone = logged.keys() - {table.oid for table in tables}
        new = [table for table in tables if table.oid not in logged]
        if gone and new:
            raise another_table(new[0], split)
        for table in tables:
            was = logged[table.oid].membership if table.oid in logged else ""
            if was not in {"", membership(connection, self._stream.publication, table)}:
                raise DataLossError(
                    f"publication {self._stream.publication!r} was changed since the query began: table "
                    f"{table.full_name} left it and came back, or its columns, rows or operations are "
                    "others. The log has nothing of what was not published meanwhile. Start with a new "
                    "checkpointLocation, and read the table itself for what changed (spark.read)",
                    source=SOURCE,
                    split=split.split_id,
                )
        self._seen_ms = now_ms
        if gone:
            log_leaving(connection, gone)
            return split.without(gone)
        return self._with_new(connection, split, new) if new else split

    def _with_new(
        self, connection: PostgresConnection, split: WalSplit, new: Sequence[TableDescription]
    ) -> WalSplit:
        joining = self.published_now(connection, new)
        # Behind the look at the publication: who comes later finds the tables in it.
        next_xid = look(connection, split.slot).next_xid
        log.info(
            "slot %r: table %s joins the query, when all transactions before %d are over",
            split.slot,
            ", ".join(table.full_name for table in new),
            next_xid,
        )
        waiting = (replace(each, since=NEVER, waits_for=next_xid) for each in joining)
        return replace(split, tables=(*split.tables, *waiting))


def another_table(new: TableDescription, split: WalSplit) -> SourceError:
    """Return the error of a query that names a table more, and one less."""
    return SourceError(
        f"table {new.full_name} was dropped and made anew, or another one has its name now, or the query "
        "names it instead of one that it has read: it is not the table of the checkpoint. To read it as new "
        "rows, leave it out of option tables (with tables=* out of the publication), start the query, which "
        "forgets the earlier one, and name it again at the next start; else start with a new "
        "checkpointLocation and a new slot",
        source=SOURCE,
        split=split.split_id,
    )


def log_leaving(connection: PostgresConnection, oids: Collection[int]) -> None:
    """Say which tables the query does not read any more."""
    for oid in oids:
        table = describe_again(connection, oid)
        log.warning(
            "table %s is not read any more, since the query does not name it: no change of it comes from now "
            "on. If it is named again, it joins as a new one",
            table.full_name if table is not None else f"with oid {oid}, which is gone",
        )
