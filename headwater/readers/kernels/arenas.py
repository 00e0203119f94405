"""Memory that is used again: to write to fresh pages costs more than the decoding itself."""

from __future__ import annotations

import threading
import weakref
from typing import NamedTuple

import numpy as np

from headwater.readers.kernels.arrays import ByteArray

_MIB = 1 << 20
_MOST_UNASKED_BYTES = 32 * _MIB
"""Larger memory is kept only while something of that order of size is asked for."""
_NO_BYTES: ByteArray = np.empty(0, np.uint8)


class _Arena(NamedTuple):
    memory: ByteArray
    lease: weakref.ref[ByteArray]
    """To the array that was lent; dead once the last view of it is gone."""

    @property
    def is_free(self) -> bool:
        return self.lease() is None


class ArenaPool:
    """Lends memory, and lends it again once no view, slice or Arrow buffer of the last lease is left.

    So a caller that keeps its Arrow batches is safe, and only pays for fresh memory. Spark's loop drops a
    batch when it asks for the next, so that two or three arenas take turns. Any thread may call. One pool
    serves a Python worker process and outlives its tasks.

    Args:
        most: how many arenas the pool remembers.
        most_bytes: a larger lease is not remembered: its memory goes back to the system with its last user.
    """

    def __init__(self, *, most: int = 4, most_bytes: int = 64 * _MIB) -> None:
        self._most = most
        self._most_bytes = most_bytes
        self._arenas: list[_Arena] = []
        self._lock = threading.Lock()

    def lease(self, size: int) -> ByteArray:
        """Return at least ``size`` bytes, whose content is undefined.

        The lease ends by itself when the last reference to it is dropped.
        """
        if size > self._most_bytes:
            return np.empty(size, np.uint8)
        # One step under the lock, from the search to the entry in the list: two threads must not find the
        # same memory free.
        with self._lock:
            memory = self._take_free(size)
            if memory is None:
                memory = np.empty(1 << max(16, (size - 1).bit_length()), np.uint8)
            # A new array for each lease. All views of it and Arrow's buffers keep this very object alive, so
            # the weak reference tells when the last one is gone.
            lease: ByteArray = np.frombuffer(memory.data, np.uint8)
            self._arenas.append(_Arena(memory, weakref.ref(lease)))
            del self._arenas[: -self._most]  # the oldest: the arenas that take turns now are the last ones
        return lease

    def _take_free(self, size: int) -> ByteArray | None:
        """Take the smallest free arena that is large enough, and forget free ones that are far too large."""
        most_bytes = max(_MOST_UNASKED_BYTES, 8 * size)
        self._arenas = [
            arena for arena in self._arenas if arena.memory.size <= most_bytes or not arena.is_free
        ]
        fitting = [arena for arena in self._arenas if arena.memory.size >= size and arena.is_free]
        if not fitting:
            return None
        smallest = min(fitting, key=lambda arena: arena.memory.size)
        self._arenas = [arena for arena in self._arenas if arena is not smallest]
        return smallest.memory


PROCESS_POOL = ArenaPool()
"""The pool of this Python worker."""


class Scratch:
    """Bytes that grow at their end: compressed batches are decompressed into it, one after the other.

    One thread.
    """

    def __init__(self, pool: ArenaPool) -> None:
        self._pool = pool
        self._memory = _NO_BYTES
        self.size = 0

    def room(self, size: int) -> memoryview:
        """Return the free room after the last byte, at least ``size`` bytes.

        After writing there, the caller adds the number of bytes written to the attribute `size`.
        """
        if self._memory.size - self.size < size:
            # At least twice as much, so that growing bit by bit does not copy everything each time.
            grown = self._pool.lease(self.size + max(size, self.size))
            grown[: self.size] = self._memory[: self.size]
            self._memory = grown
        return self._memory.data[self.size :]

    def bytes(self) -> ByteArray:
        """Return the bytes written so far. Valid until `room` or `clear` is called again."""
        return self._memory[: self.size]

    def clear(self) -> None:
        """Start anew, in the same memory unless it has grown far beyond its usual size."""
        self.size = 0
        if self._memory.size > _MOST_UNASKED_BYTES:
            self._memory = _NO_BYTES
