"""Files that were found and not yet read, in the order in which they will be."""

from __future__ import annotations

import heapq
import json
from collections.abc import Iterable
from dataclasses import dataclass, replace

from headwater.enumerators.files.split import FileStatus

_ENTRY_BYTES = 90
"""The bytes of a file in the offset beside its path and etag: number, size, times, start, punctuation."""


@dataclass(frozen=True, kw_only=True)
class BatchLimits:
    """The limits of one batch. Every batch takes at least one file.

    Attributes:
        max_files: so many files.
        max_bytes: so many bytes; the file that goes beyond it waits.
        max_plan_bytes: so many bytes of the offset, for the entries of the files.
    """

    max_files: int | None = None
    max_bytes: int | None = None
    max_plan_bytes: int | None = None

    def without_users(self) -> BatchLimits:
        """Return the limits that always count: the offset's."""
        return BatchLimits(max_plan_bytes=self.max_plan_bytes)

    def within(self, *max_bytes: int | None) -> BatchLimits:
        """Return these limits with others of bytes."""
        limits = [each for each in (self.max_bytes, *max_bytes) if each is not None]
        return replace(self, max_bytes=min(limits, default=None))

    def exceeded(self, files: int, size_bytes: int, plan_bytes: int) -> bool:
        """Whether so many files of these sizes are more than one batch may hold."""
        limits = ((files, self.max_files), (size_bytes, self.max_bytes), (plan_bytes, self.max_plan_bytes))
        return any(limit is not None and value > limit for value, limit in limits)


class FileBacklog:
    """A heap by modification time and path, and an index by path. Used on the coordinator's thread only.

    Args:
        latest_first: the newest file first, instead of the oldest.

    Attributes:
        size_bytes: of all files together.
    """

    def __init__(self, *, latest_first: bool = False) -> None:
        self._latest_first = latest_first
        self._files: dict[str, FileStatus] = {}
        self.size_bytes = 0
        # May hold entries of files that were replaced or taken: `_first` drops them when they come up.
        self._heap: list[tuple[int, str]] = []

    def __len__(self) -> int:
        return len(self._files)

    def put(self, file: FileStatus) -> None:
        """Take a file in; a file of the same path is replaced: only the last content can still be read."""
        previous = self._files.get(file.url)
        self._files[file.url] = file
        self.size_bytes += file.size_bytes - (previous.size_bytes if previous else 0)
        if previous is None or previous.modified_us != file.modified_us:
            heapq.heappush(self._heap, (self._key(file), file.url))

    def put_back(self, files: Iterable[FileStatus]) -> None:
        """Take back files that were not read after all, unless a newer version was found meanwhile."""
        for file in files:
            if file.url not in self._files:
                self.put(file)

    def files(self) -> list[FileStatus]:
        """Return all files, in no order."""
        return list(self._files.values())

    def drop(self, files: Iterable[FileStatus]) -> None:
        """Forget files that are never read."""
        for file in files:
            self._remove(file.url)

    def take(self, limits: BatchLimits, most: int | None = None) -> list[FileStatus]:
        """Remove and return the files of the next batch, in order.

        Args:
            limits: of a batch.
            most: so many files and no more, even if that is none.
        """
        batch: list[FileStatus] = []
        size_bytes = 0
        plan_bytes = 0
        while most is None or len(batch) < most:
            file = self._first()
            if file is None:
                break
            size_bytes += file.size_bytes
            plan_bytes += _ENTRY_BYTES + len(json.dumps(file.url)) + len(file.etag or "")
            # One file is always taken: a file that is larger than a batch would never be read.
            if batch and limits.exceeded(len(batch) + 1, size_bytes, plan_bytes):
                break
            heapq.heappop(self._heap)
            self._remove(file.url)
            batch.append(file)
        return batch

    def oldest_ms(self) -> int | None:
        """Return the modification time of the oldest file, None if there is none."""
        if self._latest_first:
            return min((file.modified_ms for file in self._files.values()), default=None)
        first = self._first()
        return None if first is None else first.modified_ms

    def _remove(self, url: str) -> None:
        file = self._files.pop(url, None)
        self.size_bytes -= file.size_bytes if file else 0

    def _first(self) -> FileStatus | None:
        """Return the next file, dropping entries of the heap whose file was replaced or taken."""
        while self._heap:
            key, url = self._heap[0]
            file = self._files.get(url)
            if file is not None and self._key(file) == key:
                return file
            heapq.heappop(self._heap)
        return None

    def _key(self, file: FileStatus) -> int:
        """Return the key of the heap: Python's has the smallest first."""
        return -file.modified_us if self._latest_first else file.modified_us
