"""The output of one attempt of a task: subpartitions over one buffer pool, from producing to releasing.

And which of these partitions this process holds.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from headwater.core.errors import ContractError, PartitionNotFoundError
from headwater.readers.runtime.partitions.subpartition import (
    BufferPool,
    Listener,
    PartitionEvent,
    ResultSubpartition,
    ResultSubpartitionView,
)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ResultPartitionId:
    """Which partition, produced by which attempt.

    The attempt is part of the name, so a task that is tried again never reads the output of the dead attempt.

    Attributes:
        partition: the name of the output, for example ``epoch-12/task-3``.
        attempt: who produces it, unique among all attempts.
    """

    partition: str
    attempt: str

    def __str__(self) -> str:
        return f"{self.partition}@{self.attempt}"


class ResultPartition(ABC, Generic[T]):
    """Flink's ``ResultPartition``: produced, consumed, released. Each subpartition has one producing thread.

    Attributes:
        is_released: whether all is given up.

    Args:
        partition_id: its name.
        subpartitions: the channels; their number never changes.
        pool: counts their content. Closed with the partition.
    """

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
        self.is_released = False
        # Guards the count of references and the release, which consumers and the owner may reach together.
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._subpartitions)

    @abstractmethod
    def add(self, index: int, payload: T, size_bytes: int) -> bool:
        """Put a buffer into a subpartition; return whether it is there. Not after `finish`."""

    def add_event(self, index: int, event: PartitionEvent) -> None:
        """Put an event into a subpartition. Never waits."""
        self._subpartitions[index].add(event)

    def finish(self) -> None:
        """All is produced. Once."""
        for subpartition in self._subpartitions:
            subpartition.finish()

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
            if self.is_released:
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
            was_released = self.is_released
            self.is_released = True
        if not was_released:
            # The pool first: a producer that waits for room goes on, without any.
            self.pool.close()
            for subpartition in self._subpartitions:
                subpartition.release()


class ResultPartitionManager:
    """A table of the partitions that attempts in this process produce. Any thread may call any method.

    A pipelined partition leaves the table when it is consumed. Every partition leaves it with its attempt.
    """

    def __init__(self) -> None:
        self._partitions: dict[ResultPartitionId, ResultPartition[Any]] = {}
        # Guards the table only. Partitions are released outside of it: that deletes files.
        self._lock = threading.Lock()

    def register(self, partition: ResultPartition[Any]) -> None:
        """Make a partition known.

        Raises:
            ContractError: there is one of this name.
        """
        with self._lock:
            if partition.partition_id in self._partitions:
                raise ContractError(f"result partition {partition.partition_id} is registered already")
            self._partitions[partition.partition_id] = partition
        partition.release_when_consumed(self.release)

    def create_view(
        self, partition_id: ResultPartitionId, index: int, on_available: Listener
    ) -> ResultSubpartitionView[Any]:
        """Return a view of a subpartition.

        Raises:
            PartitionNotFoundError: not here: never registered, released, or of another attempt.
        """
        with self._lock:
            partition = self._partitions.get(partition_id)
        if partition is None:
            raise PartitionNotFoundError(
                f"result partition {partition_id} is not in this process: not produced yet, or released"
            )
        return partition.create_view(index, on_available)

    def release(self, partition_id: ResultPartitionId) -> None:
        """Release one partition. One that is not here changes nothing."""
        with self._lock:
            partition = self._partitions.pop(partition_id, None)
        if partition is not None:
            partition.release()

    def release_produced_by(self, attempt: str) -> None:
        """Release all that an attempt produced: it has ended, well or not."""
        with self._lock:
            produced = [partition_id for partition_id in self._partitions if partition_id.attempt == attempt]
        for partition_id in produced:
            self.release(partition_id)


PROCESS_PARTITIONS = ResultPartitionManager()
"""The table of this Python worker."""
