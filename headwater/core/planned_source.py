"""Sources whose splits have a known end: partitions with offsets, files, tables with keys."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from headwater.core.enumerator import Checkpoint, PlannedSplitEnumerator, SplitEnumeratorContext
from headwater.core.jsons import JsonValue
from headwater.core.reader import RecordT
from headwater.core.source import Source
from headwater.core.split import PositionT, SplitRange, SplitT

DEFAULT_ROW_BYTES = 1_000
"""What a record is taken to weigh when the source cannot tell."""


class PlannedSource(Source[RecordT, SplitT, PositionT]):
    """A source in planned mode: where a batch ends is decided before it is read.

    The enumerator tells the head of each split (`PlannedSplitEnumerator.heads`). The driver moves each
    position towards its head, as far as the limits of a batch allow, and logs the positions; the tasks then
    read the ranges between two logged positions. So a source of this mode can count: how many records lie
    between two positions, and which position comes after so many records.
    """

    bounded_splits: ClassVar[bool] = False
    """Whether a split is read once, whole, in the batch that it is assigned to (files).

    The enumerator then keeps the limits of a batch and the target of an AvailableNow run itself, in
    `PlannedSplitEnumerator.handle_split_request`.
    """

    @abstractmethod
    def create_enumerator(
        self, context: SplitEnumeratorContext[SplitT, PositionT]
    ) -> PlannedSplitEnumerator[SplitT, PositionT]:
        """Make the enumerator of a query that has logged nothing yet, or of a batch read.

        On the driver; no I/O.
        """

    @abstractmethod
    def restore_enumerator(
        self, context: SplitEnumeratorContext[SplitT, PositionT], checkpoint: Checkpoint[SplitT, PositionT]
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

    def row_bytes(self, split: SplitT, state: JsonValue) -> int:
        """Return about how many bytes one record of a split has, for byte limits and for cutting tasks.

        A pure function, no I/O.

        Args:
            split: whose records.
            state: what the enumerator logged with the batch (`SplitEnumerator.snapshot_state`): the place to
                keep what it measured.
        """
        return DEFAULT_ROW_BYTES

    def cut(
        self, whole: SplitRange[SplitT, PositionT], pieces: int
    ) -> Sequence[SplitRange[SplitT, PositionT]]:
        """Cut one range for several tasks: into at most ``pieces`` ranges of about the same size.

        Together they are the whole. The same cut for the same arguments, always: a batch that is read again
        reads the same rows.
        """
        rows = self.rows_between(whole.start, whole.stop)
        pieces = max(1, min(pieces, rows))
        starts = [self.position_after(whole.start, rows * i // pieces, whole.stop) for i in range(pieces)]
        borders = [*starts, whole.stop]
        return [SplitRange(whole.split, borders[i], borders[i + 1]) for i in range(pieces)]
