"""Lists paths page by page, so that a folder of a million files is never in memory at once."""

from __future__ import annotations

import errno
import os
import stat
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any, TypeAlias, cast

from headwater.core.errors import SourceError, UnknownSplitError
from headwater.core.redaction import logger_of
from headwater.enumerators.files.filesystem import file_errors, open_file_system, status_url
from headwater.enumerators.files.selection import SelectedPath
from headwater.enumerators.files.split import FileStatus

log = logger_of(__name__)

_PAGE_FILES = 1_000
_ENDLESS = frozenset({errno.ELOOP, errno.ENAMETOOLONG})
"""The errors of the system for a path that leads through a link to a folder above it, again and again."""
_TIME_KEYS = ("mtime", "LastModified", "last_modified", "updated", "modified", "timeModified", "created")
"""Under which names the file systems of fsspec tell the modification time, the first that is there counts."""


Ask: TypeAlias = Callable[..., Any]
"""How to ask a store that may fail for a passing reason.

``ask(call, what=...)`` returns the result of ``call``, and calls it again after such failures; ``what`` is
for messages.
"""


class FileLister(ABC):
    """Lists one path. Used by one thread at a time; keeps nothing between two listings."""

    @abstractmethod
    def pages(self) -> Iterator[list[FileStatus]]:
        """Yield the files that the path selects, in pages of the store's choice, in any order.

        Files without a byte are left out. Changes meanwhile may be contained or not; a file or folder
        that vanishes meanwhile is left out.

        Raises:
            UnknownSplitError: the root of the path does not exist.
            SourceError: of the store, after passing failures were retried; or files lie in folders
                that are columns, and others in folders that are not.
        """


def lister_for(path: SelectedPath, storage_options: Mapping[str, object], ask: Ask) -> FileLister:
    """Return the lister that suits the file system of a path.

    Args:
        path: that is listed.
        storage_options: for the file system.
        ask: how to ask a store that may fail for a passing reason.

    Raises:
        SourceError: of the store, where opening it asks it.
    """

    def opened() -> tuple[Any, str]:
        with file_errors("opening", path.root):
            return open_file_system(path.root, storage_options)

    fs, root = ask(opened, what=f"opening of {path.root}")
    protocols = {fs.protocol} if isinstance(fs.protocol, str) else set(fs.protocol)
    if "file" in protocols:
        return LocalLister(path, root)
    if "s3" in protocols and hasattr(fs, "call_s3"):
        return S3Lister(path, opened, ask)
    return FolderLister(path, opened, ask)


@dataclass(frozen=True)
class LocalLister(FileLister):
    """The local file system, by ``os.scandir``: a name and a ``stat`` each."""

    path: SelectedPath
    root: str

    def pages(self) -> Iterator[list[FileStatus]]:
        with file_errors("listing", self.root):
            status = os.stat(self.root)  # noqa: PTH116 - os.scandir takes and gives strings
        if not stat.S_ISDIR(status.st_mode):
            yield [_local_status(self.root, status)] if status.st_size and self.path.takes(()) else []
            return
        # Folders that are still to be listed, each with its names below the root.
        pending: list[tuple[str, tuple[str, ...]]] = [(self.root, ())]
        listing = PathListing(self.path)
        while pending:
            folder, names = pending.pop()
            yield from self._folder(folder, names, pending, listing)

    def _folder(
        self,
        folder: str,
        names: tuple[str, ...],
        pending: list[tuple[str, tuple[str, ...]]],
        listing: PathListing,
    ) -> Iterator[list[FileStatus]]:
        page: list[FileStatus] = []
        try:
            with file_errors("listing", folder), os.scandir(folder) as entries:
                for entry in entries:
                    below = (*names, entry.name)
                    if _is_folder(entry):
                        if self.path.descends(below):
                            pending.append((entry.path, below))
                    elif listing.takes(below):
                        page += _present(entry)
                    if len(page) >= _PAGE_FILES:
                        yield page
                        page = []
        except UnknownSplitError:
            log.debug("%s was removed since its parent was listed", folder)
        yield page


def _is_folder(entry: os.DirEntry[str]) -> bool:
    """Whether an entry is a folder, or a link to one; not where links lead to no end, as in Spark."""
    try:
        return entry.is_dir()
    except OSError as error:
        if error.errno not in _ENDLESS:
            raise
        return False


def _present(entry: os.DirEntry[str]) -> list[FileStatus]:
    """Return the file of an entry.

    Nothing if it is empty, was removed since its folder was listed, or is a link that leads to no end.
    """
    try:
        status = entry.stat()
    except OSError as error:
        if not isinstance(error, FileNotFoundError) and error.errno not in _ENDLESS:
            raise
        return []
    return [_local_status(entry.path, status)] if status.st_size else []


def _local_status(path: str, status: os.stat_result) -> FileStatus:
    return FileStatus(f"file://{path}", status.st_size, status.st_mtime_ns // 1000)


@dataclass(frozen=True)
class ObjectLister(FileLister):
    """Lists a path of a store, whose objects can also be looked at one by one, by many threads at once.

    Attributes:
        path: that is listed.
        opened: returns the file system, and the path's root in it. Called each time anew: fsspec gives the
            same file system again, unless its connection was closed.
        ask: how to ask the store.
    """

    path: SelectedPath
    opened: Callable[[], tuple[Any, str]]
    ask: Ask

    def find(self, bucket: str, key: str) -> FileStatus | None:
        """Return the present status of an object, as a listing would; None if it is gone or is not selected.

        Raises:
            SourceError: of the store, after passing failures were retried.
        """
        fs, root = self.ask(self.opened, what=f"opening of {self.path.root}")
        path = f"{bucket}/{key}"
        names = _names_below(path, root.rstrip("/"))
        if names is None or not self.path.takes(names):
            return None
        try:
            status: FileStatus = self.ask(partial(self._look, path), what=f"a look at {status_url(fs, path)}")
        except UnknownSplitError:
            return None
        return status if status.size_bytes else None

    def _look(self, path: str) -> FileStatus:
        fs, _ = self.opened()
        with file_errors("looking", status_url(fs, path)):
            return present_status(fs, path)


def _names_below(path: str, root: str) -> list[str] | None:
    """Return the names of an object below a root; None if it is elsewhere."""
    if not path.startswith(root):
        return None
    below = path[len(root) :]
    # A prefix is text: `in` begins `inside/a` too.
    if below and not below.startswith("/"):
        return None
    return [name for name in below.split("/") if name]


@dataclass(frozen=True)
class S3Lister(ObjectLister):
    """S3 and stores of its protocol: flat pages of a prefix, as ``ListObjectsV2`` gives them."""

    def pages(self) -> Iterator[list[FileStatus]]:
        fs, root = self.opened()
        bucket, _, prefix = root.partition("/")
        more: dict[str, str] = {}
        listing = PathListing(self.path)
        while True:
            list_page = partial(self._list, fs, Bucket=bucket, Prefix=prefix, **more)
            answer = self.ask(list_page, what=f"listing of s3://{root}")
            # Objects without a byte are left out: no file, or the marker of a folder.
            objects = [
                (f"{bucket}/{item['Key']}", item) for item in answer.get("Contents", ()) if item["Size"]
            ]
            yield [
                FileStatus(f"s3://{path}", item["Size"], _time_us(item), item["ETag"].strip('"'))
                for path, item in objects
                if (names := _names_below(path, root)) is not None and listing.takes(names)
            ]
            if not answer.get("IsTruncated"):
                break
            more = {"ContinuationToken": answer["NextContinuationToken"]}

    @staticmethod
    def _list(fs: Any, **query: str) -> Any:
        """Ask for one page."""
        with file_errors("listing", f"s3://{query['Bucket']}/{query['Prefix']}".rstrip("/")):
            return fs.call_s3("list_objects_v2", MaxKeys=_PAGE_FILES, **query)


@dataclass(frozen=True)
class FolderLister(ObjectLister):
    """Any file system of fsspec: a page for each folder."""

    def pages(self) -> Iterator[list[FileStatus]]:
        fs, whole = self.ask(self.opened, what=f"opening of {self.path.root}")
        root = whole.rstrip("/")
        pending: list[tuple[str, tuple[str, ...]]] = [(root, ())]
        listing = PathListing(self.path)
        while pending:
            folder, names = pending.pop()
            list_folder = partial(self._list, folder, is_root=not names)
            listed = self.ask(list_folder, what=f"listing of {status_url(fs, folder)}")
            page: list[FileStatus] = []
            for item in listed:
                name = item["name"].rstrip("/").rpartition("/")[2]
                # Asked to list a file, a file system names that file: it has no names below the root.
                below = () if item["name"] == root else (*names, name)
                if item["type"] == "directory":
                    if below and self.path.descends(below):
                        pending.append((item["name"], below))
                elif item["size"] and listing.takes(below):
                    page.append(_status_of(fs, item))
            yield page

    def _list(self, folder: str, *, is_root: bool) -> list[dict[str, Any]]:
        fs, _ = self.opened()
        with file_errors("listing", status_url(fs, folder)):
            # fsspec keeps listings: without this, files that came since would never be found.
            fs.invalidate_cache(folder)
            try:
                return cast("list[dict[str, Any]]", fs.ls(folder, detail=True))
            except FileNotFoundError:
                if is_root:
                    raise
                return []  # it was removed since its parent was listed


def present_status(fs: Any, path: str) -> FileStatus:
    """Return the present status of a file, exactly as a listing would; asks the store.

    Raises:
        OSError: of the file system.
    """
    if "file" in fs.protocol:
        # Not by fsspec, whose times are floats: these lose microseconds.
        return _local_status(path, os.stat(path))  # noqa: PTH116 - as in `LocalLister`
    fs.invalidate_cache()
    return _status_of(fs, fs.info(path))


def _status_of(fs: Any, item: Mapping[str, Any]) -> FileStatus:
    """Return the status that a file system's ``info`` or ``ls`` gives."""
    etag = item.get("ETag") or item.get("etag")
    text = str(etag).strip('"') if etag else None
    return FileStatus(status_url(fs, item["name"]), item["size"], _time_us(item), text)


def _time_us(item: Mapping[str, Any]) -> int:
    """Return the modification time, 0 where the file system tells none."""
    time = next((item[key] for key in _TIME_KEYS if item.get(key) is not None), 0)
    if isinstance(time, str):
        time = datetime.fromisoformat(time)
    seconds = time.timestamp() if isinstance(time, datetime) else time
    return int(seconds * 1_000_000)


class PathListing:
    """Looks at each file that a listing finds. One for each listing; used by its thread.

    Args:
        path: that is listed.
    """

    def __init__(self, path: SelectedPath) -> None:
        self._path = path
        # The first file in `key=value` folders, and the first one that is left out for its folder.
        self._in_columns: Sequence[str] | None = None
        self._left_out: Sequence[str] | None = None

    def takes(self, names: Sequence[str]) -> bool:
        """Return whether a file is read, given as names below the path's root.

        Raises:
            SourceError: there are files in folders that are columns, and others in folders that are not.
                Spark refuses these too; without the former it leaves the latter out.
        """
        if not self._path.fits(names):
            return False
        is_open = self._path.is_open(names)
        if not is_open:
            self._left_out = self._left_out or names
        elif self._in_columns is None and any("=" in name for name in names[self._path.depth : -1]):
            self._in_columns = names
        if self._in_columns is not None and self._left_out is not None:
            root = self._path.root
            raise SourceError(
                f"files lie in key=value folders, and elsewhere: {root}/{'/'.join(self._in_columns)} and "
                f"{root}/{'/'.join(self._left_out)}. Read each of these with its own source, or set "
                "recursiveFileLookup=true, which makes columns of none",
                source="files",
            )
        return is_open
