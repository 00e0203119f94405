"""The driver half of a source: which splits exist (FLIP-27 ``SplitEnumerator``).

The parts of both modes come first, then the enumerators of planned mode and of barrier mode.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from headwater.core.jsons import JsonValue
from headwater.core.metrics import MetricValues
from headwater.core.split import PositionT, SplitPath, SplitT

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class KeptSplit(Generic[SplitT, PositionT]):
    """A split that is out of sight, with the position at which it goes on when it is back.

    Attributes:
        split: as it was when it was last seen.
        position: the next record to read.
        since_ms: when the batch was planned that set it aside: the driver's wall-clock time in ms since 1970.
    """

    split: SplitT
    position: PositionT
    since_ms: int


@dataclass(frozen=True, slots=True)
class Checkpoint(Generic[SplitT, PositionT]):
    """A completed checkpoint, as an enumerator sees it (`headwater.core.epoch` defines the word).

    Attributes:
        splits: every live split, by path.
        positions: of every live split, the next record to read.
        state: the result of the enumerator's ``snapshot_state`` when this checkpoint was planned.
        kept: the splits that are out of sight, by path; none of them is live. Always empty in barrier mode.
        ended: those of the live splits that ended at a record (`PlannedSource.end_condition`): nothing of
            them is read any more, whatever their heads are, so nothing of them can be lost. To assign the
            same split again or to set it aside changes nothing; another one of its path begins anew. Always
            empty in barrier mode, where such splits leave.
    """

    splits: Mapping[SplitPath, SplitT]
    positions: Mapping[SplitPath, PositionT]
    state: JsonValue
    kept: Mapping[SplitPath, KeptSplit[SplitT, PositionT]] = field(default_factory=dict)
    ended: AbstractSet[SplitPath] = frozenset()


class SplitEnumeratorContext(ABC, Generic[SplitT, PositionT]):
    """The coordinator as an enumerator sees it (FLIP-27 ``SplitEnumeratorContext``).

    Called on the coordinator thread only.
    """

    @abstractmethod
    def call_async(self, call: Callable[[], T], handler: Callable[[T], None], *, what: str) -> None:
        """Run a slow call on a worker thread, then its handler on the coordinator thread.

        A `TransientSourceError` of ``call`` is retried with back-off until the source's deadline; any other
        error, and any error of the handler, fails the query. A call started during `SplitEnumerator.refresh`
        is handled before the batch is planned. Calls of one enumerator run one after the other, in the order
        in which they were started.

        Args:
            call: asks the outside. May block. Must not touch the enumerator's state: it runs beside it.
            handler: takes the answer into the enumerator's state. Must not block.
            what: names the question in logs and errors, for example ``offsets of 12 partitions``.
        """

    @abstractmethod
    def assign_splits(self, starts: Mapping[SplitPath, tuple[SplitT, PositionT]]) -> None:
        """Hand splits to the coordinator, each with its first position (FLIP-27 ``assignSplits``).

        For a split that the checkpoint does not hold yet, or one that replaces a split of the same path (a
        topic deleted and created anew). From the next logged offset on the checkpoint owns the position.
        Until then the assignment is only in memory, and is asked for again after a crash.
        """

    @abstractmethod
    def retire_splits(self, paths: Sequence[SplitPath], reason: str) -> None:
        """Drop splits from the next offset on, for good: unsubscribed, deleted or finished.

        Their positions are forgotten, kept ones (`Checkpoint.kept`) included. A planned batch that holds them
        still reads them. For a split that is only not seen now, planned mode has
        `PlannedSplitEnumeratorContext.keep_splits`.
        """


class SplitEnumerator(ABC, Generic[SplitT, PositionT]):
    """Discovers splits. One per query, on the driver, in Spark's source runner process.

    The base of both modes. An enumerator is either a
    `headwater.core.enumerator.PlannedSplitEnumerator`, which also knows where its splits end, or a
    `headwater.core.enumerator.BarrierSplitEnumerator`, which also takes events of its readers.

    Life: made by the source's ``create_enumerator`` or ``restore_enumerator`` -> `start` once -> any number
    of rounds, each with one `refresh` and at most one `snapshot_state` -> `close` once, if the process is
    given the time. Every method runs on the ONE coordinator thread, never two at once; none may block: slow
    calls go through `SplitEnumeratorContext.call_async`. An error from any method fails the query.
    """

    @abstractmethod
    def start(self) -> None:
        """Called once, before anything else. Opens nothing: the first slow call does."""

    @abstractmethod
    def refresh(self, checkpoint: Checkpoint[SplitT, PositionT] | None) -> None:
        """Look at the outside: called before every batch is planned, and at every idle trigger.

        Compares the splits that exist with those of the checkpoint, through
        `SplitEnumeratorContext.call_async`; the handlers assign new and returned splits, retire deleted ones,
        set aside unavailable ones, and renew the heads. Finding nothing to assign is an ordinary answer;
        finding none of the splits of the checkpoint means "no change".

        Args:
            checkpoint: the last committed state; None before the first offset is logged. Positions like
                "latest" are resolved only while it is None, so once in the life of a checkpoint.
        """

    def snapshot_state(self) -> JsonValue:
        """Return the enumerator's own state as small JSON, to be logged with the batch that is being planned.

        Must not grow with history.
        """
        return None

    def add_splits_back(self, splits: Sequence[SplitT]) -> None:
        """Take back splits of a plan that never came to be logged (FLIP-27 ``addSplitsBack``).

        They must be assigned again by a later `refresh` for as long as the checkpoint does not hold them. The
        default does nothing, which is right for an enumerator that compares with the checkpoint in every
        `refresh` and keeps no list of assigned splits.
        """

    def notify_checkpoint_complete(self, checkpoint: Checkpoint[SplitT, PositionT]) -> None:
        """Everything up to this checkpoint is durably written by the sink.

        Called at least once a checkpoint, in order, except that the last one before a stop may come only with
        the next start, or never; later checkpoints subsume earlier ones. Must be idempotent.
        """

    def close(self) -> None:
        """Close all connections.

        Spark kills the process on an ordinary stop: nothing may depend on this call.
        """


@dataclass(frozen=True, slots=True)
class SplitRequest:
    """The batch that is being planned asks for splits (FLIP-27 ``SourceReaderContext.sendSplitRequest``).

    Here a batch is the reader.

    Attributes:
        limited: whether the limits of one batch count (they do not under ``Trigger.Once`` and in a batch
            read).
        ends: the query ends after the present splits (AvailableNow, Once, a batch read): these are to
            be found completely, however long that takes, and later ones are not assigned any more
            in the life of this enumerator.
        max_rows: the most records of the batch; None for any number, also where limits do not count.
        max_bytes: the most bytes of it, as far as they can be estimated; None in the same way.
        max_rows_of: the most records of splits whose paths begin with a name, such as a topic; for none where
            limits do not count.
        next_part: the same for a batch that begins the next part of a chain, where limits follow how long
            batches take: of another part's rows nothing is known yet. None where all parts have these limits.
    """

    limited: bool
    ends: bool
    max_rows: int | None = None
    max_bytes: int | None = None
    max_rows_of: Mapping[str, int] = field(default_factory=dict)
    next_part: SplitRequest | None = None


@dataclass(frozen=True, slots=True)
class UnassignedSplits:
    """The splits that an enumerator has found and not assigned yet, for metrics (FLIP-33).

    Attributes:
        count: how many.
        size_bytes: of these.
        goes_on: whether more is known to follow that is not found yet, as in all parts of a chain but the
            last one (FLIP-309 ``setIsProcessingBacklog``).
    """

    count: int = 0
    size_bytes: int = 0
    goes_on: bool = False


class PlannedSplitEnumeratorContext(SplitEnumeratorContext[SplitT, PositionT]):
    """The coordinator of planned mode as an enumerator sees it. Called on the coordinator thread only.

    Barrier mode has neither call: its positions lie in manifests, and its splits come from reading.
    """

    @abstractmethod
    def keep_splits(self, paths: Sequence[SplitPath], reason: str) -> None:
        """Set splits aside that are out of sight: not read from the next offset on, and not forgotten.

        For splits of the checkpoint that the outside does not show, where that may pass: a permission that is
        gone for a minute, half a cluster. The next planned batch logs them in `Checkpoint.kept`, with their
        positions; no batch is made for it alone, since until then the checkpoint holds them as live ones. A
        split that is back is assigned at its kept position. A path that the checkpoint does not hold as a
        live split is passed over.

        A kept position is forgotten after 30 days, and so are the oldest beyond 10,000, with a warning; or
        that is an error, as the source says (`PlannedSource.forgets_kept_splits`).
        """

    @abstractmethod
    def positions(self) -> Mapping[SplitPath, PositionT]:
        """Return the next record to read of every live split, as this round has them.

        In `PlannedSplitEnumerator.handle_split_request`, when `SplitEnumerator.refresh` has assigned,
        set aside and retired splits.
        """

    @abstractmethod
    def report_losses(self, losses: Mapping[SplitPath, tuple[PositionT, PositionT]]) -> None:
        """Count records that are gone: by path, the first one, and the first one after them.

        Each call counts more. Two equal positions say that records are gone, and not how many.

        Called in the round in which the split is assigned past them, or leaves: then the next offset logs
        both, in a batch without rows if need be, and no later round finds the same loss again. Whether a loss
        is an error is the enumerator's to decide before; only ranges that are skipped are reported.
        """

    @abstractmethod
    def report_lost_splits(self, split_ids: Sequence[str]) -> None:
        """Count whole splits that were found and will never be read, by the ids that people know.

        Each call counts more. The next offset logs them, in a batch without rows if need be.
        """


class PlannedSplitEnumerator(SplitEnumerator[SplitT, PositionT]):
    """Discovers splits, and knows their heads.

    A round of planned mode is `refresh`, `handle_split_request`, `heads`, `bounds`, `fronts_ms`,
    `snapshot_state`, `unassigned`, `gauges`, each once. Before the first round after a batch with notes comes
    `handle_task_notes`.
    """

    def handle_task_notes(self, notes: Mapping[SplitPath, JsonValue]) -> None:
        """Take what the tasks of a committed batch have left (`PlannedSource.leaves_note`).

        The planned twin of `BarrierSplitEnumerator.handle_source_event`. Called once for each such batch of a
        committed offset, before `notify_checkpoint_complete` and `refresh`; for a restored enumerator again,
        as long as no later offset holds its state. So whatever the notes change is in `snapshot_state`: from
        the next offset on they are not told again. May use `SplitEnumeratorContext.call_async`; never blocks.

        Args:
            notes: by the path of the split, for every such split of the batch. None where the sink never read
                the split: then it has no row of it, and never will.
        """

    @abstractmethod
    def heads(self) -> Mapping[SplitPath, PositionT]:
        """Return, as of the last `refresh`, where each split ends now: the position of its next record.

        Nothing may ever appear below a head once it was returned: records below count as read. Of a bounded
        source: where it ends for good. A split without a head is not read in this batch.
        """

    def bounds(self) -> Mapping[SplitPath, PositionT] | None:
        """Return where the batch that is being planned ends, if the enumerator decides that; else None.

        For sources that end a batch at one event time in all splits. Apart from `heads`, which say how far
        the data goes: with them an AvailableNow run ends where it should, and lag is reported. A bound lies
        between the split's position and its head; a split without one is read to its head. Together the
        bounds keep the limits of the `SplitRequest`, which the coordinator does not apply once more. The
        default decides nothing: limits are shared among splits by their backlog.
        """
        return None

    def fronts_ms(self) -> Mapping[SplitPath, int]:
        """Return up to which event time splits are read by the batch that is being planned, for reports.

        In ms since 1970, for the splits of which the enumerator knows it: all records of the split before
        that time are read by then. Progress reports show it beside the heads; nothing depends on it. The
        default knows none.
        """
        return {}

    def unassigned(self) -> UnassignedSplits:
        """Return what is found and not assigned after `handle_split_request`, for metrics.

        Nothing depends on it. The default is for enumerators that assign whatever they find.
        """
        return UnassignedSplits()

    def gauges(self) -> MetricValues:
        """Return what else is known of the outside in this round, by the names of `headwater.core.metrics`.

        ``retainedBytes``; ``lagTime``, the age of the oldest record that the batches before did not read (it
        is reported as 0 if the planned batch leaves nothing); and for sources that read bounded splits beside
        or before unbounded ones ``numSnapshotSplitsFinished``, ``numSnapshotSplitsRemaining`` and
        ``numSnapshotRows``, which the board shows as a bar. Nothing depends on it. The default knows none.
        """
        return {}

    def handle_split_request(self, request: SplitRequest) -> None:
        """Assign splits to the batch that is being planned (FLIP-27 ``handleSplitRequest``).

        Called once for every batch, after `refresh`.

        For sources whose splits are many and each read once and whole (`PlannedSource.bounded_splits`):
        assign as many as a batch may have, and retire those that the checkpoint holds at their end. May use
        `SplitEnumeratorContext.call_async`; an assignment in a handler still counts for this batch. The
        default does nothing: splits found by `refresh` are assigned already.
        """

    def notify_end_of_input(self) -> None:
        """An AvailableNow run has read all that it set out to read, and all of it is committed.

        Called at the end of a look that found nothing more to do, after `notify_checkpoint_complete`: usually
        the last call before the process ends. In a query with several sources it may come several times.
        Calls started with `SplitEnumeratorContext.call_async` are waited for, so writes on their way to the
        outside come to their end. The default does nothing.
        """


class BarrierSplitEnumeratorContext(SplitEnumeratorContext[SplitT, PositionT]):
    """The coordinator of barrier mode as an enumerator sees it. Called on the coordinator thread only."""

    @abstractmethod
    def send_event_to_source_reader(self, path: SplitPath, event: JsonValue) -> None:
        """Send a small event to the task that reads this split next (FLIP-27 ``sendEventToSourceReader``).

        It travels inside the epoch that is planned after the current `SplitEnumerator.refresh`, so an epoch
        that is read again brings it again. If that epoch does not read the split, the event is dropped: send
        it again in a later refresh.
        """


class BarrierSplitEnumerator(SplitEnumerator[SplitT, PositionT]):
    """Discovers the splits that reading does not find, and takes events of the readers.

    A round of barrier mode is `refresh`, then `snapshot_state` if an epoch is opened.
    """

    def handle_source_event(self, event: JsonValue) -> None:
        """Take an event of a reader (FLIP-27 ``handleSourceEvent``).

        Called when the epoch in which it was sent is complete, before `notify_checkpoint_complete` and
        `refresh`: once, and again after a restart that restores the state from before. So its changes
        belongs into `snapshot_state`. The default ignores it, which is right where readers send none.
        """
