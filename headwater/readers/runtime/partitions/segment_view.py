"""Reads a segment log: independent of its writer, and of other views."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from typing import Final

import pyarrow as pa

from headwater.core.errors import StateLocationError
from headwater.core.state_store import StateStore
from headwater.readers.runtime.partitions.ipc import read_batches
from headwater.readers.runtime.partitions.segment_records import (
    ROWS,
    SegmentRecord,
    first_kept,
    listed_numbers,
    record_name,
)

_READERS: Final = 4


class SegmentLogView:
    """Reads segments in their order, as far as there are any. Used by one thread.

    Attributes:
        position: the number of the next record: a view that is opened there goes on from here.
    """

    def __init__(self, store: StateStore, folder: str, first: int, stop: int | None) -> None:
        self._store = store
        self._folder = folder
        self._stop = stop
        self.position = first

    def segments(self) -> Generator[tuple[int, list[pa.RecordBatch]], None, None]:
        """Yield the segments that are there now, each with its number.

        May be called again later for what came meanwhile.

        Raises:
            StateLocationError: a segment is not what was written, or one in between is missing.
        """
        # Without a stop, what is listed now is there at least, and more may be.
        stop = (
            max(listed_numbers(self._store, self._folder), default=-1) + 1
            if self._stop is None
            else self._stop
        )
        with closing(self._read_ahead(self._to_read())) as found:
            for number, data in found:
                if data is None:
                    if number >= stop:
                        return
                    raise self._gone()
                record = SegmentRecord.decode(data, record_name(self._folder, number))
                self.position = number + 1
                if record.kind == ROWS:
                    yield number, read_batches(record.body)

    def _to_read(self) -> Iterable[int]:
        """Return the numbers of the segments; without a ``stop`` the first that is not there is the end."""
        if self._stop is not None:
            return range(self.position, self._stop)
        begin = first_kept(self._store, self._folder)
        if 0 < self.position < begin:
            raise self._gone()
        return itertools.count(max(self.position, begin))

    def _read_ahead(self, numbers: Iterable[int]) -> Generator[tuple[int, bytes | None], None, None]:
        """Yield records in order. Several are asked for at once: object stores answer late."""
        ahead: deque[tuple[int, Future[bytes | None]]] = deque()
        with ThreadPoolExecutor(_READERS, "headwater-segments") as pool:
            for number in numbers:
                ahead.append((number, pool.submit(self._store.get, record_name(self._folder, number))))
                if len(ahead) == _READERS:
                    first, data = ahead.popleft()
                    yield first, data.result()
            for first, data in ahead:
                yield first, data.result()

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the rows of `segments`."""
        for _, batches in self.segments():
            yield from batches

    def _gone(self) -> StateLocationError:
        return StateLocationError(
            f"segment {self.position} of {self._folder} is gone: it was released, or deleted from outside, "
            "before it was read"
        )
