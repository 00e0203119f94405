"""The result partition of blocking subpartitions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa

from headwater.readers.runtime.partitions.blocking import BlockingSubpartition
from headwater.readers.runtime.partitions.buffer_pool import BufferPool, PartitionBuffer
from headwater.readers.runtime.partitions.partition_id import ResultPartitionId, ResultPartitionType
from headwater.readers.runtime.partitions.result_partition import ResultPartition


class BlockingResultPartition(ResultPartition[pa.RecordBatch]):
    """Never waits: when the pool has no room for a buffer, everything goes to files.

    Args:
        partition_id: its name.
        subpartitions: how many channels.
        pool: what may be in memory.
        folder: for the files, one per subpartition; it must be there.
        on_consumable: called once, when all is produced and consumers can start.
    """

    type = ResultPartitionType.BLOCKING

    def __init__(
        self,
        partition_id: ResultPartitionId,
        subpartitions: int,
        pool: BufferPool,
        *,
        folder: Path,
        on_consumable: Callable[[ResultPartitionId], None] | None = None,
    ) -> None:
        stem = str(partition_id).replace("/", "_")
        self._blocking = tuple(
            BlockingSubpartition(index, folder / f"{stem}-{index}.arrow") for index in range(subpartitions)
        )
        self._on_consumable = on_consumable
        super().__init__(partition_id, self._blocking, pool)

    @property
    def is_spilled(self) -> bool:
        """Whether everything is in files."""
        return any(subpartition.is_spilled for subpartition in self._blocking)

    def add(self, index: int, payload: pa.RecordBatch, size_bytes: int) -> bool:
        self._check_producing()
        if self.is_released:
            return False
        has_room = not self.is_spilled and self.pool.try_request(size_bytes)
        if not has_room:
            self.release_memory()
        return self._blocking[index].add(
            PartitionBuffer(payload, size_bytes, self.pool if has_room else None)
        )

    def file(self, index: int) -> Path:
        """Where the buffers of a subpartition are, once they are spilled and all is produced."""
        return self._blocking[index].file

    def release_memory(self) -> None:
        """Write everything to files and give the memory back."""
        for subpartition in self._blocking:
            subpartition.spill()

    def finish(self) -> None:
        super().finish()
        notify = self._on_consumable
        self._on_consumable = None
        if notify is not None:
            notify(self.partition_id)
