"""Memory between two pages that nobody may touch: who reads or writes outside of it dies of it."""

from __future__ import annotations

import contextlib
import ctypes
import math
import mmap
import os
import sys
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from typing import Any, Final
from unittest import mock

import numpy as np

from headwater.readers.kafka import rows
from headwater.readers.kernels.arenas import PROCESS_POOL
from headwater.readers.kernels.arrays import ByteArray

_GUARDED = tuple(f"headwater.readers.{each}." for each in ("formats", "files", "kafka", "postgres"))
_PROT_NONE = 0
_LIBC = ctypes.CDLL(None, use_errno=True)


class _Pages:
    """Pages with a forbidden one before and one behind them; forbidden themselves while nobody has them.

    Args:
        count: how many there are.
    """

    def __init__(self, count: int) -> None:
        anonymous = mmap.MAP_PRIVATE | getattr(mmap, "MAP_ANONYMOUS", 0)
        self._mapped = mmap.mmap(-1, (count + 2) * mmap.PAGESIZE, flags=anonymous)
        first = ctypes.addressof(ctypes.c_uint8.from_buffer(self._mapped))
        _protect(first, count + 2, _PROT_NONE)
        self._count = count
        self._address = first + mmap.PAGESIZE

    def lend(self) -> ByteArray:
        """Return the pages, until no view of them lives."""
        _protect(self._address, self._count, mmap.PROT_READ | mmap.PROT_WRITE)
        lent = _lent_type(self._count * mmap.PAGESIZE).from_address(self._address)
        lent.pages = self
        return np.frombuffer(lent, np.uint8)

    def take_back(self) -> None:
        """Keep the pages for the next one: to map others takes longer than to decode a few records."""
        # Who reads here now dies of it, as where there is no such memory any more.
        _protect(self._address, self._count, _PROT_NONE)
        if self._count <= _MOST_PAGES and len(_FREE[self._count]) < _MOST_FREE:
            _FREE[self._count].append(self)


_MOST_FREE: Final = 16
_MOST_PAGES: Final = 64
"""Larger pieces have so many sizes that all memory would be kept, and take long anyway."""
_FREE: Final[dict[int, list[_Pages]]] = defaultdict(list)
"""Those that nobody has, by their number of pages."""


@cache
def _lent_type(size: int) -> Any:
    """Return a type of arrays that give their pages back when they are gone."""
    return type("Lent", (ctypes.c_uint8 * size,), {"__del__": lambda lent: lent.pages.take_back()})


def _protect(address: int, pages: int, access: int) -> None:
    if _LIBC.mprotect(ctypes.c_void_p(address), ctypes.c_size_t(pages * mmap.PAGESIZE), access):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


class GuardedMemory:
    """Pages with a forbidden one before and one behind them. The memory lives as long as a view of it.

    Args:
        size: so many bytes at least.
    """

    def __init__(self, size: int) -> None:
        count = -(-max(size, 1) // mmap.PAGESIZE)
        free = _FREE[count]
        pages = free.pop() if free else _Pages(count)
        self._inside = pages.lend()

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
        size = (shape if isinstance(shape, int) else math.prod(shape)) * np.dtype(dtype).itemsize
        memory = GuardedMemory(size).at_end(size)
        memory[:] = self._made % 251
        return memory.view(dtype).reshape(shape)

    def zeros(self, shape: Any, dtype: Any = float) -> Any:
        """Return the same, with zeros in it."""
        made = self.empty(shape, dtype)
        made.view(np.uint8)[...] = 0
        return made

    def full(self, shape: Any, value: Any, dtype: Any) -> Any:
        """Return the same, with a value in it."""
        made = self.empty(shape, dtype)
        made[...] = value
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
        # No room for more rows than there may be: it would lie before the forbidden page.
        patches.enter_context(mock.patch.multiple(rows, _USUAL_ROWS=1, _USUAL_BYTES=1))
        patches.enter_context(mock.patch.multiple(rows, _ROWS_STEP=1, _BYTES_STEP=1))
        for name, module in list(sys.modules.items()):
            is_kernel = ".kernel." in name or name.endswith(".kernel")
            if name.startswith(_GUARDED) and hasattr(module, "np") and not is_kernel:
                patches.enter_context(mock.patch.object(module, "np", GuardedNumpy()))
        yield


def _guarded_lease(size: int) -> ByteArray:
    """Return memory for columns, in place of `ArenaPool.lease`: exactly so much, behind which nothing is."""
    return GuardedMemory(size).at_end(size)
