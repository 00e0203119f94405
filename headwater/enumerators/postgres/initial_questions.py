"""The questions of a stream that begins with the rows that are there. They block, on the worker thread."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from headwater.core.errors import SourceError, TransientSourceError
from headwater.core.jsons import JsonValue
from headwater.core.redaction import logger_of
from headwater.core.split import SplitPath
from headwater.core.state_location import check_state_store
from headwater.core.state_store import StateStore
from headwater.enumerators.postgres.chunk_rules import ChunkRules, RulesStore
from headwater.enumerators.postgres.chunks import (
    ChunkedTable,
    ChunkSplit,
    chunk_key,
    estimated_size,
    next_bound,
    row_filter,
)
from headwater.enumerators.postgres.connection import LastingConnection, PostgresConnection
from headwater.enumerators.postgres.initial_state import InitialState, Phase, rows_in, rules_with
from headwater.enumerators.postgres.publication import (
    PublishedTable,
    create_publication,
    membership,
    published,
)
from headwater.enumerators.postgres.settings import SOURCE, PostgresSettings
from headwater.enumerators.postgres.slot import (
    ServerView,
    check_kept,
    check_same_log,
    check_usable,
    create_slot,
    look,
)
from headwater.enumerators.postgres.split import WalSplit
from headwater.enumerators.postgres.staged_log import StagedLog
from headwater.enumerators.postgres.stream_settings import StreamSettings
from headwater.enumerators.postgres.table import TableDescription, describe

log = logger_of(__name__)

T = TypeVar("T")

_PUBLISHED = 2
"""So many waits are ahead where the publication may be newer than the slot."""


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


class InitialQuestions:
    """Asks the server and the state location. Belongs to the worker thread, but for `close` at the end.

    Args:
        settings: of the server.
        stream: the changes that are read.
        chunks: how the table is cut.
        table: its name, as the user writes it.
        check: raises if rows of the table do not fit the schema that the query plans with.
        native: returns the columns that the query reads with their own types.
        staged: what the slot gives, in the state location; None to read the slot itself.

    Attributes:
        view: of the server, at the last question; for others once that is answered. None before the first.
    """

    def __init__(
        self,
        settings: PostgresSettings,
        stream: StreamSettings,
        chunks: ChunkSettings,
        table: str,
        *,
        check: Callable[[TableDescription, PublishedTable], object],
        native: Callable[[TableDescription], Collection[str]],
        staged: StagedLog | None = None,
    ) -> None:
        self._settings = settings
        self._stream = stream
        self._chunks = chunks
        self._table = table
        self._check = check
        self._native = native
        self._staged = staged
        self._connection = LastingConnection(settings)
        self._rules: tuple[str, ChunkRules] | None = None
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

    def begin(self) -> InitialState:
        """Make slot and publication where they are missing, and find where the stream begins."""
        check_state_store(self._chunks.store)
        connection = self._connection.get()
        table, in_publication = self._described(connection)
        slot = self._stream.slot
        view = self._looked(connection)
        name = self._stream.publication
        if self._stream.creates_publication and create_publication(connection, [table], name):
            log.info("publication %r was made for table %s", name, table.full_name)
        published_as = membership(connection, name, table)
        waits = 0
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
            waits = _PUBLISHED
            start = view.flush_lsn
        native = self._native(table)
        key, why = chunk_key(connection, table, in_publication.identity, native)
        if why:
            log.warning("table %s is read as one chunk: %s", table.full_name, why)
        chunked = ChunkedTable(
            oid=table.oid,
            only=table.kind == "r",
            key=key,
            row_filter=row_filter(connection, name, table),
            start=start,
            sync=0,
        )
        wal = WalSplit(slot, view.system_id, view.timeline, table.oid, table.key, membership=published_as)
        check_kept(view, wal, start)
        table_rows, row_bytes = estimated_size(connection, table)
        state = InitialState(
            phase=Phase.WAITING,
            query=secrets.token_hex(8),
            wal=wal,
            table=chunked,
            row_bytes=row_bytes,
            table_rows=table_rows,
            waits_for=view.next_xid,
            waits=waits,
        )
        return self.wait(state)

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
                    "written to the table before it was published (pg_stat_activity, column backend_xid; "
                    "pg_prepared_xacts)"
                )
                if fails:
                    raise TransientSourceError(message, source=SOURCE)
                log.info("%s", message)
                return state
            if state.waits == _PUBLISHED:
                # The second wait is for all that may have a commit record before the new start: they have
                # their ids before the server is asked once more.
                state = replace(state, table=replace(state.table, start=view.flush_lsn))
                view = self._looked(connection)
            state = replace(state, waits_for=view.next_xid, waits=state.waits - 1)
        return replace(state, phase=Phase.CHUNKS)

    def noted(
        self,
        state: InitialState,
        chunks: Mapping[SplitPath, ChunkSplit],
        notes: Mapping[SplitPath, JsonValue],
    ) -> InitialState:
        """Return the state after the chunks of a batch: their rules are stored."""
        state = self._looked_at_log(state)
        if not chunks:
            return state
        store = RulesStore(self._chunks.store)
        rules = rules_with(self._rules_of(store, state), chunks, notes)
        name = store.put(state.query, rules)
        self._rules = (name, rules)
        state = replace(state, rules=name, high=rules.high, rows=state.rows + rows_in(notes))
        return state.live() if state.is_cut else state

    def _rules_of(self, store: RulesStore, state: InitialState) -> ChunkRules:
        if state.rules is None:
            return ChunkRules(tuple(each.name for each in state.table.key))
        if self._rules is None or self._rules[0] != state.rules:
            self._rules = (state.rules, store.get(state.rules))
        return self._rules[1]

    def bounds(self, state: InitialState, count: int) -> list[tuple[str, ...] | None]:
        """Return where the next chunks end; None, behind the last one, is the end of the table."""
        connection = self._connection.get()
        table = describe(connection, self._table)
        self._check_same(table, state.table.oid)
        bounds: list[tuple[str, ...] | None] = []
        low = state.next_low
        while len(bounds) < count and (not bounds or low is not None):
            if state.table.key:
                low = next_bound(connection, table.sql, state.table, low, self._chunks.rows)
            bounds.append(low)
        return bounds

    def _looked_at_log(self, state: InitialState) -> InitialState:
        """Make sure that the slot still keeps all that the stream is going to read, or that the log has it.

        A log is received from the first chunk on: however long chunks take, the server keeps no WAL for them.
        """
        view = self._looked(self._connection.get())
        wal, start = state.wal, state.table.start
        if self._staged is None or not wal.log:
            check_kept(view, wal, start)
        if self._staged is None:
            return state
        log_folder = self._staged.start(wal, start)
        if not wal.log:
            return replace(state, wal=replace(wal, log=log_folder))
        self._staged.end()
        check_same_log(view, wal, start)
        return state

    def _looked(self, connection: PostgresConnection) -> ServerView:
        view = look(connection, self._stream.slot)
        check_usable(view, self._stream.slot)
        self.view = view
        return view

    def _described(self, connection: PostgresConnection) -> tuple[TableDescription, PublishedTable]:
        table = describe(connection, self._table)
        (in_publication,) = published(connection, [table], self._stream)
        self._check(table, in_publication)
        return table, in_publication

    def _check_same(self, table: TableDescription, oid: int) -> None:
        if table.oid != oid:
            raise SourceError(
                f"table {self._table} was dropped and made anew, or another one has its name now, while its "
                "rows were read. Start with a new checkpointLocation and a new slot",
                source=SOURCE,
                split=table.full_name,
            )

    def close(self) -> None:
        """Close the connection; a later question is refused."""
        self._connection.close()
