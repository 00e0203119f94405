"""Which partitions this process holds (Flink's ``ResultPartitionManager``)."""

from __future__ import annotations

import threading
from typing import Any

from headwater.core.errors import ContractError, PartitionNotFoundError
from headwater.readers.runtime.partitions.partition_id import ResultPartitionId, ResultPartitionType
from headwater.readers.runtime.partitions.result_partition import ResultPartition
from headwater.readers.runtime.partitions.subpartition import Listener, ResultSubpartitionView


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
