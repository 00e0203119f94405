"""The enumerator of a stream: how far the log of a database goes, and whether anything is in it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from headwater.core.clock import Clock, SystemClock
from headwater.core.enumerator import (
    Checkpoint,
    PlannedSplitEnumerator,
    PlannedSplitEnumeratorContext,
    SplitRequest,
    UnassignedSplits,
)
from headwater.core.metrics import LAG_TIME, RETAINED_BYTES, MetricValues
from headwater.core.redaction import logger_of
from headwater.core.retry import Backoff
from headwater.core.split import SplitPath
from headwater.enumerators.postgres.publication import PublishedTable
from headwater.enumerators.postgres.published_tables import PublishedTables
from headwater.enumerators.postgres.settings import PostgresSettings
from headwater.enumerators.postgres.slot import (
    ServerView,
)
from headwater.enumerators.postgres.slot_questions import Peek, SlotQuestions
from headwater.enumerators.postgres.split import WAL_PATH, Commit, WalSplit
from headwater.enumerators.postgres.staged_log import LogEnd, StagedLog, check_transport
from headwater.enumerators.postgres.stream_settings import StreamSettings
from headwater.enumerators.postgres.table import TableDescription

log = logger_of(__name__)

EMPTY_BYTES: Final = 16 << 20
"""WAL without a change of the table that is worth a batch without rows: the server can remove it then."""
_TRUST_MS: Final = 1_000
"""The time after a found change in which batches are planned without another look."""
_TRUST_TIMES: Final = 10
"""The same time, as a multiple of the time that the look took: the longer one counts."""


class WalEnumerator(PlannedSplitEnumerator[WalSplit, int]):
    """Knows one split, the log as a slot gives it, whose head is the end of its durable part.

    * A query without a checkpoint makes the slot, and the publication where the user allows it.
    * Before each batch the slot must have everything from the position on; else the query fails. A server
      that took over is taken for the same one if it has all that was read (`timeline.followed`).
    * WAL is written by other databases and tables too. So where the head has moved, the slot is asked for
      the first transaction; without one the head stays, and no batch is made, until `EMPTY_BYTES` of WAL have
      come together. In the first moments after a change nobody is asked: the next one is likely.
    * That question confirms the position to the server, as each reading task does. Both come when everything
      before it is committed. So the slot of a query without changes follows too.
    * A table that the query has not named before joins it once all transactions are over that ran when it was
      noticed (`PublishedTables.checked`).
    * With a log in the state location the slot is asked nothing: the head is the end of that log. A
      query that read the slot itself begins a log where it is.

    Args:
        context: the coordinator's.
        settings: of the server.
        stream: the changes that are read.
        tables: their names, as the user writes them.
        log: the log of the slot in the state location; None to read the slot itself.
        reads_rows: whether somebody else reads the rows of tables that join (`WalSplit.joining`); else they
            begin with the transactions that are committed from then on.
        check: raises if rows of the table do not fit the query's schema. On the worker thread.
        backoff: how long to wait for a slot that is in use.
        clock: time.
    """

    def __init__(
        self,
        context: PlannedSplitEnumeratorContext[WalSplit, int],
        settings: PostgresSettings,
        stream: StreamSettings,
        tables: Sequence[str],
        log: StagedLog | None = None,
        *,
        reads_rows: bool = False,
        check: Callable[[TableDescription, PublishedTable], object],
        backoff: Backoff,
        clock: Clock | None = None,
    ) -> None:
        self._context = context
        self._stream = stream
        self._log = log
        self._clock = clock or SystemClock()
        published = PublishedTables(tables, stream, check, self._clock)
        self._slot = SlotQuestions(
            settings, stream, published, log, reads_rows=reads_rows, backoff=backoff, clock=self._clock
        )
        self._split: WalSplit | None = None
        self._position = 0
        self._view: ServerView | None = None
        self._peek: Peek | None = None
        self._head = 0
        self._trusted_until_ms = 0
        self._next_look_ms = 0
        self._bound: int | None = None
        # Of this round: the first commit that no batch before has read, and how much of the server's log is
        # not in the durable one, if anything is on its way.
        self._oldest: Commit | None = None
        self._coming_bytes = 0

    def start(self) -> None:
        """Nothing to do: the first look opens the connection."""

    def refresh(self, checkpoint: Checkpoint[WalSplit, int] | None) -> None:
        if checkpoint is not None and WAL_PATH in checkpoint.splits:
            split = checkpoint.splits[WAL_PATH]
            if split.slot != self._stream.slot:
                raise StreamSettings.refusal(
                    "slot",
                    f"is {self._stream.slot!r}, and the checkpoint has read slot {split.slot!r}: another one "
                    "has kept other changes. Go back to that one, or start with a new checkpointLocation",
                )
            check_transport(split, self._log)
            position = checkpoint.positions[WAL_PATH]
            self._context.call_async(
                lambda: self._slot.look(split, position),
                lambda seen: self._take_again(split, position, seen),
                what=f"slot {self._stream.slot!r}",
            )
            return
        self._context.call_async(self._slot.begin, self._take_first, what=f"slot {self._stream.slot!r}")

    def handle_split_request(self, request: SplitRequest) -> None:
        """Find out how far the batch goes, and whether there is anything to read at all."""
        view = self._view
        if self._split is None or view is None:
            return
        position = self._position
        self._oldest = None
        if self._log is not None:
            self._plan_of_log(self._log, request)
            return
        peek = self._peek
        if peek is not None and peek.first is not None and peek.first.lsn < position:
            peek = self._peek = None  # it was read
        self._bound = None if request.max_bytes is None else position + request.max_bytes
        if peek is not None and peek.first is not None:
            self._go_to(peek)
            return
        self._stay(peek)
        since = position if peek is None else max(peek.until, position)
        confirmed = view.slot.confirmed if view.slot is not None else None
        is_behind = confirmed is not None and confirmed < self._split.confirmed(position)
        now_ms = self._clock.monotonic_ms()
        if view.flush_lsn <= since and not is_behind:
            return
        if now_ms < self._trusted_until_ms and self._bound is None and not request.ends:
            self._head = max(position, view.flush_lsn)
        elif now_ms >= self._next_look_ms or request.ends:
            self._ask(since, view.flush_lsn)

    @property
    def split(self) -> WalSplit | None:
        """The log, as the last look left it; None before the first one."""
        return self._split

    def heads(self) -> Mapping[SplitPath, int]:
        return {} if self._split is None else {WAL_PATH: self._head}

    def bounds(self) -> Mapping[SplitPath, int] | None:
        return None if self._bound is None else {WAL_PATH: self._bound}

    def unassigned(self) -> UnassignedSplits:
        return UnassignedSplits(size_bytes=self._coming_bytes)

    def gauges(self) -> MetricValues:
        """Return how old the first change is, by the server's clock, and how much log the server keeps."""
        view = self._view
        if view is None:
            return {}
        age_ms = 0 if self._oldest is None else max(0, view.now_ms - self._oldest.time_ms)
        retained_bytes = view.kept_bytes
        return {LAG_TIME: age_ms, **({} if retained_bytes is None else {RETAINED_BYTES: retained_bytes})}

    def notify_checkpoint_complete(self, checkpoint: Checkpoint[WalSplit, int]) -> None:
        """Let the slot be confirmed once an offset names the log, and delete segments that are read."""
        staged = self._log
        split = checkpoint.splits.get(WAL_PATH)
        if staged is not None and split is not None and split.log:
            staged.confirm()
            position = split.confirmed(checkpoint.positions[WAL_PATH])
            self._context.call_async(
                lambda: staged.release(position), lambda _: None, what="deleting segments that are read"
            )

    def close(self) -> None:
        self._slot.close()
        if self._log is not None:
            self._log.close()

    def _take_first(self, first: tuple[WalSplit, int, ServerView]) -> None:
        split, position, view = first
        self._context.assign_splits({WAL_PATH: (split, position)})
        self._take(split, position, view)

    def _take_again(self, logged: WalSplit, position: int, seen: tuple[WalSplit, ServerView]) -> None:
        split, view = seen
        if split != logged:
            self._context.assign_splits({WAL_PATH: (split, position)})
            # The last peek is of a log that may not go on.
            self._peek = None
            self._trusted_until_ms = 0
        self._take(split, position, view)

    def _take(self, split: WalSplit, position: int, view: ServerView) -> None:
        if position < self._position:
            # A table has joined, whose changes are read from there on.
            self._peek = None
            self._trusted_until_ms = 0
        self._split = split
        self._position = position
        self._view = view

    def _plan_of_log(self, staged: StagedLog, request: SplitRequest) -> None:
        """Let the batch go to the end of the log, if there is a transaction in it, or much without one."""
        position = self._position
        self._bound = None
        if not request.ends and request.max_bytes is None:
            self._take_log(position, staged.end(), None)
            return
        view = self._view
        assert view is not None, "it was looked at"
        self._bound = None if request.max_bytes is None else position + request.max_bytes

        def asked() -> tuple[LogEnd, Commit | None]:
            if request.ends:
                self._slot.let_log_be_whole(view)
            end = staged.reach(view.flush_lsn) if request.ends else staged.end()
            return end, None if request.max_bytes is None else staged.first(position)

        self._context.call_async(
            asked, lambda answer: self._take_log(position, *answer), what="the end of what the slot gave"
        )

    def _take_log(self, position: int, end: LogEnd, first: Commit | None) -> None:
        assert self._view is not None, "it was looked at"
        self._oldest = first or end.coming
        self._coming_bytes = 0 if end.coming is None else max(0, self._view.flush_lsn - end.until)
        self._head = position
        if end.last >= position or end.until - position >= EMPTY_BYTES:
            self._head = max(position, end.until)
        if self._bound is not None and first is not None:
            self._bound = max(self._bound, first.lsn + 1)

    def _ask(self, since: int, until: int) -> None:
        split = self._split
        position = self._position
        assert split is not None, "there is something to ask about"
        self._context.call_async(
            lambda: self._slot.peek(split, position, since, until),
            self._take_peek,
            what=f"the first change that slot {split.slot!r} has",
        )

    def _take_peek(self, peek: Peek) -> None:
        if peek.seen is not None:
            assert self._split is not None, "it was asked about"
            self._take_again(self._split, self._position, peek.seen)
        self._peek = peek
        now_ms = self._clock.monotonic_ms()
        if peek.first is None:
            # The question costs the server something: it is to be busy with other things most of the time.
            self._next_look_ms = now_ms + _TRUST_TIMES * peek.took_ms
            self._stay(peek)
            return
        self._trusted_until_ms = now_ms + max(_TRUST_MS, _TRUST_TIMES * peek.took_ms)
        self._go_to(peek)

    def _go_to(self, peek: Peek) -> None:
        """Let the batch go as far as the log goes, and at least behind the first transaction."""
        assert peek.first is not None, "the caller knows it"
        assert self._view is not None, "it was looked at"
        self._oldest = peek.first
        self._head = max(self._view.flush_lsn, peek.first.lsn + 1)
        if self._bound is not None:
            self._bound = max(self._bound, peek.first.lsn + 1)

    def _stay(self, peek: Peek | None) -> None:
        """Make no batch; or one without rows over much WAL that has none: else the server keeps it."""
        self._head = self._position
        if peek is not None and peek.until - self._position >= EMPTY_BYTES:
            self._head = peek.until
            self._bound = None
