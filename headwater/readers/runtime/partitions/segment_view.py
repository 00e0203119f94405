"""The objects of a segment log, and how they are read: independent of the writer, and of other views."""

from __future__ import annotations

import itertools
import json
import uuid
from collections import deque
from collections.abc import Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa

from headwater.core.errors import StateLocationError
from headwater.core.jsons import JsonObject, dumps
from headwater.core.state_store import StateStore
from headwater.readers.runtime.batches import read_batches

TAKEN_OVER: Final = "taken-over"
ROWS: Final = "rows"
BEGIN: Final = "begin"
"""The object beside the records that says from which number on none is released."""


@dataclass(frozen=True, slots=True)
class SegmentRecord:
    """One object of the log: a line of JSON, then Arrow batches.

    Attributes:
        kind: `ROWS`, or `TAKEN_OVER`.
        attempt: who wrote it.
        body: the batches; empty where an attempt took over.
    """

    kind: str
    attempt: str
    body: bytes | memoryview = b""

    def encode(self) -> bytes:
        """Return the object, unlike that of any other record."""
        # The random id makes every record unlike every other one, also of the same attempt. So a writer that
        # reads back what lies under a number knows whether it is its own.
        head: JsonObject = {
            "kind": self.kind,
            "attempt": self.attempt,
            "id": uuid.uuid4().hex,
            "bytes": len(self.body),
        }
        return b"".join([dumps(head).encode(), b"\n", self.body])

    @classmethod
    def decode(cls, data: bytes, name: str) -> SegmentRecord:
        """Return the record that an object holds.

        Raises:
            StateLocationError: it is damaged.
        """
        end = data.find(b"\n")
        # A view: a body is megabytes.
        body = memoryview(data)[end + 1 :]
        try:
            head: dict[str, Any] = json.loads(data[:end])
            record = cls(head["kind"], head["attempt"], body)
            whole = len(body) == head["bytes"]
        except (ValueError, KeyError, TypeError) as error:
            raise StateLocationError(f"{name} is not a segment that headwater wrote") from error
        if not whole:
            raise StateLocationError(f"{name} is cut short: it holds {len(body)} of {head['bytes']} bytes")
        return record


def record_name(folder: str, number: int) -> str:
    """Return where a record lies."""
    return f"{folder}/{number:012d}"


def first_kept(store: StateStore, folder: str) -> int:
    """Return the mark of the last release, 0 if there was none."""
    mark = store.get(f"{folder}/{BEGIN}")
    if mark is not None:
        return int(mark)
    if store.get(record_name(folder, 0)) is not None:
        return 0
    # Before there were marks, records were released without one. What lies before a gap was put by a fenced
    # attempt where all was released already: it does not count.
    numbers = listed_numbers(store, folder)
    first = max(0, len(numbers) - 1)
    while first > 0 and numbers[first - 1] == numbers[first] - 1:
        first -= 1
    return numbers[first] if numbers else 0


def listed_numbers(store: StateStore, folder: str) -> list[int]:
    """Return the numbers of the records that are listed, in order."""
    return [int(name) for name in store.list(folder) if name != BEGIN]


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

        May be called again later for new segments.

        Raises:
            StateLocationError: a segment is damaged, or one in between is missing.
        """
        # Without a stop, what is listed now is there at least, and more may be.
        stop = (
            max(listed_numbers(self._store, self._folder), default=-1) + 1
            if self._stop is None
            else self._stop
        )
        with closing(self._read_ahead(self._to_read())) as records:
            for number, data in records:
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
