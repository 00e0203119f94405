"""What one attempt of a task produces: subpartitions over one buffer pool, from producing to releasing."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import ClassVar, Generic, TypeVar

from headwater.core.errors import ContractError
from headwater.readers.runtime.partitions.buffer_pool import BufferPool, PartitionBuffer
from headwater.readers.runtime.partitions.events import CheckpointBarrier, PartitionEvent
from headwater.readers.runtime.partitions.partition_id import ResultPartitionId, ResultPartitionType
from headwater.readers.runtime.partitions.pipelined import PipelinedSubpartition, PipelinedSubpartitionView
from headwater.readers.runtime.partitions.subpartition import (
    Element,
    Listener,
    ResultSubpartition,
    ResultSubpartitionView,
)

T = TypeVar("T")


class ResultPartition(ABC, Generic[T]):
    """Flink's ``ResultPartition``: produced, consumed, released. Each subpartition has one producing thread.

    Args:
        partition_id: its name.
        subpartitions: the channels; their number never changes.
        pool: counts what lies in them. Closed with the partition.
    """

    type: ClassVar[ResultPartitionType]

    def __init__(
        self,
        partition_id: ResultPartitionId,
        subpartitions: Sequence[ResultSubpartition[T]],
        pool: BufferPool,
    ) -> None:
        self.partition_id = partition_id
        self.pool = pool
        self._subpartitions = tuple(subpartitions)
        self._on_consumed: Callable[[ResultPartitionId], None] | None = None
        self._pending = len(self._subpartitions)
        self._is_finished = False
        self._is_released = False
        # Guards the count of references and the release, which consumers and the owner may reach together.
        self._lock = threading.Lock()

    @property
    def is_released(self) -> bool:
        """Whether all is given up."""
        return self._is_released

    def __len__(self) -> int:
        return len(self._subpartitions)

    @abstractmethod
    def add(self, index: int, payload: T, size_bytes: int) -> bool:
        """Put a buffer into a subpartition. After a release it is dropped silently, and the answer is False.

        Raises:
            ContractError: the partition is finished.
        """

    def add_event(self, index: int, event: PartitionEvent) -> bool:
        """Put an event into a subpartition. Never waits."""
        self._check_producing()
        return self._subpartitions[index].add(event)

    def finish(self) -> None:
        """All is produced. Idempotent."""
        for subpartition in self._subpartitions:
            subpartition.finish()
        self._is_finished = True

    def create_view(self, index: int, on_available: Listener) -> ResultSubpartitionView[T]:
        """Return a view of one subpartition; see `ResultSubpartition.create_view`."""
        return self._subpartitions[index].create_view(on_available)

    def release_when_consumed(self, release: Callable[[ResultPartitionId], None]) -> None:
        """Have ``release`` called when every subpartition was consumed: how a manager counts references."""
        self._on_consumed = release

    def on_consumed_subpartition(self, index: int) -> None:
        """A consumer is done with a subpartition. After a release this changes nothing.

        Raises:
            ContractError: more were consumed than there are.
        """
        with self._lock:
            if self._is_released:
                return
            self._pending -= 1
            pending = self._pending
        if pending < 0:
            raise ContractError(
                f"subpartition {index} of {self.partition_id} was consumed, but all references are given "
                "back already"
            )
        # Outside the lock: the manager's answer is `release`, which takes it.
        if pending == 0 and self._on_consumed is not None:
            self._on_consumed(self.partition_id)

    def release(self) -> None:
        """Give up everything, also while others still produce or read. Idempotent; any thread."""
        with self._lock:
            was_released = self._is_released
            self._is_released = True
        if not was_released:
            # The pool first: a producer that waits for room goes on, and finds its subpartition released.
            self.pool.close()
            for subpartition in self._subpartitions:
                subpartition.release()

    def _check_producing(self) -> None:
        if self._is_finished:
            raise ContractError(f"result partition {self.partition_id} is finished: nothing can be added")


class PipelinedResultPartition(ResultPartition[T]):
    """Bounded by its pool: producers wait for room. Each subpartition is read by one view.

    Args:
        partition_id: its name.
        subpartitions: how many channels.
        pool: what may lie in them.
    """

    type = ResultPartitionType.PIPELINED

    def __init__(self, partition_id: ResultPartitionId, subpartitions: int, pool: BufferPool) -> None:
        self._pipelined: tuple[PipelinedSubpartition[T], ...] = tuple(
            PipelinedSubpartition(index) for index in range(subpartitions)
        )
        super().__init__(partition_id, self._pipelined, pool)

    def add(
        self, index: int, payload: T, size_bytes: int, cancelled: Callable[[], bool] = lambda: False
    ) -> bool:
        """Put a buffer into a subpartition, waiting for room.

        Args:
            index: of the subpartition.
            payload: what to hand over.
            size_bytes: what it weighs.
            cancelled: ends the waiting; see `BufferPool.request`.

        Returns:
            False if it was not put there: cancelled, or released.

        Raises:
            ContractError: the partition is finished.
        """
        self._check_producing()
        if not self.pool.request(size_bytes, cancelled):
            return False
        return self._pipelined[index].add(PartitionBuffer(payload, size_bytes, self.pool))

    def overtake(self, index: int, barrier: CheckpointBarrier) -> tuple[Element[T], ...]:
        """Put a barrier before everything in a subpartition; see `PipelinedSubpartition.overtake`."""
        return self._pipelined[index].overtake(barrier)

    def create_view(self, index: int, on_available: Listener) -> PipelinedSubpartitionView[T]:
        return self._pipelined[index].create_view(on_available, lambda: self.on_consumed_subpartition(index))
