"""Files that were found and not yet read, in the order in which they will be."""

from __future__ import annotations

import heapq
import json
from collections.abc import Iterable
from dataclasses import dataclass

from headwater.enumerators.files.split import FileStatus

__all__ = ["Backlog", "BatchLimits"]

_ENTRY_BYTES = 90
"""What a file takes in the offset beside its name: number, size, times, start, punctuation."""


@dataclass(frozen=True)
class BatchLimits:
    """What one batch may hold. Every batch takes at least one file.

    Attributes:
        max_files: so many files.
        max_bytes: so many bytes; the file that goes beyond it waits.
        max_plan_bytes: names and all, so much of the offset.
    """

    max_files: int | None = None
    max_bytes: int | None = None
    max_plan_bytes: int | None = None

    def without_users(self) -> BatchLimits:
        """Return the limits that always count: the offset's."""
        return BatchLimits(max_plan_bytes=self.max_plan_bytes)


class Backlog:
    """A heap by modification time and path, and an index by path. Belongs to the coordinator's thread.

    Args:
        latest_first: the newest file first, instead of the oldest.
    """

    def __init__(self, *, latest_first: bool = False) -> None:
        self._sign = -1 if latest_first else 1
        self._files: dict[str, FileStatus] = {}
        self._heap: list[tuple[int, str]] = []

    def __len__(self) -> int:
        return len(self._files)

    def put(self, file: FileStatus) -> None:
        """Take a file in; a file of the same path is replaced: only the last content can still be read."""
        known = self._files.get(file.url)
        self._files[file.url] = file
        if known is None or known.modified_us != file.modified_us:
            heapq.heappush(self._heap, (self._sign * file.modified_us, file.url))

    def take(self, limits: BatchLimits, most: int | None = None) -> list[FileStatus]:
        """Remove and return the files of the next batch, in order.

        Args:
            limits: of a batch.
            most: so many files and no more, even if that is none.
        """
        taken: list[FileStatus] = []
        size_bytes = plan_bytes = 0
        while (file := self._first()) is not None:
            size_bytes += file.size_bytes
            plan_bytes += _ENTRY_BYTES + len(json.dumps(file.url)) + len(file.etag or "")
            over = (
                (most is not None and len(taken) >= most)
                or (limits.max_files is not None and len(taken) >= limits.max_files)
                or (limits.max_bytes is not None and size_bytes > limits.max_bytes and bool(taken))
                or (limits.max_plan_bytes is not None and plan_bytes > limits.max_plan_bytes and bool(taken))
            )
            if over:
                break
            heapq.heappop(self._heap)
            del self._files[file.url]
            taken.append(file)
        return taken

    def put_back(self, files: Iterable[FileStatus]) -> None:
        """Take files back that were not read after all, unless a newer version of theirs was found meanwhile."""
        for file in files:
            if file.url not in self._files:
                self.put(file)

    def oldest_ms(self) -> int | None:
        """Return the modification time of the oldest file, None if there is none."""
        if self._sign == 1:
            first = self._first()
            return None if first is None else first.modified_ms
        return min((file.modified_ms for file in self._files.values()), default=None)

    def _first(self) -> FileStatus | None:
        """Return the next file, dropping entries of the heap whose file was replaced or taken."""
        while self._heap:
            key, url = self._heap[0]
            file = self._files.get(url)
            if file is not None and self._sign * file.modified_us == key:
                return file
            heapq.heappop(self._heap)
        return None
