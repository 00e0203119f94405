"""A partition in memory as long as there is room, then in files. Read when it is finished."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pyarrow as pa
import pyarrow.ipc

from headwater.core.errors import ContractError
from headwater.readers.runtime.partitions.result_partition import ResultPartition, ResultPartitionId
from headwater.readers.runtime.partitions.subpartition import (
    BufferPool,
    Element,
    EndOfPartition,
    Listener,
    PartitionBuffer,
    PartitionEvent,
    ResultSubpartition,
    ResultSubpartitionView,
)

Order: TypeAlias = "list[int | PartitionEvent]"
"""The elements in order: a buffer by its number, an event as it is."""


class BlockingResultPartition(ResultPartition[pa.RecordBatch]):
    """Never waits: when the pool has no room for a buffer, everything goes to files.

    Args:
        partition_id: its name.
        subpartitions: how many channels.
        pool: the budget of memory.
        folder: for the files, one per subpartition; it must be there.
        on_consumable: called once, when all is produced and consumers can start.
    """

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
        has_room = not self.is_spilled and self.pool.try_request(size_bytes)
        if not has_room:
            self.release_memory()
        self._blocking[index].add(PartitionBuffer(payload, size_bytes, self.pool if has_room else None))
        return True

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


class BlockingSubpartition(ResultSubpartition[pa.RecordBatch]):
    """Flink's ``SpillableSubpartition``, with one Arrow IPC file. Read by any number of views.

    Once there is a file, every later buffer goes there too.

    Attributes:
        file: where the buffers are, once they are spilled and all is produced.
        is_spilled: whether the buffers are in the file.

    Args:
        index: its number in the partition.
        file: where to write if there is not room enough; made late, deleted with the release.
    """

    def __init__(self, index: int, file: Path) -> None:
        super().__init__(index)
        self.file = file
        self._buffers: list[PartitionBuffer[pa.RecordBatch]] = []
        self._order: Order = []
        self._count = 0
        self._writer: pa.RecordBatchFileWriter | None = None
        self.is_spilled = False
        self._is_finished = False
        # Guards everything, and is held while the file is written: a batch must not be written after the
        # file was finished, nor to a file that a release has deleted. Nothing waits for it but a release.
        self._lock = threading.Lock()

    def add(self, element: Element[pa.RecordBatch]) -> None:
        with self._lock:
            if isinstance(element, PartitionBuffer):
                self._append(element)
            else:
                self._order.append(element)

    def spill(self) -> None:
        """Write everything to the file and give the memory back.

        Idempotent. Does nothing when all is produced: views may be reading from memory.
        """
        with self._lock:
            if self.is_spilled or self._is_finished or self.is_released:
                return
            self.is_spilled = True
            buffers = self._buffers
            self._buffers = []
            for buffer in buffers:
                self._write(buffer)

    def finish(self) -> None:
        with self._lock:
            self._order.append(EndOfPartition())
            self._is_finished = True
            self._close_writer()

    def create_view(self, on_available: Listener) -> BlockingSubpartitionView:
        """Return a view of all elements from the first one.

        Raises:
            ContractError: not all is produced yet.
        """
        with self._lock:
            if not self._is_finished:
                raise ContractError(f"subpartition {self.index} is blocking: it is read when it is finished")
            batch_of: Callable[[int], pa.RecordBatch]
            if self.is_spilled and self._count:
                batch_of = _mapped(self.file).get_batch
            else:
                batch_of = [buffer.payload for buffer in self._buffers].__getitem__
        on_available()
        return BlockingSubpartitionView(self._order, batch_of, lambda: self.is_released)

    def release(self) -> None:
        with self._lock:
            if self.is_released:
                return
            self.is_released = True
            self._close_writer()
            buffers = self._buffers
            self._buffers = []
        for buffer in buffers:
            buffer.recycle()
        self.file.unlink(missing_ok=True)

    def _append(self, buffer: PartitionBuffer[pa.RecordBatch]) -> None:
        if self.is_spilled:
            self._write(buffer)
        else:
            self._buffers.append(buffer)
        self._order.append(self._count)
        self._count += 1

    def _write(self, buffer: PartitionBuffer[pa.RecordBatch]) -> None:
        # A full disk must not keep the pool's bytes: they are given back also when the write fails.
        try:
            if self._writer is None:
                self._writer = pa.ipc.new_file(str(self.file), buffer.payload.schema)
            self._writer.write_batch(buffer.payload)
        finally:
            buffer.recycle()

    def _close_writer(self) -> None:
        writer = self._writer
        self._writer = None
        if writer is not None:
            writer.close()


class BlockingSubpartitionView(ResultSubpartitionView[pa.RecordBatch]):
    """One reading from the first element to the last, in memory or from the mapped file.

    Args:
        order: the elements.
        batch_of: returns a batch by its number.
        is_released: whether the subpartition is.
    """

    def __init__(
        self, order: Order, batch_of: Callable[[int], pa.RecordBatch], is_released: Callable[[], bool]
    ) -> None:
        self._order = order
        self._batch_of: Callable[[int], pa.RecordBatch] | None = batch_of
        self._parent_is_released = is_released
        self._at = 0

    def next(self) -> Element[pa.RecordBatch] | None:
        if self._batch_of is None or self._parent_is_released() or self._at >= len(self._order):
            return None
        element = self._order[self._at]
        self._at += 1
        if isinstance(element, PartitionEvent):
            return element
        batch = self._batch_of(element)
        # Without a pool: views count no bytes, since any number of them reads the same batch.
        return PartitionBuffer(batch, batch.nbytes, None)

    def release(self) -> None:
        # With it the file that it maps.
        self._batch_of = None


def view_of_file(file: Path) -> BlockingSubpartitionView:
    """Return a view of a finished subpartition that another process of this host has written.

    It has the buffers and the end; events between them are of the other process only. The file may be deleted
    while it is read.

    Raises:
        FileNotFoundError: it was deleted.
    """
    reader = _mapped(file)
    order: Order = [*range(reader.num_record_batches), EndOfPartition()]
    return BlockingSubpartitionView(order, reader.get_batch, lambda: False)


def _mapped(file: Path) -> pa.RecordBatchFileReader:
    """Open a file whose batches are views of it: rows are loaded when they are read."""
    return pa.ipc.open_file(pa.memory_map(str(file)))
