"""A partition that is kept from checkpoint to checkpoint: Flink's ``PIPELINED_PERSISTENT``."""

from __future__ import annotations

import itertools
import json
import uuid
from collections import deque
from collections.abc import Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa

from headwater.core.errors import ContractError, FencedError, StateLocationError
from headwater.core.jsons import JsonObject, dumps
from headwater.core.state_store import StateStore
from headwater.readers.runtime.partitions.ipc import read_batches, write_batches

_TAKEN_OVER = "taken-over"
_ROWS = "rows"
_READERS: Final = 4
_RELEASERS: Final = 8
_BEGIN: Final = "begin"
"""The object beside the records that says from which number on none is released."""


@dataclass(frozen=True, slots=True)
class _Record:
    """One object of the log: a line of JSON, then Arrow batches."""

    kind: str
    attempt: str
    body: bytes = b""

    def encode(self) -> bytes:
        # The random id makes every record unlike every other one, also of the same attempt. So a writer that
        # reads back what lies under a number knows whether it is its own.
        head: JsonObject = {
            "kind": self.kind,
            "attempt": self.attempt,
            "id": uuid.uuid4().hex,
            "bytes": len(self.body),
        }
        return dumps(head).encode() + b"\n" + self.body

    @classmethod
    def decode(cls, data: bytes, name: str) -> _Record:
        line, _, body = data.partition(b"\n")
        try:
            head: dict[str, Any] = json.loads(line)
            record = cls(head["kind"], head["attempt"], body)
            whole = len(body) == head["bytes"]
        except (ValueError, KeyError, TypeError) as error:
            raise StateLocationError(f"{name} is not a segment that headwater wrote") from error
        if not whole:
            raise StateLocationError(f"{name} is cut short: it holds {len(body)} of {head['bytes']} bytes")
        return record


class SegmentLog:
    """Numbered segments of Arrow batches in a state store.

    Written by one attempt at a time, read by any process at any time.

    A checkpoint marks the log with the number of the next segment, which is the position that its manifest
    holds. So what came after checkpoint x is what `view_after` shows, the log itself need not know
    checkpoints, and what lies before the mark of the oldest epoch that is kept is released when a later one
    completes (`headwater/connector/barrier/coordinator.py`).

    Every record of the log is put under the next number, if that is absent. So a new attempt that begins with
    `take_over` fences the old one: the old one's next record finds its number taken. What the old attempt
    appended before stays part of the log.

    Nothing depends on listings, which may be older than the log: from the mark of the last release on every
    number to the end is taken, so the end is found by going there.

    Only where that number was released again is the old attempt not refused, and what it writes there nobody
    reads. `check` tells it. A writer that would do harm by going on, because it acknowledges what it has
    appended, calls that after each new connection to the outside, by which older ones lose the right to
    acknowledge: between two checks its number cannot be taken, read and released without ending its
    connection.

    One thread writes. A view is independent of the writer, and of other views.

    Attributes:
        attempt: who writes; unique among all attempts.

    Args:
        store: where.
        folder: of this log.
        attempt: see above.
    """

    def __init__(self, store: StateStore, folder: str, attempt: str) -> None:
        self._store = store
        self._folder = folder
        self.attempt = attempt
        self._next: int | None = None
        self._is_fenced = False

    def take_over(self) -> int:
        """Become the writer: from now on every other attempt is refused.

        Returns:
            The number of the next segment.

        Raises:
            StateLocationError: the store cannot be reached.
        """
        number = self.end()
        record = _Record(_TAKEN_OVER, self.attempt).encode()
        # The listing may be old, and the old attempt may append before the put: then the number is taken.
        while self._store.put_if_absent(self._name(number), record) != record:
            number += 1
        self._next = number + 1
        return self._next

    def append(self, batches: Sequence[pa.RecordBatch]) -> int:
        """Write one segment, which is durable when this returns, and return its number.

        Raises:
            FencedError: another attempt took over.
            StateLocationError: the store cannot be reached.
        """
        return self._put(_Record(_ROWS, self.attempt, write_batches(batches)))

    def end(self) -> int:
        """Return the number behind the last record that is listed: a lower bound."""
        numbers = _listed(self._store, self._folder)
        return max(self.begin(), numbers[-1] + 1 if numbers else 0)

    def view_after(self, mark: int, until: int | None = None) -> SegmentLogView:
        """Return a view of what came after a checkpoint.

        Args:
            mark: of the checkpoint; 0 for all that there is.
            until: the mark of a later checkpoint: all before it is known to be there. None for as far as
                there are any.
        """
        return SegmentLogView(self._store, self._folder, mark, until)

    def release_before(self, mark: int) -> None:
        """Delete what came before the oldest checkpoint that is kept. Idempotent.

        The very last record stays: from an empty log a fenced attempt could go on writing. What is not listed
        yet goes with a later release.
        """
        listed = _listed(self._store, self._folder)
        released = [number for number in listed[:-1] if number < mark]
        if released:
            # Never back: a listing may be older than that of the last release.
            begin = max(self.begin(), min(mark, listed[-1]))
            # The mark first: readers and writers that come now never look for what is being deleted.
            self._store.put(f"{self._folder}/{_BEGIN}", str(begin).encode())
            self._store.delete_all(self._name(number) for number in released)

    def check(self) -> None:
        """Return if this attempt is the writer still.

        Raises:
            FencedError: another attempt took over.
            ContractError: this one never did.
        """
        if self._next is None:
            raise ContractError(f"segment log {self._folder} is written only after take_over")
        # Without a listing, which may not show the other's record yet.
        is_taken = self._store.get(self._name(self._next)) is not None or self.begin() > self._next
        if self._is_fenced or is_taken:
            self._is_fenced = True
            raise self._fenced()

    def begin(self) -> int:
        """Return the number of the first record that is kept; 0 if nothing was released."""
        return _begin(self._store, self._folder)

    def _fenced(self) -> FencedError:
        return FencedError(
            f"segment log {self._folder}: another attempt than {self.attempt} took over at segment "
            f"{self._next}"
        )

    def _put(self, record: _Record) -> int:
        if self._next is None:
            raise ContractError(f"segment log {self._folder} is written only after take_over")
        number = self._next
        data = record.encode()
        # One write and no look at the log: the log of a long epoch is long, and object stores answer late.
        won = not self._is_fenced and self._store.put_if_absent(self._name(number), data) == data
        if not won:
            self._is_fenced = True
            raise self._fenced()
        self._next = number + 1
        return number

    def _name(self, number: int) -> str:
        return _name(self._folder, number)

    def delete(self) -> None:
        """Delete all of it: nobody reads or writes it any more. Idempotent."""
        self._store.delete_folder(self._folder)


def release_logs(logs: Iterable[tuple[SegmentLog, int]]) -> None:
    """Release each log before its mark; several at once, because object stores answer late."""
    with ThreadPoolExecutor(_RELEASERS, "headwater-releases") as pool:
        for _ in pool.map(lambda log: log[0].release_before(log[1]), logs):
            pass


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
        stop = max(_listed(self._store, self._folder), default=-1) + 1 if self._stop is None else self._stop
        with closing(self._read_ahead(self._to_read())) as found:
            for number, data in found:
                if data is None:
                    if number >= stop:
                        return
                    raise self._gone()
                record = _Record.decode(data, _name(self._folder, number))
                self.position = number + 1
                if record.kind == _ROWS:
                    yield number, read_batches(record.body)

    def _to_read(self) -> Iterable[int]:
        """Return the numbers of the segments; without a ``stop`` the first that is not there is the end."""
        if self._stop is not None:
            return range(self.position, self._stop)
        begin = _begin(self._store, self._folder)
        if 0 < self.position < begin:
            raise self._gone()
        return itertools.count(max(self.position, begin))

    def _read_ahead(self, numbers: Iterable[int]) -> Generator[tuple[int, bytes | None], None, None]:
        """Yield records in order. Several are asked for at once: object stores answer late."""
        ahead: deque[tuple[int, Future[bytes | None]]] = deque()
        with ThreadPoolExecutor(_READERS, "headwater-segments") as pool:
            for number in numbers:
                ahead.append((number, pool.submit(self._store.get, _name(self._folder, number))))
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


def _name(folder: str, number: int) -> str:
    return f"{folder}/{number:012d}"


def _begin(store: StateStore, folder: str) -> int:
    """Return the mark of the last release, 0 if there was none."""
    mark = store.get(f"{folder}/{_BEGIN}")
    if mark is not None:
        return int(mark)
    if store.get(_name(folder, 0)) is not None:
        return 0
    # Before there were marks, records were released without one. What lies before a gap was put by a fenced
    # attempt where all was released already: it does not count.
    numbers = _listed(store, folder)
    first = max(0, len(numbers) - 1)
    while first > 0 and numbers[first - 1] == numbers[first] - 1:
        first -= 1
    return numbers[first] if numbers else 0


def _listed(store: StateStore, folder: str) -> list[int]:
    """Return the numbers of the records that are listed, in order."""
    return [int(name) for name in store.list(folder) if name != _BEGIN]
