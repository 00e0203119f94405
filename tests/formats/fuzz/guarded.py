"""Memory between two pages that nobody may touch: who reads or writes outside of it dies of it."""

from __future__ import annotations

import ctypes
import mmap
import os

import numpy as np

from headwater.readers.kernels.arrays import ByteArray

_PROT_NONE = 0
_LIBC = ctypes.CDLL(None, use_errno=True)


class GuardedMemory:
    """Pages with a forbidden one before and one behind them. The memory lives as long as a view of it.

    Args:
        size: so many bytes at least.
    """

    def __init__(self, size: int) -> None:
        inside = -(-max(size, 1) // mmap.PAGESIZE) * mmap.PAGESIZE
        pages = mmap.mmap(
            -1, inside + 2 * mmap.PAGESIZE, flags=mmap.MAP_PRIVATE | getattr(mmap, "MAP_ANONYMOUS", 0)
        )
        whole: ByteArray = np.frombuffer(pages, np.uint8)
        first = int(whole.__array_interface__["data"][0])
        for page in (first, first + mmap.PAGESIZE + inside):
            if _LIBC.mprotect(ctypes.c_void_p(page), ctypes.c_size_t(mmap.PAGESIZE), _PROT_NONE):
                raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        self._inside = whole[mmap.PAGESIZE : -mmap.PAGESIZE]

    @property
    def size(self) -> int:
        """How many bytes there are."""
        return self._inside.size

    def at_end(self, size: int) -> ByteArray:
        """Return the last bytes: the first one behind them is forbidden."""
        return self._inside[self._inside.size - size :]

    def at_begin(self, size: int) -> ByteArray:
        """Return the first bytes: the one before them is forbidden."""
        return self._inside[:size]


def guarded_lease(size: int) -> ByteArray:
    """Return memory for columns, in place of `ArenaPool.lease`: exactly so much, behind which nothing is."""
    return GuardedMemory(size).at_end(size)
