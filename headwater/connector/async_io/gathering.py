"""Arrow batches gathered for calls of many rows."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence

import pyarrow as pa

from headwater.connector.async_io.batches import cut
from headwater.readers.async_io.settings import Batching
from headwater.readers.async_io.stream_element_queue import Watermark


class Gathering:
    """Gathers batches for calls: no larger than it is said, and no smaller if more rows come in time.

    Attributes:
        held: rows that were taken and are in no call yet.

    Args:
        batching: rows and bytes of a call at most, and how long a call that is not full waits for more.
        now: the time in seconds.
    """

    def __init__(self, batching: Batching, now: Callable[[], float] = time.monotonic) -> None:
        self._batching = batching
        self._now = now
        self._began = 0.0
        self.held: list[pa.RecordBatch] = []

    def gathered(
        self, batches: Iterable[pa.RecordBatch | Watermark | None]
    ) -> Iterator[pa.RecordBatch | Watermark | None]:
        """Yield batches for calls, of the input; None where there is no further batch yet, in both.

        A watermark stays where it is: rows before it and behind it are not in one call.
        """
        for batch in batches:
            if isinstance(batch, Watermark):
                while self.held:
                    yield self._take()
                yield batch
                continue
            if batch is not None and batch.num_rows:
                if not self.held:
                    self._began = self._now()
                self.held.append(batch)
            while self._is_full():
                yield self._take()
            if self.held and (self._now() - self._began) * 1000 >= self._batching.linger_ms:
                yield self._take()
            if batch is None:
                yield None
        while self.held:
            yield self._take()

    def pieces(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Yield a batch in pieces as large as a call may be."""
        return cut(batch, self._batching.most_bytes, self._batching.size)

    def _is_full(self) -> bool:
        rows = sum(batch.num_rows for batch in self.held)
        return rows >= self._batching.size or sum(map(_nbytes, self.held)) >= self._batching.most_bytes

    def _take(self) -> pa.RecordBatch:
        """Remove and return the first rows that are held, as many as a call may have."""
        held = joined(self.held)
        first = next(self.pieces(held))
        self.held = [held.slice(first.num_rows)] if first.num_rows < held.num_rows else []
        return first


def _nbytes(batch: pa.RecordBatch) -> int:
    return batch.nbytes


def joined(batches: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    """Return batches, one at least, as one."""
    if len(batches) == 1:
        return batches[0]
    [one] = pa.Table.from_batches(batches).combine_chunks().to_batches()
    return one
