"""The questions of a stream that begins with the rows that are there. They block, on the worker thread."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from headwater.core.clock import SystemClock
from headwater.core.errors import LostSlotError, SourceError, TransientSourceError
from headwater.core.jsons import JsonValue
from headwater.core.redaction import logger_of
from headwater.core.split import SplitPath
from headwater.core.state_location import check_state_store
from headwater.core.state_store import StateStore
from headwater.enumerators.postgres.chunk_rules import Bound, ChunkRules, RulesStore
from headwater.enumerators.postgres.chunks import (
    ChunkedTable,
    ChunkSplit,
    chunk_key,
    estimated_size,
    next_bound,
    row_filter,
)
from headwater.enumerators.postgres.connection import LastingConnection, PostgresConnection
from headwater.enumerators.postgres.initial_state import (
    InitialState,
    Phase,
    TableProgress,
    rows_in,
    rules_with,
)
from headwater.enumerators.postgres.publication import PublishedTable
from headwater.enumerators.postgres.published_tables import PublishedTables, another_table, log_leaving
from headwater.enumerators.postgres.settings import SOURCE, PostgresSettings
from headwater.enumerators.postgres.slot import (
    ServerView,
    check_kept,
    check_same_log,
    check_usable,
    create_slot,
    look,
)
from headwater.enumerators.postgres.slots import drop_slot
from headwater.enumerators.postgres.split import LogTable, WalSplit
from headwater.enumerators.postgres.staged_log import StagedLog
from headwater.enumerators.postgres.stream_settings import StreamSettings
from headwater.enumerators.postgres.table import TableDescription

log = logger_of(__name__)

T = TypeVar("T")

_PUBLISHED = 2
"""The number of waits where the publication may be newer than the slot."""


@dataclass(frozen=True, slots=True)
class ChunkSettings:
    """How a table is read in chunks. Picklable.

    Attributes:
        store: the state location.
        rows: of a chunk.
        per_batch: the most chunks of one batch.
    """

    store: StateStore
    rows: int
    per_batch: int


@dataclass(frozen=True, slots=True)
class LostLog:
    """A log that a query cannot go on with.

    Attributes:
        wal: as the query has read it.
        position: as far as it has.
        query: the folder of its rules; empty for none.
        error: names the loss.
    """

    wal: WalSplit
    position: int
    query: str
    error: LostSlotError


class InitialQuestions:
    """Asks the server and the state location. Belongs to the worker thread, but for `close` at the end.

    Args:
        settings: of the server.
        stream: the changes that are read.
        chunks: how the table is cut.
        tables: their names, as the user writes them.
        check: raises if rows of the table do not fit the schema that the query plans with.
        native: returns the columns that the query reads with their own types.
        staged: the log of the slot in the state location; None to read the slot itself.

    Attributes:
        view: of the server, at the last question; for others once that is answered. None before the first.
    """

    def __init__(
        self,
        settings: PostgresSettings,
        stream: StreamSettings,
        chunks: ChunkSettings,
        tables: Sequence[str],
        *,
        check: Callable[[TableDescription, PublishedTable], object],
        native: Callable[[TableDescription], Collection[str]],
        staged: StagedLog | None = None,
    ) -> None:
        self._settings = settings
        self._stream = stream
        self._chunks = chunks
        self._names = tables
        self._tables = PublishedTables(tables, stream, check, SystemClock())
        self._native = native
        self._staged = staged
        self._connection = LastingConnection(settings)
        self._rules: tuple[str, Mapping[int, ChunkRules]] | None = None
        self.view: ServerView | None = None

    def asking(self, work: Callable[[], T]) -> Callable[[], T]:
        """Return work for the worker thread, after whose failures the next attempt connects anew."""

        def asked() -> T:
            try:
                return work()
            except TransientSourceError:
                self._connection.drop()
                raise

        return asked

    def begin(self, again: LostLog | None = None) -> InitialState:
        """Make slot and publication where they are missing, and find where the stream begins.

        Args:
            again: a log that the query has read before and cannot go on with. The rests of its slot, and of
                its copy in the state location, are removed.
        """
        check_state_store(self._chunks.store)
        connection = self._connection.get()
        tables = self._tables.described(connection)
        slot = self._stream.slot
        view = self._looked(connection)
        if again is not None:
            view = self._without_rests(connection, view, again)
        sync = 0 if again is None else again.wal.sync + 1
        self._tables.make_publication(connection, list(tables))
        in_log = self._tables.published_now(connection, list(tables))
        waits = _PUBLISHED
        if view.slot is None:
            # After the publication: a slot begins with transactions that began when it was there already. One
            # whose commit is before may wait for a standby still: a chunk must not come before it is seen.
            waits = 1
            create_slot(connection, slot)
            log.info("slot %r was made", slot)
            view = self._looked(connection)
            assert view.slot is not None, "it was made"
            start = view.slot.confirmed or 0
        else:
            start = view.flush_lsn
        wal = WalSplit(slot, view.system_id, view.timeline, tuple(in_log), sync)
        check_kept(view, wal, start)
        state = InitialState(
            phase=Phase.WAITING,
            query=(again.query if again is not None else "") or secrets.token_hex(8),
            wal=wal,
            tables=tuple(self._uncut(connection, *each, sync) for each in tables.items()),
            waits_for=view.next_xid,
            waits=waits,
        )
        return self.wait(state.with_start(start))

    def join(self, state: InitialState, split: WalSplit, joining: Sequence[LogTable]) -> InitialState:
        """Return the state of a query that reads the rows of tables which join it, while it reads the log.

        All transactions are over that ran when they were noticed. The log has each change of theirs from here
        on; those before can be seen when all are over that run now.
        """
        check_state_store(self._chunks.store)
        connection = self._connection.get()
        view = self._looked(connection)
        oids = {each.oid for each in joining}
        tables = [each for each in self._tables.described(connection).items() if each[0].oid in oids]
        waiting = replace(
            state,
            phase=Phase.WAITING,
            wal=split,
            tables=tuple(self._uncut(connection, *each, split.sync) for each in tables),
            waits_for=self._looked(connection).next_xid,
            waits=1,
            rules=None,
            high=0,
        )
        return self.wait(waiting.with_start(view.flush_lsn))

    def _uncut(
        self,
        connection: PostgresConnection,
        table: TableDescription,
        in_publication: PublishedTable,
        sync: int,
    ) -> TableProgress:
        """Return a table of which nothing is read yet."""
        key, why = chunk_key(connection, table, in_publication.identity, self._native(table))
        if why:
            log.warning("table %s is read as one chunk: %s", table.full_name, why)
        chunked = ChunkedTable(
            oid=table.oid,
            only=table.kind == "r",
            key=key,
            row_filter=row_filter(connection, self._stream.publication, table),
            start=0,
            sync=sync,
        )
        rows, row_bytes = estimated_size(connection, table)
        return TableProgress(chunked, row_bytes, rows)

    def _without_rests(self, connection: PostgresConnection, view: ServerView, again: LostLog) -> ServerView:
        """Remove the rests of a lost slot.

        A driver that is killed here finds the slot missing, or newer than its position: a loss again.

        Raises:
            LostSlotError: this is another database system, whose tables may be any: the url may be wrong.
            SourceError: somebody reads the slot.
        """
        if view.system_id != again.wal.system_id:
            raise again.error
        if view.slot is not None:
            drop_slot(connection, self._stream.slot)
        if again.wal.log:
            store = self._chunks.store
            store.delete_all(f"{again.wal.log}/{each}" for each in store.list(again.wal.log))
        return self._looked(connection)

    def wait(self, state: InitialState, *, fails: bool = False) -> InitialState:
        """Return the state after as many waits as are over.

        Args:
            state: that waits, or not.
            fails: whether to fail for the moment if transactions still run.
        """
        connection = self._connection.get()
        while state.waits:
            view = self._looked(connection)
            if view.oldest_xid < state.waits_for:
                message = (
                    f"waiting until transactions before {state.waits_for} are over, of which one may have "
                    "written to a table before it was published (pg_stat_activity, column backend_xid; "
                    "pg_prepared_xacts)"
                )
                if fails:
                    raise TransientSourceError(message, source=SOURCE)
                log.info("%s", message)
                return state
            if state.waits == _PUBLISHED:
                # The second wait is for all that may have a commit record before the new start: they have
                # their ids before the server is asked once more.
                state = state.with_start(view.flush_lsn)
                view = self._looked(connection)
            state = replace(state, waits_for=view.next_xid, waits=state.waits - 1)
        return self._still_named(replace(state, phase=Phase.CHUNKS))

    def noted(
        self,
        state: InitialState,
        chunks: Mapping[SplitPath, ChunkSplit],
        notes: Mapping[SplitPath, JsonValue],
        since: int,
    ) -> InitialState:
        """Return the state after the chunks of a batch: their rules are stored.

        Args:
            state: as it is logged.
            chunks: of the batch.
            notes: of these.
            since: from there on the log is needed: before the chunks, where tables join one that is read.
        """
        state = self._still_named(self._looked_at_log(state, since))
        if not chunks or state.phase is Phase.DONE:
            return state
        store = RulesStore(self._chunks.store)
        rules = rules_with(self._rules_of(store, state), chunks, notes)
        name = store.put(state.query, rules)
        self._rules = (name, rules)
        high = max(each.high for each in rules.values())
        state = replace(state, rules=name, high=high, rows=state.rows + rows_in(notes))
        return state.live() if state.is_cut else state

    def _still_named(self, state: InitialState) -> InitialState:
        """Return the state without tables that the query does not name any more: their rest is not read.

        Raises:
            SourceError: the query names another table instead.
        """
        connection = self._connection.get()
        named = {each.oid: each for each in self._tables.named(connection)}
        gone = {each.table.oid for each in state.tables} - named.keys()
        if not gone:
            return state
        if new := named.keys() - {each.oid for each in state.wal.tables}:
            raise another_table(named[new.pop()], state.wal)
        log_leaving(connection, gone)
        return state.without(gone)

    def _rules_of(self, store: RulesStore, state: InitialState) -> Mapping[int, ChunkRules]:
        if state.rules is None:
            return {}
        if self._rules is None or self._rules[0] != state.rules:
            self._rules = (state.rules, store.get(state.rules, state.wal.tables[0].oid))
        return self._rules[1]

    def bounds(self, state: InitialState, count: int) -> list[Bound | None]:
        """Return where the next chunks end, table by table; None, behind its last one, is a table's end."""
        connection = self._connection.get()
        named = {each.oid: each for each in self._tables.named(connection)}
        bounds: list[Bound | None] = []
        for progress in state.tables:
            if progress.is_cut or len(bounds) == count:
                continue
            table = named.get(progress.table.oid)
            if table is None:
                raise self._gone(state)
            low = progress.low
            is_over = False
            while len(bounds) < count and not is_over:
                if progress.table.key:
                    low = next_bound(connection, table.sql, progress.table, low, self._chunks.rows)
                bounds.append(low)
                is_over = low is None
        return bounds

    def _looked_at_log(self, state: InitialState, since: int) -> InitialState:
        """Make sure that the slot still keeps all that the stream is going to read, or that the log has it.

        A log is received from the first chunk on: however long chunks take, the server keeps no WAL for them.
        """
        view = self._looked(self._connection.get())
        wal = state.wal
        if self._staged is None or not wal.log:
            check_kept(view, wal, since)
        if self._staged is None:
            return state
        log_folder = self._staged.start(wal, since)
        if not wal.log:
            return replace(state, wal=replace(wal, log=log_folder))
        self._staged.end()
        check_same_log(view, wal, since)
        return state

    def _looked(self, connection: PostgresConnection) -> ServerView:
        view = look(connection, self._stream.slot)
        check_usable(view, self._stream.slot)
        self.view = view
        return view

    def _gone(self, state: InitialState) -> SourceError:
        return SourceError(
            f"one of {', '.join(self._names)} was dropped and made anew, or another table has its name now, "
            "while its rows were read. Start with a new checkpointLocation and a new slot",
            source=SOURCE,
            split=state.wal.split_id,
        )

    def rest(self) -> None:
        """Close the connection until the next question."""
        self._connection.drop()

    def close(self) -> None:
        """Close the connection; a later question is refused."""
        self._connection.close()
