"""Memory that is used again: fresh pages cost more than the decoding itself."""

from __future__ import annotations

import threading
import weakref
from typing import NamedTuple

import numpy as np

from headwater.readers.kafka.layout import ByteArray

__all__ = ["PROCESS_POOL", "BufferPool", "Scratch"]

_MIB = 1 << 20
_MOST_UNASKED_BYTES = 32 * _MIB
_NO_BYTES: ByteArray = np.empty(0, np.uint8)


class _Kept(NamedTuple):
    memory: ByteArray
    user: weakref.ref[ByteArray]


class BufferPool:
    """Lends memory, and lends it again once nobody holds the loan any more.

    No view of it, no Arrow buffer made of a view, no slice of those.

    So a caller who keeps Arrow batches is safe, and merely pays for fresh memory. In Spark's loop, which
    drops a batch when it asks for the next, two or three loans take turns. Any thread may call; one pool
    serves a Python worker process and outlives its tasks.

    Args:
        most: how many loans the pool keeps for later.
        most_bytes: a larger loan is not kept: its memory goes back to the system with its last user.
    """

    def __init__(self, *, most: int = 4, most_bytes: int = 64 * _MIB) -> None:
        self._most, self._most_bytes = most, most_bytes
        self._kept: list[_Kept] = []
        self._lock = threading.Lock()

    def lease(self, size: int) -> ByteArray:
        """Return at least ``size`` bytes with anything in them.

        There is nothing to give back: dropping the last reference does it.
        """
        if size > self._most_bytes:
            return np.empty(size, np.uint8)
        with self._lock:
            memory = self._take_free(size)
            if memory is None:
                memory = np.empty(1 << max(16, (size - 1).bit_length()), np.uint8)
            # A new array each time: all views of it, and Arrow's buffers, keep this very object alive, and
            # the weak reference tells.
            loan: ByteArray = np.frombuffer(memory.data, np.uint8)
            self._kept.append(_Kept(memory, weakref.ref(loan)))
            del self._kept[: -self._most]  # those that take turns now are the last ones
        return loan

    def _take_free(self, size: int) -> ByteArray | None:
        """Take the smallest free memory that is large enough, and forget what is free and far too large."""
        most = max(_MOST_UNASKED_BYTES, 8 * size)
        self._kept = [kept for kept in self._kept if kept.memory.size <= most or kept.user() is not None]
        fitting = [kept for kept in self._kept if kept.memory.size >= size and kept.user() is None]
        if not fitting:
            return None
        found = min(fitting, key=lambda kept: kept.memory.size)
        self._kept = [kept for kept in self._kept if kept is not found]
        return found.memory

    @property
    def kept_bytes(self) -> int:
        """How much memory the pool holds or will get back.

        Pages that nobody wrote to are counted, though the system never made them.
        """
        return sum(kept.memory.size for kept in self._kept)


PROCESS_POOL = BufferPool()
"""The pool of this Python worker."""


class Scratch:
    """Bytes that grow at their end and are used again.

    Where compressed batches are laid down one after the other. One thread.
    """

    def __init__(self, pool: BufferPool) -> None:
        self._pool = pool
        self._memory = _NO_BYTES
        self.size = 0

    def room(self, size: int) -> memoryview:
        """Return all the room after the last byte, at least ``size`` bytes.

        What is written there counts once `size` is raised.
        """
        if self._memory.size - self.size < size:
            grown = self._pool.lease(self.size + size)
            grown[: self.size] = self._memory[: self.size]
            self._memory = grown
        return self._memory.data[self.size :]

    def bytes(self) -> ByteArray:
        """Return what was written. Valid until `room` or `clear` is called."""
        return self._memory[: self.size]

    def clear(self) -> None:
        """Start anew, in the same memory unless it has grown far beyond the usual."""
        self.size = 0
        if self._memory.size > _MOST_UNASKED_BYTES:
            self._memory = _NO_BYTES
