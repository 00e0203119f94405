"""The enumerator of a stream that begins with the rows that are there: waiting, chunks, then the log."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

from headwater.core.enumerator import (
    Checkpoint,
    PlannedSplitEnumerator,
    PlannedSplitEnumeratorContext,
    SplitRequest,
    UnassignedSplits,
)
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
    next_bound,
    row_bytes,
    row_filter,
)
from headwater.enumerators.postgres.connection import PostgresConnection, connect
from headwater.enumerators.postgres.enumerator import WalEnumerator
from headwater.enumerators.postgres.initial_state import InitialState, Phase, TableSplits, rules_with
from headwater.enumerators.postgres.publication import PublishedTable, create_publication, published
from headwater.enumerators.postgres.settings import SOURCE, PostgresSettings
from headwater.enumerators.postgres.slot import ServerView, check_kept, check_usable, create_slot, look
from headwater.enumerators.postgres.split import WAL_PATH, WalSplit
from headwater.enumerators.postgres.stream_settings import StreamSettings
from headwater.enumerators.postgres.table import TableDescription, describe

log = logger_of(__name__)

T = TypeVar("T")

_LEAST_CHUNK_BYTES = 8 << 20
"""A chunk is planned as at least so many bytes: a transaction of its own is worth a task of its own."""


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


class InitialEnumerator(PlannedSplitEnumerator[TableSplits, int]):
    """Reads a table in chunks of its key, then the log from before the first chunk on.

    The slot is there before the first chunk: so the log has every change that a chunk does not. Each chunk's
    task leaves a note of which transactions it saw; with these a change is dropped if the chunk of its key
    holds it (`headwater.enumerators.postgres.visibility`).

    A slot that was there before may know the table's publication only in part, and a transaction that waits
    for a synchronous standby may lie before where the stream begins. So there the query waits twice until all
    transactions are over, and begins in between.

    Each round makes its state of the one that is logged: what a plan has changed that was never logged is
    forgotten with it.

    Args:
        context: the coordinator's.
        settings: of the server.
        stream: what is read.
        chunks: how the table is cut.
        table: its name, as the user writes it.
        check: raises if the rows of the table cannot be what the query plans with. On the worker thread.
        native: returns the columns that the query reads with their own types.
        make_log: makes the enumerator of the log.
    """

    def __init__(
        self,
        context: PlannedSplitEnumeratorContext[TableSplits, int],
        settings: PostgresSettings,
        stream: StreamSettings,
        chunks: ChunkSettings,
        table: str,
        *,
        check: Callable[[TableDescription, PublishedTable], object],
        native: Callable[[TableDescription], Collection[str]],
        make_log: Callable[[], WalEnumerator],
    ) -> None:
        self._context = context
        self._settings = settings
        self._stream = stream
        self._chunks = chunks
        self._table = table
        self._check = check
        self._native = native
        self._make_log = make_log
        # Of the worker thread.
        self._connection: PostgresConnection | None = None
        self._rules: tuple[str, ChunkRules] | None = None
        # Of the coordinator's.
        self._log: WalEnumerator | None = None
        self._state: InitialState | None = None
        self._checkpoint: Checkpoint[TableSplits, int] | None = None
        self._notes: dict[SplitPath, JsonValue] = {}
        self._heads: dict[SplitPath, int] = {}
        self._pruned: str | None = ""

    def start(self) -> None:
        """Nothing to do: the first look opens the connection."""

    def handle_task_notes(self, notes: Mapping[SplitPath, JsonValue]) -> None:
        self._notes = dict(notes)

    def refresh(self, checkpoint: Checkpoint[TableSplits, int] | None) -> None:
        self._checkpoint = checkpoint
        self._heads = {}
        if checkpoint is None:
            self._context.call_async(
                self._asking(self._begin), self._take, what=f"slot {self._stream.slot!r}"
            )
            return
        state = InitialState.from_json(checkpoint.state)
        if state.phase is Phase.WAITING:
            self._context.call_async(
                self._asking(partial(self._wait, state)), self._take, what="transactions that were running"
            )
        elif state.phase is Phase.CHUNKS:
            chunks = {path: each for path, each in checkpoint.splits.items() if isinstance(each, ChunkSplit)}
            self._context.call_async(
                self._asking(partial(self._noted, state, chunks, dict(self._notes))),
                self._take,
                what="notes of chunks",
            )
        else:
            self._state = state
            split = checkpoint.splits[WAL_PATH]
            assert isinstance(split, WalSplit), "the log is the only split of this path"
            self._go_on(state, split, checkpoint.positions[WAL_PATH])

    def handle_split_request(self, request: SplitRequest) -> None:
        state = self._state
        if state is None:
            return
        if state.phase is Phase.WAITING and request.ends:
            self._context.call_async(
                self._asking(partial(self._wait, state, fails=True)),
                lambda waited: self._take_and_cut(waited, request),
                what="transactions that were running",
            )
        elif state.phase is Phase.CHUNKS:
            self._cut(state, request)
        elif self._log is not None:
            self._log.handle_split_request(request)

    def heads(self) -> Mapping[SplitPath, int]:
        return self._log.heads() if self._log is not None else self._heads

    def bounds(self) -> Mapping[SplitPath, int] | None:
        return self._log.bounds() if self._log is not None else None

    def unassigned(self) -> UnassignedSplits:
        return UnassignedSplits(goes_on=self._log is None)

    def snapshot_state(self) -> JsonValue:
        return None if self._state is None else self._state.to_json()

    def notify_checkpoint_complete(self, checkpoint: Checkpoint[TableSplits, int]) -> None:
        """Delete rules that no offset names any more: those of this one are those of its state."""
        state = InitialState.from_json(checkpoint.state)
        needed = state.rules if state.phase is not Phase.DONE else None
        if needed != self._pruned:
            self._pruned = needed
            store = RulesStore(self._chunks.store)
            self._context.call_async(
                lambda: store.prune(state.query, needed), lambda _: None, what="deleting what chunks saw"
            )

    def close(self) -> None:
        if self._log is not None:
            self._log.close()
        self._drop_connection()

    # On the worker thread.

    def _asking(self, work: Callable[[], T]) -> Callable[[], T]:
        """Return work for the worker thread, after whose failures the next attempt connects anew."""

        def asked() -> T:
            try:
                return work()
            except TransientSourceError:
                self._drop_connection()
                raise

        return asked

    def _begin(self) -> InitialState:
        """Make what is not there, and find where the stream begins."""
        check_state_store(self._chunks.store)
        connection = self._connected()
        table, in_publication = self._described(connection)
        slot = self._stream.slot
        view = self._looked(connection)
        name = self._stream.publication
        if self._stream.creates_publication and create_publication(connection, table, name):
            log.info("publication %r was made for table %s", name, table.full_name)
        waits = 0
        if view.slot is None:
            # After the publication: a slot begins with transactions that began when it was there already, and
            # is made when all that ran before are over.
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
        wal = WalSplit(slot, view.system_id, view.timeline, table.oid, table.key)
        check_kept(view, wal, start)
        state = InitialState(
            phase=Phase.WAITING,
            query=secrets.token_hex(8),
            wal=wal,
            table=chunked,
            row_bytes=row_bytes(connection, table),
            waits_for=view.next_xid,
            waits=waits,
        )
        return self._wait(state)

    def _wait(self, state: InitialState, *, fails: bool = False) -> InitialState:
        """Return the state after as many waits as are over.

        Args:
            state: that waits, or not.
            fails: whether to fail for the moment if transactions still run.
        """
        connection = self._connected()
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

    def _noted(
        self,
        state: InitialState,
        chunks: Mapping[SplitPath, ChunkSplit],
        notes: Mapping[SplitPath, JsonValue],
    ) -> InitialState:
        """Return the state after the chunks of a batch: their rules are stored."""
        self._looked_at_log(state)
        if not chunks:
            return state
        store = RulesStore(self._chunks.store)
        rules = rules_with(self._rules_of(store, state), chunks, notes)
        name = store.put(state.query, rules)
        self._rules = (name, rules)
        state = replace(state, rules=name, high=rules.high)
        return state.live() if state.is_cut else state

    def _rules_of(self, store: RulesStore, state: InitialState) -> ChunkRules:
        if state.rules is None:
            return ChunkRules(tuple(each.name for each in state.table.key))
        if self._rules is None or self._rules[0] != state.rules:
            self._rules = (state.rules, store.get(state.rules))
        return self._rules[1]

    def _bounds(self, state: InitialState, count: int) -> list[tuple[str, ...] | None]:
        """Return where the next chunks end; None, behind the last one, is the end of the table."""
        connection = self._connected()
        table = describe(connection, self._table)
        self._check_same(table, state.table.oid)
        bounds: list[tuple[str, ...] | None] = []
        low = state.next_low
        while len(bounds) < count and (not bounds or low is not None):
            if state.table.key:
                low = next_bound(connection, table.sql, state.table, low, self._chunks.rows)
            bounds.append(low)
        return bounds

    def _looked_at_log(self, state: InitialState) -> None:
        """Make sure that the slot still keeps what the stream is going to read."""
        view = self._looked(self._connected())
        check_kept(view, state.wal, state.table.start)

    def _looked(self, connection: PostgresConnection) -> ServerView:
        view = look(connection, self._stream.slot)
        check_usable(view, self._stream.slot)
        return view

    def _described(self, connection: PostgresConnection) -> tuple[TableDescription, PublishedTable]:
        table = describe(connection, self._table)
        in_publication = published(connection, table, self._stream)
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

    def _connected(self) -> PostgresConnection:
        if self._connection is None or self._connection.closed:
            self._connection = connect(self._settings)
        return self._connection

    def _drop_connection(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    # On the coordinator's thread.

    def _take(self, state: InitialState) -> None:
        self._state = state
        if state.phase is not Phase.LIVE:
            return
        chunks = [path for path in self._checkpoint_splits() if path != WAL_PATH]
        self._context.retire_splits(chunks, "it is read")
        self._context.assign_splits({WAL_PATH: (state.wal, state.table.start)})
        self._go_on(state, state.wal, state.table.start)

    def _take_and_cut(self, state: InitialState, request: SplitRequest) -> None:
        self._take(state)
        self._cut(state, request)

    def _cut(self, state: InitialState, request: SplitRequest) -> None:
        """Ask for the bounds of the batch's chunks, and assign these."""
        count = self._chunks.per_batch
        if request.max_bytes is not None:
            count = max(1, min(count, request.max_bytes // (self._chunks.rows * state.row_bytes)))
        self._context.call_async(
            self._asking(partial(self._bounds, state, count)),
            partial(self._assign, state),
            what="cutting the table",
        )

    def _assign(self, state: InitialState, bounds: list[tuple[str, ...] | None]) -> None:
        self._context.retire_splits(list(self._checkpoint_splits()), "it is read")
        size = max(_LEAST_CHUNK_BYTES, self._chunks.rows * state.row_bytes)
        for high in bounds:
            state, chunk = state.with_chunk(high)
            self._context.assign_splits({chunk.path: (chunk, 0)})
            self._heads[chunk.path] = size
        self._state = state

    def _go_on(self, state: InitialState, split: WalSplit, position: int) -> None:
        """Let the enumerator of the log look; drop the rules that it has read beyond."""
        if split.rules is not None and position >= state.high:
            split = replace(split, rules=None)
            self._state = replace(state, phase=Phase.DONE, rules=None)
            self._context.assign_splits({WAL_PATH: (split, position)})
        if self._log is None:
            self._drop_connection()
            self._log = self._make_log()
            self._log.start()
        self._log.refresh(Checkpoint({WAL_PATH: split}, {WAL_PATH: position}, None))

    def _checkpoint_splits(self) -> Mapping[SplitPath, TableSplits]:
        return self._checkpoint.splits if self._checkpoint is not None else {}
