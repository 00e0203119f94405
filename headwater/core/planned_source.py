"""Sources whose splits have a known end: partitions with offsets, files, tables with keys."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Self, TypeAlias

from headwater.core.enumerator import Checkpoint, PlannedSplitEnumerator, PlannedSplitEnumeratorContext
from headwater.core.errors import OffsetError, OptionError
from headwater.core.jsons import JsonValue, dumps
from headwater.core.reader import RecordT
from headwater.core.source import Source
from headwater.core.split import PositionT, SplitPath, SplitRange, SplitT
from headwater.core.state_store import StateStore

EndPositions: TypeAlias = Mapping[str, Mapping[str, int]]
"""By topic, then by partition, the first offset that was not read. The topic is "" where it is unknown."""


@dataclass(frozen=True, slots=True)
class PartEnd:
    """The end of a part, for the next part of a chain (FLIP-150 ``SourceSwitchContext``).

    Attributes:
        option: the user's option that says where that is, for errors.
        time_ms: rows of that time or later, in ms since 1970, may be in the next part; None if no time says
            it.
        positions: where the next part begins; None if positions do not say it.
    """

    option: str
    time_ms: int | None = None
    positions: EndPositions | None = None


DEFAULT_ROW_BYTES = 1_000
"""The assumed size of a record when the source cannot tell."""


class PlannedSource(Source[RecordT, SplitT, PositionT]):
    """A source in planned mode: where a batch ends is decided before it is read.

    The enumerator tells the head of each split (`PlannedSplitEnumerator.heads`). The driver moves each
    position towards its head, as far as the limits of a batch allow, and logs the positions; the tasks then
    read the ranges between two logged positions. So a source of this mode can count: how many records lie
    between two positions, and which position follows after a number of records.
    """

    bounded_splits: ClassVar[bool] = False
    """Whether a split is read once, whole, in the batch that it is assigned to (files).

    The enumerator then keeps the limits of a batch and the target of an AvailableNow run itself, in
    `PlannedSplitEnumerator.handle_split_request`.
    """

    def is_bounded(self, split: SplitT) -> bool:
        """Whether this split is read once, whole, in the batch that it is assigned to.

        A pure function. The default says of each split what `bounded_splits` says of all; a chain of sources
        has splits of both kinds.
        """
        return self.bounded_splits

    @property
    def note_store(self) -> StateStore | None:
        """Where the tasks of a stream leave notes, at the user's ``stateLocation``; None: they leave none.

        A source that once had one keeps it: its offsets name a folder there. None is the default.
        """
        return None

    def leaves_note(self, split: SplitT) -> bool:
        """Whether the first reading of this split counts, with the note of it (`headwater.core.task_notes`).

        For splits that a second reading would find otherwise. Such a split is bounded (`is_bounded`), and
        `cut` leaves it whole. Its reader gives a note when it is finished (`RecordsWithSplitIds.notes`);
        the enumerator gets that in `PlannedSplitEnumerator.handle_task_notes`. In a batch read nobody asks
        for notes, and the rows come as they are read.

        A pure function, the same in every process. The default says no; never asked without a `note_store`.
        """
        return False

    def counts_bytes(self, split: SplitT) -> bool:
        """Whether positions of this split count bytes: `rows_between` then counts these, and not records.

        A pure function; False by default. Files are such. Where the user limits rows, `DEFAULT_ROW_BYTES` of
        them count as a row.
        """
        return False

    def part_of(self, split: SplitT) -> int:
        """Return which part of a chain of sources a split is of, counted from 0.

        A pure function; 0 by default, for a source that is no chain. A run with AvailableNow ends with the
        splits that are there when it first sees a part; the parts that come later it sees later.
        """
        return 0

    def group_of(self, path: SplitPath) -> str:
        """Return the group of a split, by which limits and weights go: the topic of a partition.

        A pure function. The default is the first name of its path.
        """
        return path[0]

    def fixed_at_first_look(self) -> Self:
        """Return the source that reads the splits of its first complete discovery, and no later ones.

        For a part of a chain that is not the last one. The splits are in the enumerator's state, so that
        a restart reads no more and no less. Its enumerator is asked for splits with `SplitRequest.ends`. The
        default returns the same source: ends of splits that have positions are fixed by the chain. No I/O.
        """
        return self

    def end_positions(self, splits: Sequence[SplitT]) -> EndPositions:
        """Return where the next part of a chain begins, as far as these splits tell it.

        For a part of a chain that is not the last one, whose splits are read whole, if the user wants the
        last one to begin by position. Called on the worker thread, may block; for each split once it is
        assigned.

        Raises:
            SourceError: a split does not tell it.
        """
        raise OptionError(f"the source {self.name!r} does not tell positions", option="seamOffsets")

    def begin_after(self, end: PartEnd) -> Self:
        """Return the source that begins where the part before it in a chain ends.

        Called on the driver when the part before is read, and again after a restart; no I/O. The default
        returns the same source: it begins where its own options say.

        Raises:
            OptionError: it cannot begin there.
        """
        return self

    @property
    def forgets_kept_splits(self) -> bool:
        """Whether positions that cannot be kept any longer are forgotten with a warning; else it is an error.

        Those are the positions of splits that are out of sight for 30 days, and the oldest beyond 10,000
        (`PlannedSplitEnumeratorContext.keep_splits`). A split that comes back after its position was
        forgotten begins anew. The default forgets.
        """
        return True

    @abstractmethod
    def create_enumerator(
        self, context: PlannedSplitEnumeratorContext[SplitT, PositionT]
    ) -> PlannedSplitEnumerator[SplitT, PositionT]:
        """Make the enumerator of a query that has logged nothing yet, or of a batch read.

        On the driver; no I/O.
        """

    @abstractmethod
    def restore_enumerator(
        self,
        context: PlannedSplitEnumeratorContext[SplitT, PositionT],
        checkpoint: Checkpoint[SplitT, PositionT],
    ) -> PlannedSplitEnumerator[SplitT, PositionT]:
        """Make the enumerator of a query that goes on from a checkpoint. On the driver; no I/O."""

    @abstractmethod
    def rows_between(self, start: PositionT, stop: PositionT) -> int:
        """Return how many records lie between two positions of one split, at the most.

        0 if stop is not after start.
        """

    @abstractmethod
    def position_after(self, start: PositionT, rows: int, stop: PositionT) -> PositionT:
        """Return the position ``rows`` records after ``start``, or ``stop`` if that comes first.

        Never before ``start``.
        """

    def adopt_offset(self, logged: JsonValue) -> Mapping[SplitT, PositionT] | None:
        """Return the positions in an offset that another source for the same system logged.

        None if it is no such offset. So a query takes over the checkpoint of that source as it is: this
        offset stands in Spark's log where one of headwater's is expected. The next offset is headwater's,
        with the definitions of the splits as far as the enumerator knows them by then
        (`SplitEnumeratorContext.assign_splits`). A pure function. The default knows no other source.

        Args:
            logged: any JSON value.
        """
        return None

    def adopted_starts(
        self, before: Mapping[SplitPath, PositionT], after: Mapping[SplitPath, PositionT]
    ) -> Mapping[SplitPath, PositionT]:
        """Return where a batch begins that another source logged and did not commit.

        For each split of its end. Called to read such a batch again, exactly as it was logged, if
        `adopt_offset` knew its end. A pure function, no I/O.

        Args:
            before: the positions in the offset before it, of this source or another.
            after: the positions in its own offset.

        Raises:
            DataLossError: the batch cannot be read again as a whole, and that is to be an error.
        """
        return before

    def row_bytes(self, split: SplitT, state: JsonValue) -> int:
        """Return about how many bytes one record of a split has, for byte limits and for cutting tasks.

        A pure function, no I/O.

        Args:
            split: whose records.
            state: the state that the enumerator logged with the batch (`SplitEnumerator.snapshot_state`): the
                place to keep its measurements.
        """
        return DEFAULT_ROW_BYTES

    @property
    def end_condition(self) -> JsonValue:
        """What makes a record the end of its split (FLIP-208), as small JSON; None, by default: nothing does.

        The record says it, so a task finds out: the emitters of `create_emitter` evaluate it, and set
        `SplitState.has_ended`. Neither that record nor one behind it is emitted. The answer must be a pure
        function of the records from the beginning of a range: the driver may ask again by reading it, and a
        replay must end at the same record. So a range of such a source is never `cut`.

        It is logged with each batch. Another condition is another end: splits that ended by the logged one
        go on then, right behind their last record.
        """
        return None

    def ending_at(self, condition: JsonValue) -> Self:
        """Return the source whose splits end by a condition that it has logged; None: they do not end.

        For batches that were planned with it. A pure function, no I/O.

        Raises:
            OffsetError: it is no condition of this source.
        """
        if condition != self.end_condition:
            raise OffsetError(
                f"the checkpoint's last batch ended splits of source {self.name!r} by {dumps(condition)}, "
                "which this version of the source does not know: go back to the one that wrote it"
            )
        return self

    def leave_open(
        self, piece: SplitRange[SplitT, PositionT], whole: SplitRange[SplitT, PositionT]
    ) -> SplitRange[SplitT, PositionT]:
        """Return a range of a batch read as its task gets it: open where the task is to find the end.

        Called when a batch read is planned, for each piece into which a range was cut, and for a range that
        has no records yet. In a stream every end is logged, so it is never called there. The default returns
        the piece as it is.

        A source that leaves ends open returns a range of its own kind, which its reader takes: it binds the
        range when it opens it, and says so with `RecordsWithSplitIds.bound`. Of a range that is returned as
        it is and has no records nothing is read.

        Args:
            piece: the range of a task.
            whole: from the first position of the split to its head.
        """
        return piece

    def cut(
        self, whole: SplitRange[SplitT, PositionT], pieces: int
    ) -> Sequence[SplitRange[SplitT, PositionT]]:
        """Cut one range for several tasks: into at most ``pieces`` ranges of about the same size.

        Together they are the whole. The same cut for the same arguments, always: a batch that is read again
        reads the same rows. A range that a record may end stays whole: a later piece does not see it.
        """
        if self.end_condition is not None:
            return [whole]
        rows = self.rows_between(whole.start, whole.stop)
        pieces = max(1, min(pieces, rows))
        starts = [self.position_after(whole.start, rows * i // pieces, whole.stop) for i in range(pieces)]
        borders = [*starts, whole.stop]
        return [SplitRange(whole.split, borders[i], borders[i + 1]) for i in range(pieces)]
