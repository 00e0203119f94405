"""The executor half of a source, second part: raw records to Arrow rows (FLIP-27 ``RecordEmitter``)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING, Generic

from headwater.core.reader import LossReporter, RecordT
from headwater.core.split import PositionT, SplitRange, SplitT

if TYPE_CHECKING:
    import pyarrow as pa


class SplitState(Generic[SplitT, PositionT]):
    """The mutable state of one split while a task reads it (FLIP-27 ``SplitStateT``).

    Owned by the task's loop, on one thread, made when the split is added and handed to the emitter with its
    records. The split reader never sees it.

    Attributes:
        split: the split that is read.
        position: the next record to emit. Only the emitter advances it.
        stop: the first record not to emit.
        has_ended: whether a record said that the split ends: no record behind it is emitted, ever. Only the
            emitter sets it, with the position right behind that record (`PlannedSource.end_condition`).
    """

    __slots__ = ("has_ended", "position", "split", "stop")

    def __init__(self, assigned: SplitRange[SplitT, PositionT]) -> None:
        self.split: SplitT = assigned.split
        self.position: PositionT = assigned.start
        self.stop: PositionT = assigned.stop
        self.has_ended = False


class RecordEmitter(ABC, Generic[RecordT, SplitT, PositionT]):
    """Turns raw records into Arrow rows and advances the split's position: no other code moves it.

    One per task, made by `Source.create_emitter`, used on the task's own thread.
    """

    def report_losses_to(self, report: LossReporter) -> None:
        """Take the function that is called for records that are gone (`SplitReader.report_losses_to`).

        Called once, before the first `emit`, in planned mode. For emitters that find out only while they
        decode; by default nothing happens.
        """

    @abstractmethod
    def emit(self, record: RecordT, state: SplitState[SplitT, PositionT]) -> Iterator[pa.RecordBatch]:
        """Yield the rows of one raw record, as batches of the source's schema.

        Advances ``state.position`` past each batch before the next. Yields no row before ``state.position``
        (a broker sends whole batches, also from their middle) and none at or after ``state.stop``. May yield
        nothing. A batch is valid until the next one is asked for: its buffers may be used again after that.

        Raises:
            CorruptRecordError: the bytes are damaged.
        """

    def flush(self) -> Iterator[pa.RecordBatch]:
        """Yield rows that were held back to make larger batches.

        Called when everything is read. Holding back nothing is the default.
        """
        return iter(())
