"""In memory as long as there is room, then in one file; read when it is finished, by any number."""

from __future__ import annotations

import queue
import threading
from collections.abc import Generator, Sequence
from contextlib import closing
from pathlib import Path
from typing import TypeAlias

import pyarrow as pa
import pyarrow.ipc

from headwater.core.errors import ContractError
from headwater.readers.runtime.partitions.buffer_pool import Buffer
from headwater.readers.runtime.partitions.events import EndOfPartition, Event
from headwater.readers.runtime.partitions.subpartition import (
    Element,
    Listener,
    ResultSubpartition,
    ResultSubpartitionView,
)

__all__ = ["BlockingSubpartition", "BlockingSubpartitionView", "ReadAheadView", "read_file"]

Order: TypeAlias = "list[int | Event]"
"""The elements: a buffer by its number, an event as it is."""

_READ_AHEAD = 2


class BlockingSubpartition(ResultSubpartition[pa.RecordBatch]):
    """Flink's ``SpillableSubpartition``, with one Arrow IPC file.

    Once there is a file, every later buffer goes there too.

    Args:
        index: its place in the partition.
        file: where to write if there is not room enough; made late, deleted with the release.
    """

    def __init__(self, index: int, file: Path) -> None:
        super().__init__(index)
        self._file = file
        self._buffers: list[Buffer[pa.RecordBatch]] = []
        self._order: Order = []
        self._count = 0
        self._writer: pa.RecordBatchFileWriter | None = None
        self._is_spilled = self._is_finished = self._is_released = False
        self._lock = threading.Lock()

    @property
    def backlog(self) -> int:
        return self._count

    @property
    def is_released(self) -> bool:
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
            if accepted and isinstance(element, Event):
                self._order.append(element)
            elif accepted:
                assert isinstance(element, Buffer)
                self._append(element)
        if not accepted and isinstance(element, Buffer):
            element.recycle()
        return accepted

    def spill(self) -> None:
        """Write everything to the file and give the memory back.

        Idempotent; nothing to do when all is produced.
        """
        with self._lock:
            if self._is_spilled or self._is_finished or self._is_released:
                return
            self._is_spilled = True
            buffers, self._buffers = self._buffers, []
            for buffer in buffers:
                self._write(buffer)

    def finish(self) -> None:
        with self._lock:
            if self._is_finished or self._is_released:
                return
            self._order.append(EndOfPartition())
            self._is_finished = True
            self._close_writer()

    def create_view(
        self, on_available: Listener, *, read_ahead: bool = False
    ) -> ResultSubpartitionView[pa.RecordBatch]:
        """Return a view of all elements from the first one.

        Args:
            on_available: see `ResultSubpartition.create_view`.
            read_ahead: let a thread of the view's own read the file, two batches ahead, instead of mapping it
                into memory.

        Raises:
            ContractError: not all is produced yet, or it is released.
        """
        with self._lock:
            if self._is_released or not self._is_finished:
                state = "released" if self._is_released else "not finished"
                raise ContractError(f"subpartition {self.index} is blocking and {state}: it cannot be read")
            source: _Batches = (
                _File(self._file)
                if self._is_spilled and self._count
                else _Memory([buffer.payload for buffer in self._buffers])
            )
            order = self._order
        on_available()
        if read_ahead and isinstance(source, _File):
            return ReadAheadView(self, order, source, on_available)
        return BlockingSubpartitionView(self, order, source)

    def release(self) -> None:
        with self._lock:
            if self._is_released:
                return
            self._is_released = True
            self._close_writer()
            buffers, self._buffers = self._buffers, []
        for buffer in buffers:
            buffer.recycle()
        self._file.unlink(missing_ok=True)

    def _append(self, buffer: Buffer[pa.RecordBatch]) -> None:
        if self._is_spilled:
            self._write(buffer)
        else:
            self._buffers.append(buffer)
        self._order.append(self._count)
        self._count += 1

    def _write(self, buffer: Buffer[pa.RecordBatch]) -> None:
        try:
            if self._writer is None:
                self._writer = pa.ipc.new_file(str(self._file), buffer.payload.schema)
            self._writer.write_batch(buffer.payload)
        finally:
            buffer.recycle()

    def _close_writer(self) -> None:
        writer, self._writer = self._writer, None
        if writer is not None:
            writer.close()


class BlockingSubpartitionView(ResultSubpartitionView[pa.RecordBatch]):
    """One reading from the first element to the last, in memory or from the mapped file."""

    def __init__(self, parent: BlockingSubpartition, order: Order, batches: _Batches) -> None:
        self._parent, self._order, self._batches = parent, order, batches
        self._at = 0
        self._is_released = False

    @property
    def backlog(self) -> int:
        """How many buffers this view has not given yet."""
        return sum(isinstance(element, int) for element in self._order[self._at :])

    def next(self) -> Element[pa.RecordBatch] | None:
        if self._is_released or self._parent.is_released or self._at >= len(self._order):
            return None
        element = self._order[self._at]
        self._at += 1
        return self._read(element) if isinstance(element, int) else element

    def release(self) -> None:
        self._is_released = True
        self._batches.close()

    def _read(self, number: int) -> Buffer[pa.RecordBatch]:
        batch = self._batches.read(number)
        return Buffer(batch, batch.nbytes, None)


class ReadAheadView(BlockingSubpartitionView):
    """Reads the file on a thread of its own, two batches ahead of the consumer.

    The thread ends with the last batch, or with the release.
    """

    def __init__(
        self, parent: BlockingSubpartition, order: Order, batches: _File, on_available: Listener
    ) -> None:
        super().__init__(parent, order, batches)
        self._on_available = on_available
        self._read_already: queue.Queue[pa.RecordBatch | BaseException] = queue.Queue(_READ_AHEAD)
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin to read, unless that was done. The first `next` does."""
        if self._thread is None and not self._is_released:
            self._thread = threading.Thread(
                target=self._run, name=f"read-ahead-{self._parent.index}", daemon=True
            )
            self._thread.start()

    def next(self) -> Element[pa.RecordBatch] | None:
        self.start()
        if self._is_next_a_buffer() and self._read_already.empty():
            return None
        return super().next()

    def release(self) -> None:
        self._is_released = True
        thread, self._thread = self._thread, None
        while thread is not None and thread.is_alive():
            while not self._read_already.empty():
                self._read_already.get_nowait()
            thread.join(0.001)
        self._batches.close()

    def _read(self, number: int) -> Buffer[pa.RecordBatch]:
        batch = self._read_already.get_nowait()
        if isinstance(batch, BaseException):
            raise batch
        return Buffer(batch, batch.nbytes, None)

    def _is_next_a_buffer(self) -> bool:
        return self._at < len(self._order) and isinstance(self._order[self._at], int)

    def _run(self) -> None:
        try:
            for element in self._order:
                if self._is_released:
                    return
                if isinstance(element, int):
                    self._read_already.put(self._batches.read(element))
                    self._on_available()
        except BaseException as error:  # noqa: BLE001 - goes to the consumer's thread
            self._read_already.put(error)
            self._on_available()


class _Memory:
    """Batches that were never written."""

    def __init__(self, batches: Sequence[pa.RecordBatch]) -> None:
        self._batches = batches

    def read(self, number: int) -> pa.RecordBatch:
        return self._batches[number]

    def close(self) -> None:
        self._batches = ()


class _File:
    """Batches in a file; opened with the first one."""

    def __init__(self, file: Path) -> None:
        self._path = file
        self._map: pa.MemoryMappedFile | None = None
        self._reader: pa.RecordBatchFileReader | None = None

    def __len__(self) -> int:
        return self._open().num_record_batches

    def read(self, number: int) -> pa.RecordBatch:
        return self._open().get_batch(number)

    def close(self) -> None:
        mapped, self._map, self._reader = self._map, None, None
        if mapped is not None:
            mapped.close()

    def _open(self) -> pa.RecordBatchFileReader:
        if self._reader is None:
            self._map = pa.memory_map(str(self._path))
            self._reader = pa.ipc.open_file(self._map)
        return self._reader


_Batches: TypeAlias = "_Memory | _File"


def read_file(file: Path) -> Generator[pa.RecordBatch, None, None]:
    """Yield the batches of a spilled subpartition's file, mapped into memory, in this or another process."""
    with closing(_File(file)) as batches:
        for number in range(len(batches)):
            yield batches.read(number)
