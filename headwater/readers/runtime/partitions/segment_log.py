"""A partition that is kept from checkpoint to checkpoint: Flink's ``PIPELINED_PERSISTENT``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final

import pyarrow as pa

from headwater.core.errors import ContractError, FencedError
from headwater.core.state_store import StateStore
from headwater.readers.runtime.batches import write_batches
from headwater.readers.runtime.partitions.segment_view import (
    BEGIN,
    ROWS,
    TAKEN_OVER,
    SegmentLogView,
    SegmentRecord,
    first_kept,
    listed_numbers,
    record_name,
)

_RELEASERS: Final = 8


class SegmentLog:
    """Numbered segments of Arrow batches in a state store.

    Written by one attempt at a time, read by any process at any time.

    A checkpoint marks the log with the number of the next segment, which is the position that its manifest
    holds. So `view_after` shows the records after checkpoint x, the log itself need not know
    checkpoints, and records before the mark of the oldest epoch that is kept are released when a later one
    completes (`headwater/connector/barrier/coordinator.py`).

    Every record of the log is put under the next number, if that is absent. So a new attempt that begins with
    `take_over` fences the old one: the old one's next record finds its number taken. Rows that the old
    attempt appended before stay part of the log.

    Nothing depends on listings, which may be older than the log: from the mark of the last release on every
    number to the end is taken, so the end is found by going there.

    Only where that number was released again is the old attempt not refused, and its record there is never
    read. `check` notices it. A writer that would do harm by going on, because it acknowledges messages that
    it has appended, calls that after each new connection to the outside, by which older ones lose the right
    to acknowledge: between two checks its number cannot be taken, read and released without ending its
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
        record = SegmentRecord(TAKEN_OVER, self.attempt).encode()
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
        return self._put(SegmentRecord(ROWS, self.attempt, write_batches(batches)))

    def end(self) -> int:
        """Return the number behind the last record that is listed: a lower bound."""
        numbers = listed_numbers(self._store, self._folder)
        return max(self.begin(), numbers[-1] + 1 if numbers else 0)

    def view_after(self, mark: int, until: int | None = None) -> SegmentLogView:
        """Return a view of the records after a checkpoint.

        Args:
            mark: of the checkpoint; 0 for all that there is.
            until: the mark of a later checkpoint: all before it is known to be there. None for as far as
                there are any.
        """
        return SegmentLogView(self._store, self._folder, mark, until)

    def release_before(self, mark: int) -> None:
        """Delete the records before the oldest checkpoint that is kept. Idempotent.

        The very last record stays: from an empty log a fenced attempt could go on writing. A record that is
        not listed yet goes with a later release.
        """
        listed = listed_numbers(self._store, self._folder)
        released = [number for number in listed[:-1] if number < mark]
        if released:
            # Never back: a listing may be older than that of the last release.
            begin = max(self.begin(), min(mark, listed[-1]))
            # The mark first: readers and writers that come now never look for what is being deleted.
            self._store.put(f"{self._folder}/{BEGIN}", str(begin).encode())
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
        return first_kept(self._store, self._folder)

    def _fenced(self) -> FencedError:
        return FencedError(
            f"segment log {self._folder}: another attempt than {self.attempt} took over at segment "
            f"{self._next}"
        )

    def _put(self, record: SegmentRecord) -> int:
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
        return record_name(self._folder, number)

    def delete(self) -> None:
        """Delete all of it: it is neither read nor written any more. Idempotent."""
        self._store.delete_folder(self._folder)


def release_logs(logs: Iterable[tuple[SegmentLog, int]]) -> None:
    """Release each log before its mark; several at once, because object stores answer late."""
    with ThreadPoolExecutor(_RELEASERS, "headwater-releases") as pool:
        for _ in pool.map(lambda log: log[0].release_before(log[1]), logs):
            pass
