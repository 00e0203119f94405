"""Messages of a replication stream as one piece of bytes, and how far a reader has come in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from headwater.readers.kernels.arrays import ByteArray, Int64Array, address
from headwater.readers.kernels.cache import Kernel
from headwater.readers.postgres import wal_layout as L

KERNEL: Final = Kernel(
    "headwater.readers.postgres.kernel.wal_entry",
    "enter",
    arguments=2,
    needed_for="the postgres source",
    extra="postgres",
)
"""All compiled code of this source."""


@dataclass(frozen=True, slots=True)
class WalChunk:
    """Messages in the order of the log. The raw record of this source's stream.

    Attributes:
        data: XLogData messages, one behind the other.
        ends: where each ends in ``data``.
        newest_xid: a transaction's full id of 64 bits, not older than any of these messages, by which ids of
            32 bits are widened.
    """

    data: ByteArray
    ends: Int64Array
    newest_xid: int

    @staticmethod
    def of(messages: Sequence[bytes | memoryview], newest_xid: int) -> WalChunk:
        """Return messages as a chunk. They are copied."""
        data: ByteArray = np.frombuffer(b"".join(messages), np.uint8)
        ends: Int64Array = np.fromiter(map(len, messages), np.int64, len(messages)).cumsum()
        return WalChunk(data, ends, newest_xid)

    def message(self, at: int) -> bytes:
        """Return one message without the header of XLogData."""
        begin = int(self.ends[at - 1]) if at else 0
        return self.data[begin + L.HEADER_BYTES : int(self.ends[at])].tobytes()

    def up_to(self, count: int) -> WalChunk:
        """Return the first messages."""
        return WalChunk(self.data, self.ends[:count], self.newest_xid)

    def without(self, changes: int) -> tuple[WalChunk, int]:
        """Return the messages behind the first ones that hold changes, and the Relation messages among those.

        And how many of those changes are still to come. For a stream that was broken off inside of a
        transaction and begins again with it.
        """
        indices = []
        for at in range(len(self.ends)):
            kind = self.message(at)[:1]
            if not changes or kind == _RELATION:
                indices.append(at)
            elif kind in _CHANGES:
                changes -= 1
        begins = np.concatenate([np.zeros(1, np.int64), self.ends[:-1]])
        data = self.data.tobytes()
        return WalChunk.of([data[begins[at] : self.ends[at]] for at in indices], self.newest_xid), changes


_CHANGES: Final = (b"I", b"U", b"D", b"T")
_RELATION: Final = b"R"


class WalProgress:
    """How far a range is read. Belongs to the reader's thread.

    Args:
        start: the first LSN at which a transaction is read.
        stop: the first one at which none is.
    """

    def __init__(self, start: int, stop: int) -> None:
        self._state = np.zeros(L.SCAN_FIELDS, np.int64)
        self._state[L.STOP_LSN] = stop
        self._state[L.FINAL_LSN] = start - 1
        self._state[L.HAS_ENDED] = 1

    def add(self, chunk: WalChunk) -> int:
        """Take the next messages; return how many come before the end of the range."""
        if not len(chunk.ends):
            return 0
        state = self._state
        state[L.DATA] = address(chunk.data)
        state[L.ENDS] = address(chunk.ends)
        state[L.COUNT] = len(chunk.ends)
        return KERNEL(L.FUNCTION_SCAN, address(state))

    def pass_over(self, lsn: int) -> None:
        """Go on at a position before which there is nothing more. No transaction is open."""
        self._state[L.FINAL_LSN] = lsn - 1

    def go_on_in(self, final_lsn: int, changes: int) -> None:
        """Go on inside of a transaction, of which some changes were taken."""
        self._state[L.FINAL_LSN] = final_lsn
        self._state[L.SINCE_BEGIN] = changes
        self._state[L.HAS_ENDED] = 0

    @property
    def is_open(self) -> bool:
        """Whether a transaction has begun and is not over."""
        return not self._state[L.HAS_ENDED]

    @property
    def lsn(self) -> int:
        """Where a stream goes on that was broken off: with the last transaction, if it is not over."""
        return int(self._state[L.FINAL_LSN]) + int(self._state[L.HAS_ENDED])

    @property
    def changes(self) -> int:
        """How many messages with changes of the transaction at `lsn` were taken."""
        return 0 if self._state[L.HAS_ENDED] else int(self._state[L.SINCE_BEGIN])
