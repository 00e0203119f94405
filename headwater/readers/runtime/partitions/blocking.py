"""A subpartition in memory as long as there is room, then in one file. Read when it is finished."""

from __future__ import annotations

import threading
from collections.abc import Generator, Sequence
from contextlib import closing
from pathlib import Path
from typing import TypeAlias

import pyarrow as pa
import pyarrow.ipc

from headwater.core.errors import ContractError
from headwater.readers.runtime.partitions.buffer_pool import PartitionBuffer
from headwater.readers.runtime.partitions.events import EndOfPartition, PartitionEvent
from headwater.readers.runtime.partitions.subpartition import (
    Element,
    Listener,
    ResultSubpartition,
    ResultSubpartitionView,
)

Order: TypeAlias = "list[int | PartitionEvent]"
"""The elements in order: a buffer by its number, an event as it is."""


class BlockingSubpartition(ResultSubpartition[pa.RecordBatch]):
    """Flink's ``SpillableSubpartition``, with one Arrow IPC file. Read by any number of views.

    Once there is a file, every later buffer goes there too.

    Args:
        index: its number in the partition.
        file: where to write if there is not room enough; made late, deleted with the release.
    """

    def __init__(self, index: int, file: Path) -> None:
        super().__init__(index)
        self._file = file
        self._buffers: list[PartitionBuffer[pa.RecordBatch]] = []
        self._order: Order = []
        self._count = 0
        self._writer: pa.RecordBatchFileWriter | None = None
        self._is_spilled = False
        self._is_finished = False
        self._is_released = False
        # Guards everything, and is held while the file is written: a batch must not be written after the
        # file was finished, nor to a file that a release has deleted. Nothing waits for it but a release.
        self._lock = threading.Lock()

    @property
    def is_released(self) -> bool:
        """Whether all is given up."""
        return self._is_released

    @property
    def file(self) -> Path:
        """Where the buffers are, once they are spilled and all is produced."""
        return self._file

    @property
    def is_spilled(self) -> bool:
        """Whether the buffers are in the file."""
        return self._is_spilled

    def add(self, element: Element[pa.RecordBatch]) -> bool:
        with self._lock:
            accepted = not (self._is_finished or self._is_released)
            if accepted and isinstance(element, PartitionEvent):
                self._order.append(element)
            elif accepted:
                assert isinstance(element, PartitionBuffer)
                self._append(element)
        if not accepted and isinstance(element, PartitionBuffer):
            element.recycle()
        return accepted

    def spill(self) -> None:
        """Write everything to the file and give the memory back.

        Idempotent. Does nothing when all is produced: views may be reading from memory.
        """
        with self._lock:
            if self._is_spilled or self._is_finished or self._is_released:
                return
            self._is_spilled = True
            buffers = self._buffers
            self._buffers = []
            for buffer in buffers:
                self._write(buffer)

    def finish(self) -> None:
        with self._lock:
            if self._is_finished or self._is_released:
                return
            self._order.append(EndOfPartition())
            self._is_finished = True
            self._close_writer()

    def create_view(self, on_available: Listener) -> BlockingSubpartitionView:
        """Return a view of all elements from the first one.

        Raises:
            ContractError: not all is produced yet, or it is released.
        """
        with self._lock:
            if self._is_released or not self._is_finished:
                state = "released" if self._is_released else "not finished"
                raise ContractError(f"subpartition {self.index} is blocking and {state}: it cannot be read")
            batches: _Batches
            if self._is_spilled and self._count:
                batches = _FileBatches(self._file)
            else:
                batches = _MemoryBatches([buffer.payload for buffer in self._buffers])
        on_available()
        return BlockingSubpartitionView(self, self._order, batches)

    def release(self) -> None:
        with self._lock:
            if self._is_released:
                return
            self._is_released = True
            self._close_writer()
            buffers = self._buffers
            self._buffers = []
        for buffer in buffers:
            buffer.recycle()
        self._file.unlink(missing_ok=True)

    def _append(self, buffer: PartitionBuffer[pa.RecordBatch]) -> None:
        if self._is_spilled:
            self._write(buffer)
        else:
            self._buffers.append(buffer)
        self._order.append(self._count)
        self._count += 1

    def _write(self, buffer: PartitionBuffer[pa.RecordBatch]) -> None:
        # A full disk must not keep the pool's bytes: they are given back also when the write fails.
        try:
            if self._writer is None:
                self._writer = pa.ipc.new_file(str(self._file), buffer.payload.schema)
            self._writer.write_batch(buffer.payload)
        finally:
            buffer.recycle()

    def _close_writer(self) -> None:
        writer = self._writer
        self._writer = None
        if writer is not None:
            writer.close()


class BlockingSubpartitionView(ResultSubpartitionView[pa.RecordBatch]):
    """One reading from the first element to the last, in memory or from the mapped file."""

    def __init__(self, parent: BlockingSubpartition, order: Order, batches: _Batches) -> None:
        self._parent = parent
        self._order = order
        self._batches = batches
        self._at = 0
        self._is_released = False

    def next(self) -> Element[pa.RecordBatch] | None:
        if self._is_released or self._parent.is_released or self._at >= len(self._order):
            return None
        element = self._order[self._at]
        self._at += 1
        if isinstance(element, PartitionEvent):
            return element
        batch = self._batches.read(element)
        # Without a pool: views count no bytes, since any number of them reads the same batch.
        return PartitionBuffer(batch, batch.nbytes, None)

    def release(self) -> None:
        self._is_released = True
        self._batches.close()


class _MemoryBatches:
    """Batches that were never written."""

    def __init__(self, batches: Sequence[pa.RecordBatch]) -> None:
        self._batches = batches

    def read(self, number: int) -> pa.RecordBatch:
        return self._batches[number]

    def close(self) -> None:
        self._batches = ()


class _FileBatches:
    """Batches in a file, which is mapped into memory when the first one is read."""

    def __init__(self, file: Path) -> None:
        self._path = file
        self._map: pa.MemoryMappedFile | None = None
        self._reader: pa.RecordBatchFileReader | None = None

    def __len__(self) -> int:
        return self._open().num_record_batches

    def read(self, number: int) -> pa.RecordBatch:
        return self._open().get_batch(number)

    def close(self) -> None:
        mapped = self._map
        self._map = None
        self._reader = None
        if mapped is not None:
            mapped.close()

    def _open(self) -> pa.RecordBatchFileReader:
        if self._reader is None:
            self._map = pa.memory_map(str(self._path))
            self._reader = pa.ipc.open_file(self._map)
        return self._reader


_Batches: TypeAlias = "_MemoryBatches | _FileBatches"


def read_file(file: Path) -> Generator[pa.RecordBatch, None, None]:
    """Yield the batches of a spilled subpartition's file, mapped into memory. In any process of the host."""
    with closing(_FileBatches(file)) as batches:
        for number in range(len(batches)):
            yield batches.read(number)
