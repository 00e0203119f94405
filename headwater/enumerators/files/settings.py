"""The settings of file discovery, and the check that a batch's pattern matches something, as in Spark."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Literal, TypeAlias, TypeVar

from headwater.core.clock import Clock
from headwater.core.errors import UnknownSplitError
from headwater.core.retry import Backoff, retrying
from headwater.core.state_store import StateStore
from headwater.enumerators.files.arrivals import ArrivalWatch
from headwater.enumerators.files.backlog import BatchLimits
from headwater.enumerators.files.cleaner import CleanSource
from headwater.enumerators.files.discovery import FileDiscovery
from headwater.enumerators.files.event_queue import QueueSettings
from headwater.enumerators.files.filesystem import file_errors, open_file_system, status_url
from headwater.enumerators.files.folder_columns import FolderColumns
from headwater.enumerators.files.listing import Ask, FileLister, ObjectLister, lister_for
from headwater.enumerators.files.queues import queue_of
from headwater.enumerators.files.selection import FileSelection, SelectedPath
from headwater.enumerators.files.split import FileStatus

T = TypeVar("T")


@dataclass(frozen=True)
class MatchingLister(FileLister):
    """Lists a path with wildcards, which must match a file or a folder, if only an empty one.

    Attributes:
        lister: of the path.
        path: that is listed.
        storage_options: for the file system.
    """

    lister: FileLister
    path: SelectedPath
    storage_options: Mapping[str, object]

    def pages(self) -> Iterator[list[FileStatus]]:
        has_files = False
        for page in self.lister.pages():
            has_files = has_files or bool(page)
            yield page
        if not has_files and not self._has_match():
            raise UnknownSplitError(
                "no file and no folder matches this pattern", source="files", split=self.path.url
            )

    def _has_match(self) -> bool:
        fs, root = open_file_system(self.path.root, self.storage_options)
        folders = [root.rstrip("/")]
        for pattern in self.path.patterns:
            below: list[str] = []
            for folder in folders:
                with file_errors("listing", status_url(fs, folder)):
                    entries = fs.ls(folder, detail=False) if fs.isdir(folder) else []
                names = (entry.rstrip("/") for entry in entries)
                below += [name for name in names if pattern.fullmatch(name.rpartition("/")[2])]
            folders = below
        return bool(folders)


OnChange: TypeAlias = Literal["error", "ignore", "read"]
"""The treatment of a path that was read and has another content now: fail, go on, or read it again."""

OnLateFile: TypeAlias = Literal["warn", "fail"]
"""The treatment of files that are older than the memory: count them and go on, or fail."""


@dataclass(frozen=True, kw_only=True)
class FilesSettings:
    """The options for finding files.

    Attributes:
        selection: which files.
        limits: of a batch.
        backoff: how long to go on asking a store that is away or throttles.
        latest_first: the newest files first.
        window_ms: files that arrive with a modification time so much older than the newest one are not read.
        on_late_file: the treatment of such files.
        on_change: the treatment of a path whose content changed.
        clean: the treatment of committed files, None if they stay.
        store: where names go that do not fit into the offset, None if there is no such place.
        queue: where notifications about new files are, None if files are found by listing alone.
        remember: whether this is a stream. A batch read sees every file once, and remembers nothing.
        is_fixed: whether only the files of the first complete listing are read, in the life of a checkpoint.
        schema: the schema that was inferred, to be kept in the offset, or None if the user gave one.
    """

    selection: FileSelection
    limits: BatchLimits
    backoff: Backoff
    latest_first: bool = False
    window_ms: int = 7 * 24 * 3600 * 1000
    on_late_file: OnLateFile = "warn"
    on_change: OnChange = "error"
    clean: CleanSource | None = None
    store: StateStore | None = field(default=None, repr=False)
    queue: QueueSettings | None = None
    remember: bool = True
    is_fixed: bool = False
    schema: str | None = None

    @property
    def folder_columns(self) -> FolderColumns:
        """The finder of columns in the paths of files."""
        return FolderColumns(self.selection.paths, self.selection.base_path)

    def discovery(self, clock: Clock, *, is_new: bool) -> FileDiscovery:
        """Return the listers of the paths. Opens nothing.

        Args:
            clock: for the waits between questions.
            is_new: whether the query has never read there (`Retry`).
        """
        closing = threading.Event()
        ask = _Asking(self.backoff, clock, closing, is_new=is_new)
        listers = partial(self._listers if self.remember else self._strict_listers, ask)
        if self.queue is None:
            return FileDiscovery(listers, self.selection, clock, closing=closing)
        return FileDiscovery(
            listers,
            self.selection,
            clock,
            closing=closing,
            arrivals=ArrivalWatch(queue_of(self.queue), partial(_find, cache(listers)), clock, closing),
            interval_ms=self.queue.listing_interval_ms,
        )

    def listers(self, clock: Clock) -> list[FileLister]:
        """Return the listers of all paths. Opens their file systems, and asks them nothing.

        Args:
            clock: for the waits between questions.

        Raises:
            OptionError: a path's protocol is unknown, or the storage options do not fit it.
            MissingDependencyError: the file system's library is not installed.
        """
        return self._listers(_Asking(self.backoff, clock, threading.Event(), is_new=True))

    def _listers(self, ask: Ask) -> list[FileLister]:
        return [lister_for(path, self.selection.storage_options, ask) for path in self.selection.paths]

    def _strict_listers(self, ask: Ask) -> list[FileLister]:
        """Return those of a batch, whose patterns must match something."""
        options = self.selection.storage_options
        pairs = zip(self._listers(ask), self.selection.paths, strict=True)
        return [MatchingLister(lister, path, options) if path.patterns else lister for lister, path in pairs]


class _Asking:
    """Asks a store again after failures that pass; briefly as long as nothing has ever answered there.

    Args:
        backoff: waits and deadline.
        clock: time.
        cancelled: set by another thread, it ends the waits.
        is_new: whether nothing has answered yet.
    """

    def __init__(self, backoff: Backoff, clock: Clock, cancelled: threading.Event, *, is_new: bool) -> None:
        self._backoff = backoff
        self._clock = clock
        self._cancelled = cancelled
        self._is_new = is_new

    def __call__(self, call: Callable[[], T], *, what: str) -> T:
        answer = retrying(
            call,
            backoff=self._backoff,
            clock=self._clock,
            cancelled=self._cancelled,
            what=what,
            is_new=self._is_new,
        )
        self._is_new = False
        return answer


def _find(listers: Callable[[], Sequence[FileLister]], bucket: str, key: str) -> FileStatus | None:
    """Return the present status of an object; None if no path selects it, or it is gone."""
    matches = (lister.find(bucket, key) for lister in listers() if isinstance(lister, ObjectLister))
    return next((file for file in matches if file is not None), None)
