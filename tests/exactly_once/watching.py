"""Watches folders with the kernel's inotify: without polling, without a gap, within a millisecond."""

from __future__ import annotations

import ctypes
import os
import select
import struct
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.patience import PATIENCE_S

__all__ = ["FolderWatch"]

IN_MOVED_TO = 0x80
IN_CREATE = 0x100
HEAD = struct.Struct("iIII")
"""The head of an event: watch, mask, cookie, length of the name."""


class FolderWatch:
    """Names the files that appear in some folders: created there, or renamed to there.

    A context manager; one thread.

    Args:
        folders: must exist; what is below them is not watched.
    """

    def __init__(self, folders: Iterable[Path]) -> None:
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._descriptor = self._checked(self._libc.inotify_init1(os.O_CLOEXEC))
        watched = {
            folder: self._libc.inotify_add_watch(
                self._descriptor, os.fsencode(folder), IN_MOVED_TO | IN_CREATE
            )
            for folder in folders
        }
        self._folders = {self._checked(watch): folder for folder, watch in watched.items()}
        self._events: deque[Path] = deque()

    def next(self, timeout_s: float) -> Path | None:
        """Return the next file that appears, None if none does within the time."""
        if not self._events and select.select([self._descriptor], [], [], timeout_s)[0]:
            self._read()
        return self._events.popleft() if self._events else None

    def files(self, timeout_s: float, check: Callable[[], object]) -> Iterator[Path]:
        """Yield the files that appear.

        Args:
            timeout_s: for all of them together.
            check: called when nothing has appeared for a second; raises if there is nothing to wait for.

        Raises:
            AssertionError: the time is over.
        """
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline:
            found = self.next(timeout_s=1)
            if found is not None:
                yield found
            else:
                check()
        raise AssertionError(f"what was waited for did not appear in {timeout_s:.0f} s")

    def wait_for(self, count: int, check: Callable[[], object]) -> None:
        """Return when more than so many files have appeared; ``check`` as for `files`.

        Patience counts from the last one: on a busy machine many files take longer than one of them may.
        """
        for _ in range(count + 1):
            next(self.files(PATIENCE_S, check))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        os.close(self._descriptor)

    def _read(self) -> None:
        data = os.read(self._descriptor, 1 << 16)
        at = 0
        while at < len(data):
            watch, _, _, length = HEAD.unpack_from(data, at)
            name = data[at + HEAD.size : at + HEAD.size + length].rstrip(b"\0")
            self._events.append(self._folders[watch] / os.fsdecode(name))
            at += HEAD.size + length

    @staticmethod
    def _checked(answer: int) -> int:
        if answer < 0:
            raise OSError(ctypes.get_errno(), "inotify")
        return answer
