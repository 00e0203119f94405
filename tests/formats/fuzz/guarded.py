"""Memory between two pages that nobody may touch: who reads or writes outside of it dies of it."""

from __future__ import annotations

import contextlib
import ctypes
import math
import mmap
import os
import sys
from collections.abc import Iterator
from typing import Any
from unittest import mock

import numpy as np

from headwater.readers.kernels.arenas import PROCESS_POOL
from headwater.readers.kernels.arrays import ByteArray

_GUARDED = ("headwater.readers.formats.", "headwater.readers.files.", "headwater.readers.kafka.")
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


class GuardedNumpy:
    """Numpy for a module that hands arrays to a kernel: new ones lie between forbidden pages.

    Nobody counts on what is in new memory: each has other bytes in it.
    """

    def __init__(self) -> None:
        self._made = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)

    def empty(self, shape: Any, dtype: Any = float) -> Any:
        """Return memory behind which nothing is, for as many elements."""
        self._made += 1
        size = math.prod(np.atleast_1d(shape).tolist()) * np.dtype(dtype).itemsize
        memory = GuardedMemory(size).at_end(size)
        memory[:] = self._made % 251
        return memory.view(dtype).reshape(shape)

    def zeros(self, shape: Any, dtype: Any = float) -> Any:
        """Return the same, with zeros in it."""
        made = self.empty(shape, dtype)
        made.view(np.uint8)[...] = 0
        return made

    def frombuffer(self, data: Any, dtype: Any) -> Any:
        """Return a copy of other memory; what is an array lies between forbidden pages already."""
        if isinstance(data, np.ndarray):
            return np.frombuffer(data, dtype)
        return guarded_copy(np.frombuffer(data, np.uint8)).view(dtype)


def guarded_copy(data: ByteArray) -> ByteArray:
    """Return a copy behind which nothing is."""
    copy = GuardedMemory(data.size).at_end(data.size)
    copy[:] = data
    return copy


@contextlib.contextmanager
def guarded_modules() -> Iterator[None]:
    """Let columns, and all arrays that the decoders' modules make, lie between forbidden pages."""
    with contextlib.ExitStack() as patches:
        patches.enter_context(mock.patch.object(PROCESS_POOL, "lease", _guarded_lease))
        for name, module in list(sys.modules.items()):
            is_kernel = ".kernel." in name or name.endswith(".kernel")
            if name.startswith(_GUARDED) and hasattr(module, "np") and not is_kernel:
                patches.enter_context(mock.patch.object(module, "np", GuardedNumpy()))
        yield


def _guarded_lease(size: int) -> ByteArray:
    """Return memory for columns, in place of `ArenaPool.lease`: exactly so much, behind which nothing is."""
    return GuardedMemory(size).at_end(size)
