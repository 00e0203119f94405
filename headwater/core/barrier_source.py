"""Sources whose splits end where reading them finds the end: cursors, queues, tails, anything pushed."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Mapping
from typing import Self

from headwater.core.barrier_reader import BarrierSplitReader, EpochRecord, EpochRecordEmitter
from headwater.core.emitter import RecordEmitter
from headwater.core.enumerator import BarrierSplitEnumerator, BarrierSplitEnumeratorContext, Checkpoint
from headwater.core.source import Source
from headwater.core.split import PositionT, SplitPath, SplitT


class BarrierSource(Source[EpochRecord, SplitT, PositionT]):
    """A source in barrier mode: how much there is to read is found out by reading it.

    The driver opens an epoch and says where it is cut (`headwater.core.epoch.Barrier`). The tasks read, find
    out how far that brought them, and write it down in their manifests. Two things are different for the
    reader:

    * its answers are `EpochRecords`, which also say which splits are caught up and which were found;
    * a second reading from a position brings the same rows up to any position that the first one came to. A
      source that cannot promise that stages its rows (`headwater/readers/runtime/staging/`), and reads
      again from there.
    """

    @property
    def fetcher_threads(self) -> int:
        """How many splits a task reads at once, at least 1.

        Each is read by a thread of its own, with a split reader of its own, to its end in this epoch; then
        the thread takes the next one.
        """
        return 1

    @property
    def is_staged(self) -> bool:
        """Whether the outside delivers once, so that a second reading reads rows that the first one staged.

        Staged rows lie in the folder of the query (`for_query`). A staged source can be read again only
        where there is a state location: in a stream.
        """
        return False

    @property
    def delivery_columns(self) -> frozenset[str]:
        """The columns that tell of a delivery, not of the record: when or how it came.

        Another query may find other values in them.
        """
        return frozenset()

    @abstractmethod
    def create_enumerator(
        self, context: BarrierSplitEnumeratorContext[SplitT, PositionT]
    ) -> BarrierSplitEnumerator[SplitT, PositionT]:
        """Make the enumerator of a query that has logged nothing yet, or of a batch read.

        On the driver; no I/O.
        """

    @abstractmethod
    def restore_enumerator(
        self,
        context: BarrierSplitEnumeratorContext[SplitT, PositionT],
        checkpoint: Checkpoint[SplitT, PositionT],
    ) -> BarrierSplitEnumerator[SplitT, PositionT]:
        """Make the enumerator of a query that goes on from a checkpoint. On the driver; no I/O."""

    @abstractmethod
    def create_reader(self) -> BarrierSplitReader[SplitT, PositionT]:
        """Make a reader of one task. On an executor, once for each of its `fetcher_threads`; no I/O."""

    def create_emitter(self) -> RecordEmitter[EpochRecord, SplitT, PositionT]:
        """Make the emitter of one task.

        On an executor; no I/O. The default takes the rows as the split reader made them.
        """
        return EpochRecordEmitter()

    def is_before(self, position: PositionT, other: PositionT) -> bool:
        """Whether a position lies before another one of the same split, where that can be told.

        False is the answer for opaque cursors.

        Asked on the driver, of the positions after an epoch and before it: a source that goes backwards would
        read rows twice.
        """
        return False

    def for_query(self, folder: str) -> Self:
        """Return the source as the tasks of one query use it.

        Args:
            folder: of the query, in the state location. A staged source keeps its logs there.
        """
        return self

    def for_task(self, number: int, tasks: int) -> Self:
        """Return the source as one attempt at a task uses it. On an executor, before `create_reader`.

        For limits that the tasks of an epoch share, such as a rate. The default is the source itself.

        Args:
            number: of the task in its epoch, from 0.
            tasks: how many tasks the epoch has.
        """
        return self

    def release_before(self, folder: str, positions: Mapping[SplitPath, PositionT]) -> None:
        """Throw away rows staged before these positions: no epoch that is kept begins earlier.

        On the driver, after each epoch; idempotent.

        Args:
            folder: of the query.
            positions: of every split that was live when the oldest kept epoch began.
        """

    def forget_splits(self, folder: str, paths: Collection[SplitPath]) -> None:
        """Throw away all that is staged of splits that no kept epoch has any more.

        On the driver, after an epoch, for a source that `is_staged`; idempotent.

        Args:
            folder: of the query.
            paths: of the splits.
        """
