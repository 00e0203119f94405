"""Which partitions this process holds (Flink's ``ResultPartitionManager``)."""

from __future__ import annotations

import threading
from typing import Any

from headwater.core.errors import ContractError, PartitionNotFoundError
from headwater.readers.runtime.partitions.partition_id import (
    ResultPartitionId,
    ResultPartitionLocation,
    ResultPartitionType,
)
from headwater.readers.runtime.partitions.result_partition import ResultPartition
from headwater.readers.runtime.partitions.subpartition import Listener, ResultSubpartitionView

__all__ = ["PROCESS_PARTITIONS", "ResultPartitionManager"]


class ResultPartitionManager:
    """A table of the partitions that attempts in this process produce. Any thread.

    A pipelined partition leaves when it is consumed. Every partition leaves with its attempt.
    """

    def __init__(self) -> None:
        self._partitions: dict[ResultPartitionId, ResultPartition[Any]] = {}
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._partitions)

    def register(self, partition: ResultPartition[Any]) -> None:
        """Make a partition known.

        Raises:
            ContractError: there is one of this name.
        """
        with self._lock:
            if partition.partition_id in self._partitions:
                raise ContractError(f"result partition {partition.partition_id} is registered already")
            self._partitions[partition.partition_id] = partition
        if partition.type is ResultPartitionType.PIPELINED:
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

    def locate(self, partition_id: ResultPartitionId) -> ResultPartitionLocation:
        """Return whether a partition is here. Of one in a state store, `SegmentLog.locate` knows."""
        return (
            ResultPartitionLocation.LOCAL
            if partition_id in self._partitions
            else ResultPartitionLocation.UNKNOWN
        )

    def release(self, partition_id: ResultPartitionId) -> None:
        """Release one partition. One that is not here is fine."""
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
