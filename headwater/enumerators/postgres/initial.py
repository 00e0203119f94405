"""The enumerator of a stream that begins with the rows that are there: waiting, chunks, then the log."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

from headwater.core.enumerator import (
    Checkpoint,
    PlannedSplitEnumerator,
    PlannedSplitEnumeratorContext,
    SplitRequest,
    UnassignedSplits,
)
from headwater.core.jsons import JsonValue
from headwater.core.metrics import (
    RETAINED_BYTES,
    SNAPSHOT_ROWS,
    SNAPSHOT_SPLITS,
    SNAPSHOT_SPLITS_LEFT,
    MetricValues,
)
from headwater.core.split import SplitPath
from headwater.enumerators.postgres.chunk_rules import Bound, RulesStore
from headwater.enumerators.postgres.chunks import ChunkSplit
from headwater.enumerators.postgres.enumerator import WalEnumerator
from headwater.enumerators.postgres.initial_questions import ChunkSettings, InitialQuestions, LostLog
from headwater.enumerators.postgres.initial_state import InitialState, Phase, TableSplits
from headwater.enumerators.postgres.split import WAL_PATH, WalSplit
from headwater.enumerators.postgres.staged_log import StagedLog, check_transport

_LEAST_CHUNK_BYTES = 8 << 20
"""The least bytes that a chunk is planned as: a transaction of its own is worth a task of its own."""


class InitialEnumerator(PlannedSplitEnumerator[TableSplits, int]):
    """Reads tables in chunks of their keys, then the log from before the first chunk on.

    The slot is there before the first chunk: so the log has every change that a chunk does not. Each chunk's
    task leaves a note of which transactions it saw; with these a change is dropped if the chunk of its key
    holds it (`headwater.enumerators.postgres.visibility`).

    A transaction that waits for a synchronous standby may lie before the beginning of the stream, and is not
    visible yet. So the query waits until all transactions are over before it reads the first chunk. A slot
    that is older than the query may know the table's publication only in part: so the query waits twice, and
    begins in between.

    Each round makes its state of the one that is logged: changes by a plan that was never logged are
    forgotten with it.

    Args:
        context: the coordinator's.
        chunks: how the table is cut.
        questions: asks the server.
        make_log: makes the enumerator of the log, told whether rows of tables that join are read.
        reads_rows: whether a query without a checkpoint begins with the rows that are there; else it begins
            with the log.
        staged: the log of the slot in the state location, from the first chunk on; None to read the slot
            itself.
    """

    def __init__(
        self,
        context: PlannedSplitEnumeratorContext[TableSplits, int],
        chunks: ChunkSettings,
        questions: InitialQuestions,
        make_log: Callable[[bool], WalEnumerator],
        *,
        reads_rows: bool,
        staged: StagedLog | None,
    ) -> None:
        self._context = context
        self._chunks = chunks
        self._ask = questions
        self._make_log = make_log
        self._reads_rows = reads_rows
        self._staged = staged
        self._log: WalEnumerator | None = None
        self._state: InitialState | None = None
        self._checkpoint: Checkpoint[TableSplits, int] | None = None
        self._notes: dict[SplitPath, JsonValue] = {}
        self._heads: dict[SplitPath, int] = {}
        self._finished = 0
        self._pruned: str | None = ""

    def start(self) -> None:
        """Nothing to do: the first look opens the connection."""

    def handle_task_notes(self, notes: Mapping[SplitPath, JsonValue]) -> None:
        self._notes = dict(notes)

    def refresh(self, checkpoint: Checkpoint[TableSplits, int] | None) -> None:
        self._checkpoint = checkpoint
        self._heads = {}
        if checkpoint is None and not self._reads_rows:
            self._state = InitialState.done()
            self._started_log(self._state).refresh(None)
            return
        if checkpoint is None:
            self._context.call_async(
                self._ask.asking(self._ask.begin), self._take, what="the slot and the tables"
            )
            return
        state = InitialState.from_json(checkpoint.state)
        if state.phase is Phase.WAITING:
            self._context.call_async(
                self._ask.asking(partial(self._ask.wait, state)),
                self._take,
                what="transactions that were running",
            )
        elif state.phase is Phase.CHUNKS:
            check_transport(state.wal, self._staged)
            chunks = {path: each for path, each in checkpoint.splits.items() if isinstance(each, ChunkSplit)}
            split, position = self._read_log()
            since = state.start if split is None else min(state.start, position)
            self._context.call_async(
                self._ask.asking(partial(self._ask.noted, state, chunks, dict(self._notes), since)),
                self._take,
                what="notes of chunks",
            )
        else:
            self._take(state)

    def begin_again(self, lost: LostLog) -> None:
        """Read all rows of the tables again, and the log from there on. Instead of `refresh`.

        Args:
            lost: the log that the query cannot go on with.
        """

        def taken(state: InitialState) -> None:
            # Another timeline has other changes at the same LSNs: nobody can say how many are gone.
            is_same_log = state.wal.timeline == lost.wal.timeline and state.start > lost.position
            until = state.start if is_same_log else lost.position
            self._context.report_losses({WAL_PATH: (lost.position, until)})
            # Also splits that were assigned in this round, before the loss was found.
            self._context.retire_splits(list(self._context.positions()), "the tables are read again")
            self._take(state)

        self._context.call_async(
            self._ask.asking(partial(self._ask.begin, lost)), taken, what="a new slot, and the tables"
        )

    def handle_split_request(self, request: SplitRequest) -> None:
        state = self._state
        if state is None:
            return
        if state.phase is Phase.WAITING and request.ends and self._log is None:
            self._context.call_async(
                self._ask.asking(partial(self._ask.wait, state, fails=True)),
                lambda waited: self._take_and_cut(waited, request),
                what="transactions that were running",
            )
        elif state.phase is Phase.CHUNKS:
            self._cut(state, request)
        if self._log is not None:
            self._log.handle_split_request(request)
            split = self._log.split
            joining = [] if split is None else split.joining()
            if split is not None and joining and state.phase is Phase.DONE:
                self._context.call_async(
                    self._ask.asking(partial(self._ask.join, state, split, joining)),
                    self._begin_join,
                    what="tables that join",
                )

    def heads(self) -> Mapping[SplitPath, int]:
        return {**self._heads, **(self._log.heads() if self._log is not None else {})}

    def bounds(self) -> Mapping[SplitPath, int] | None:
        """Bound the log where there are chunks beside it: these are read whole, whatever the limits are."""
        if self._log is None:
            return None
        return self._log.bounds() or (self._log.heads() if self._heads else None)

    def unassigned(self) -> UnassignedSplits:
        """Return the rest of the table, and the log since the stream began: it is read behind the table."""
        state, view = self._state, self._ask.view
        if self._log is not None and (state is None or state.is_cut):
            return self._log.unassigned()
        if state is None or view is None:
            return UnassignedSplits(goes_on=True)
        rest = state.splits_left(self._chunks.rows) * self._chunks.rows * state.row_bytes
        return UnassignedSplits(size_bytes=rest + max(0, view.flush_lsn - state.start), goes_on=True)

    def gauges(self) -> MetricValues:
        """Return how much of the table is read, and the WAL that the server keeps, without its age."""
        state, view = self._state, self._ask.view
        if state is None:
            return {}
        if not state.query:
            return self._log.gauges() if self._log is not None else {}
        in_flight = state.next_number - self._finished
        of_table: MetricValues = {
            SNAPSHOT_SPLITS: self._finished,
            SNAPSHOT_SPLITS_LEFT: in_flight + state.splits_left(self._chunks.rows),
            SNAPSHOT_ROWS: state.rows,
        }
        if self._log is not None:
            return {**of_table, **self._log.gauges()}
        retained_bytes = None if view is None else view.kept_bytes
        return of_table if retained_bytes is None else {**of_table, RETAINED_BYTES: retained_bytes}

    def snapshot_state(self) -> JsonValue:
        return None if self._state is None else self._state.to_json()

    def notify_checkpoint_complete(self, checkpoint: Checkpoint[TableSplits, int]) -> None:
        """Delete rules that no offset names any more: all but the ones of the current state."""
        state = InitialState.from_json(checkpoint.state)
        split = checkpoint.splits.get(WAL_PATH)
        if self._log is not None and isinstance(split, WalSplit):
            position = checkpoint.positions[WAL_PATH]
            self._log.notify_checkpoint_complete(Checkpoint({WAL_PATH: split}, {WAL_PATH: position}, None))
        if self._staged is not None and (state.wal.log or (isinstance(split, WalSplit) and split.log)):
            self._staged.confirm()
        needed = state.rules if state.phase is not Phase.DONE else None
        if state.query and needed != self._pruned:
            self._pruned = needed
            store = RulesStore(self._chunks.store)
            self._context.call_async(
                lambda: store.prune(state.query, needed), lambda _: None, what="deleting what chunks saw"
            )

    def close(self) -> None:
        if self._log is not None:
            self._log.close()
        if self._staged is not None:
            self._staged.close()
        self._ask.close()

    def _take(self, state: InitialState) -> None:
        self._state = state
        # Those of the batch before have left their notes; this one's come behind them.
        self._finished = state.next_number
        split, position = self._read_log()
        chunks = self._read_chunks()
        if state.phase is Phase.LIVE and chunks:
            split, position = (state.wal, state.start) if split is None else state.joined(split, position)
            self._context.retire_splits(chunks, "it is read")
            self._context.assign_splits({WAL_PATH: (split, position)})
            self._context.call_async(self._ask.rest, lambda _: None, what="closing a connection")
        elif state.phase is Phase.DONE and split is not None and split.held:
            # The tables that had joined are not named any more: nothing is kept for them.
            split = replace(split, held=0)
            self._context.retire_splits(chunks, "it is not read")
            self._context.assign_splits({WAL_PATH: (split, position)})
        if split is not None:
            self._go_on(state, split, position)

    def _begin_join(self, state: InitialState) -> None:
        """Read on, and keep the changes of the tables that join, from here on, for later."""
        self._state = state
        assert self._log is not None, "tables join a log that is read"
        assert self._log.split is not None, "it was looked at"
        held = replace(self._log.split, held=state.start)
        self._context.assign_splits({WAL_PATH: (held, self._read_log()[1])})

    def _take_and_cut(self, state: InitialState, request: SplitRequest) -> None:
        self._take(state)
        self._cut(state, request)

    def _cut(self, state: InitialState, request: SplitRequest) -> None:
        """Ask for the bounds of the batch's chunks, and assign these."""
        count = self._chunks.per_batch
        if request.max_bytes is not None:
            count = max(1, min(count, request.max_bytes // (self._chunks.rows * state.row_bytes)))
        self._context.call_async(
            self._ask.asking(partial(self._ask.bounds, state, count)),
            partial(self._assign, state),
            what="cutting the tables",
        )

    def _assign(self, state: InitialState, bounds: list[Bound | None]) -> None:
        self._context.retire_splits(self._read_chunks(), "it is read")
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
        self._started_log(state).refresh(Checkpoint({WAL_PATH: split}, {WAL_PATH: position}, None))

    def _started_log(self, state: InitialState) -> WalEnumerator:
        if self._log is None:
            self._log = self._make_log(bool(state.query))
            self._log.start()
        return self._log

    def _read_log(self) -> tuple[WalSplit | None, int]:
        """Return the log as it is logged, and its position; None where it is not read yet."""
        if self._checkpoint is None or WAL_PATH not in self._checkpoint.splits:
            return None, 0
        split = self._checkpoint.splits[WAL_PATH]
        assert isinstance(split, WalSplit), "the log is the only split of this path"
        return split, self._checkpoint.positions[WAL_PATH]

    def _read_chunks(self) -> list[SplitPath]:
        splits = {} if self._checkpoint is None else self._checkpoint.splits
        return [path for path in splits if path != WAL_PATH]
