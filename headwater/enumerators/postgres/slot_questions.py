"""The questions of a stream's enumerator to the server. They block, on the worker thread."""

from __future__ import annotations

import threading
from contextlib import closing
from dataclasses import dataclass, replace

from headwater.core.clock import Clock
from headwater.core.redaction import logger_of
from headwater.core.retry import Backoff
from headwater.enumerators.postgres.connection import LastingConnection, connect
from headwater.enumerators.postgres.published_tables import PublishedTables
from headwater.enumerators.postgres.replication import first_transaction
from headwater.enumerators.postgres.settings import PostgresSettings
from headwater.enumerators.postgres.slot import (
    ServerView,
    check_kept,
    check_same_log,
    check_usable,
    create_slot,
    let_log_be_whole,
    look,
)
from headwater.enumerators.postgres.slot_reading import SlotReading
from headwater.enumerators.postgres.split import NEVER, Commit, WalSplit
from headwater.enumerators.postgres.staged_log import StagedLog
from headwater.enumerators.postgres.stream_settings import StreamSettings
from headwater.enumerators.postgres.timeline import followed, on_timeline, timeline_end

log = logger_of(__name__)


@dataclass(frozen=True, slots=True)
class Peek:
    """The end of a look into the log.

    Attributes:
        until: as far as it went.
        first: the commit of the first transaction; None for none.
        took_ms: how long it took.
        seen: the split and the server, if another one took over meanwhile.
    """

    until: int
    first: Commit | None
    took_ms: int
    seen: tuple[WalSplit, ServerView] | None = None


class SlotQuestions:
    """Asks the server about a slot and its tables. Belongs to the worker thread, but for `close` at the end.

    Args:
        settings: of the server.
        stream: the changes that are read.
        tables: of these.
        log: the log of the slot in the state location; None to read the slot itself.
        reads_rows: whether rows of tables that join are read first.
        backoff: how long to wait for a slot that is in use.
        clock: time.
    """

    def __init__(
        self,
        settings: PostgresSettings,
        stream: StreamSettings,
        tables: PublishedTables,
        log: StagedLog | None,
        *,
        reads_rows: bool,
        backoff: Backoff,
        clock: Clock,
    ) -> None:
        self._settings = settings
        self._stream = stream
        self._tables = tables
        self._log = log
        self._reads_rows = reads_rows
        self._backoff = backoff
        self._clock = clock
        self._cancelled = threading.Event()
        self._connection = LastingConnection(settings)

    def begin(self) -> tuple[WalSplit, int, ServerView]:
        """Make slot and publication where they are missing, and find the first position."""
        connection = self._connection.get()
        tables = list(self._tables.described(connection))
        slot = self._stream.slot
        view = look(connection, slot)
        check_usable(view, slot)
        self._tables.make_publication(connection, tables)
        # Before the position is found: a later change of the publication is noticed then.
        in_log = self._tables.published_now(connection, tables)
        view = look(connection, slot)
        if view.slot is None:
            # After the publication: a slot begins with transactions that began when it was there already.
            create_slot(connection, slot)
            log.info("slot %r was made", slot)
            view = look(connection, slot)
            assert view.slot is not None, "it was made"
            position = view.slot.confirmed or 0
        else:
            position = self._tables.first_position(connection, tables, view)
        split = WalSplit(slot, view.system_id, view.timeline, tuple(in_log))
        check_kept(view, split, position)
        if self._log is not None:
            split = replace(split, log=self._log.start(split, position))
        return split, position, view

    def look(self, split: WalSplit, position: int) -> tuple[WalSplit, ServerView]:
        """Make sure that the slot or the log has everything from a position on, and let tables join.

        Returns:
            The log as it goes on, and the server.
        """
        connection = self._connection.get()
        view = look(connection, split.slot)
        check_usable(view, split.slot)
        if self._log is not None:
            split = self._with_log(self._log, split, position, view)
        else:
            self.let_log_be_whole(view)
            if view.timeline > split.timeline and view.system_id == split.system_id:
                with closing(connect(self._settings, replication=True)) as asking:
                    end = timeline_end(asking, view.timeline, split.timeline)
                split = followed(view, split, position, position, end)
            check_kept(view, split, split.confirmed(position))
        split = self._tables.checked(connection, split)
        if any(each.waits_for for each in split.tables):
            view = look(connection, split.slot)
            split = self._awaited(split, view)
        return split, view

    def let_log_be_whole(self, view: ServerView) -> None:
        """Make sure that what is read up to the end of the server's log soon comes to an end."""
        let_log_be_whole(self._connection.get(), view)

    def _awaited(self, split: WalSplit, view: ServerView) -> WalSplit:
        """Return the split after the tables have joined whose transactions are over."""
        since = NEVER if self._reads_rows else view.flush_lsn
        tables = tuple(
            replace(each, since=since, waits_for=0) if 0 < each.waits_for <= view.oldest_xid else each
            for each in split.tables
        )
        return replace(split, tables=tables)

    def _with_log(self, staged: StagedLog, split: WalSplit, position: int, view: ServerView) -> WalSplit:
        """Return the split with its log, which is received from now on.

        The slot is checked whenever the receiver connects: it has to have everything behind the log's end.
        """
        if not split.log:
            first = split.confirmed(position)
            check_kept(view, split, first)
            return replace(split, log=staged.start(split, first))
        staged.start(split, position)
        timeline = staged.end().timeline
        if timeline != split.timeline:
            split = on_timeline(split, timeline, position)
        if view.timeline == timeline:
            check_same_log(view, split, position)
        return split

    def peek(self, split: WalSplit, position: int, since: int, until: int) -> Peek:
        """Ask the slot for the first transaction, and confirm the position.

        A server that took over is asked once more from the position on: its log goes not as far.
        """
        began_ms = self._clock.monotonic_ms()
        reading = SlotReading(
            self._settings,
            self._stream.publication,
            split,
            self._backoff,
            self._clock,
        )
        stream, view = reading.open(
            split.confirmed(position), until, start=since, read_until=position, cancelled=self._cancelled
        )
        try:
            if view.timeline == split.timeline:
                first = first_transaction(stream, until, self._cancelled)
        finally:
            stream.close()
        if view.timeline != split.timeline:
            split, view = self.look(split, position)
            peek = self.peek(split, position, position, view.flush_lsn)
            return replace(peek, seen=peek.seen or (split, view))
        return Peek(until, first, self._clock.monotonic_ms() - began_ms)

    def close(self) -> None:
        """End questions that wait; a later one is refused."""
        self._cancelled.set()
        self._connection.close()
