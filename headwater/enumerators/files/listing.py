"""Listings, a page at a time: the folder of a million files never is in memory at once."""

from __future__ import annotations

import logging
import os
import stat
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import Any, TypeAlias

from headwater.core.errors import UnknownSplitError
from headwater.enumerators.files.filesystem import file_errors, open_file_system, status_url
from headwater.enumerators.files.selection import SelectedPath
from headwater.enumerators.files.split import FileStatus

__all__ = ["Ask", "FileLister", "FolderLister", "LocalLister", "S3Lister", "lister_for", "present_status"]

Ask: TypeAlias = Callable[[Callable[[], Any], str], Any]
"""Calls its first argument, again where that fails for a passing reason; the second names it."""

log = logging.getLogger(__name__)
_PAGE_FILES = 1_000
_TIMES = ("mtime", "LastModified", "last_modified", "updated", "modified", "timeModified", "created")


class FileLister(ABC):
    """Lists one path. Used by one thread at a time; keeps nothing between two listings."""

    @abstractmethod
    def pages(self) -> Iterator[list[FileStatus]]:
        """Yield the files that the path selects, in pages of the store's choice, in any order.

        Files without a byte are left out.

        What changes meanwhile may be contained or not. A file or folder that vanishes meanwhile is left out.

        Raises:
            UnknownSplitError: a path without wildcards does not exist.
            SourceError: what the store says, after its passing failures were asked again.
        """


def lister_for(path: SelectedPath, storage_options: Mapping[str, object], ask: Ask) -> FileLister:
    """Return the lister that suits the file system of a path.

    Args:
        path: what to list.
        storage_options: for the file system.
        ask: how to ask a store that may fail for a passing reason.
    """
    fs, root = open_file_system(path.root, storage_options)
    protocols = {fs.protocol} if isinstance(fs.protocol, str) else set(fs.protocol)
    if "file" in protocols:
        return LocalLister(path, root)
    if "s3" in protocols and hasattr(fs, "call_s3"):
        return S3Lister(path, fs, root, ask)
    return FolderLister(path, fs, root, ask)


class LocalLister(FileLister):
    """The local file system, by ``os.scandir``: a name and a ``stat`` each."""

    def __init__(self, path: SelectedPath, root: str) -> None:
        self._path, self._root = path, root

    def pages(self) -> Iterator[list[FileStatus]]:
        with file_errors("listing", self._root):
            root = os.stat(self._root)  # noqa: PTH116 - scandir's own world is made of strings
        if not stat.S_ISDIR(root.st_mode):
            yield [_local(self._root, root)] if root.st_size else []
            return
        pending: list[tuple[str, tuple[str, ...]]] = [(self._root, ())]
        while pending:
            folder, names = pending.pop()
            yield from self._folder(folder, names, pending)

    def _folder(
        self, folder: str, names: tuple[str, ...], pending: list[tuple[str, tuple[str, ...]]]
    ) -> Iterator[list[FileStatus]]:
        page: list[FileStatus] = []
        try:
            with file_errors("listing", folder), os.scandir(folder) as entries:
                for entry in entries:
                    below = (*names, entry.name)
                    if entry.is_dir():
                        if self._path.descends(below):
                            pending.append((entry.path, below))
                    elif self._path.takes(below) and (found := _stat(entry)) is not None:
                        page.append(found)
                        if len(page) == _PAGE_FILES:
                            yield page
                            page = []
        except UnknownSplitError:
            log.debug("%s was removed since its parent was listed", folder)
        yield page


def _stat(entry: os.DirEntry[str]) -> FileStatus | None:
    try:
        found = entry.stat()
    except FileNotFoundError:
        return None
    return _local(entry.path, found) if found.st_size else None


def _local(path: str, found: os.stat_result) -> FileStatus:
    return FileStatus(f"file://{path}", found.st_size, found.st_mtime_ns // 1000)


class S3Lister(FileLister):
    """S3 and what speaks its protocol: flat pages of a prefix, as ``ListObjectsV2`` gives them."""

    def __init__(self, path: SelectedPath, fs: Any, root: str, ask: Ask) -> None:
        self._path, self._fs, self._ask = path, fs, ask
        self._bucket, _, self._prefix = root.partition("/")

    def pages(self) -> Iterator[list[FileStatus]]:
        more: dict[str, str] = {}
        while True:
            answer = self._page(more)
            yield [
                status for item in answer.get("Contents", ()) if (status := self._status(item)) is not None
            ]
            if not answer.get("IsTruncated"):
                break
            more = {"ContinuationToken": answer["NextContinuationToken"]}

    def _page(self, more: Mapping[str, str]) -> dict[str, Any]:
        url = f"s3://{self._bucket}/{self._prefix}"

        def ask() -> dict[str, Any]:
            with file_errors("listing", url):
                answer: dict[str, Any] = self._fs.call_s3(
                    "list_objects_v2", Bucket=self._bucket, Prefix=self._prefix, MaxKeys=_PAGE_FILES, **more
                )
                return answer

        page: dict[str, Any] = self._ask(ask, f"listing of {url}")
        return page

    def _status(self, item: Mapping[str, Any]) -> FileStatus | None:
        below = item["Key"][len(self._prefix) :]
        if not item["Size"] or (below and self._prefix and not below.startswith("/")):
            return None
        names = tuple(name for name in below.split("/") if name)
        if not self._path.takes(names):
            return None
        return FileStatus(
            f"s3://{self._bucket}/{item['Key']}", item["Size"], _time_us(item), item["ETag"].strip('"')
        )


class FolderLister(FileLister):
    """Any file system of fsspec: a page for each folder."""

    def __init__(self, path: SelectedPath, fs: Any, root: str, ask: Ask) -> None:
        self._path, self._fs, self._root, self._ask = path, fs, root.rstrip("/"), ask

    def pages(self) -> Iterator[list[FileStatus]]:
        pending: list[tuple[str, tuple[str, ...]]] = [(self._root, ())]
        while pending:
            folder, names = pending.pop()
            page = []
            for item in self._list(folder, is_root=not names):
                name = item["name"].rstrip("/").rpartition("/")[2]
                below = () if item["name"] == self._root else (*names, name)
                if item["type"] == "directory":
                    if below and self._path.descends(below):
                        pending.append((item["name"], below))
                elif item["size"] and self._path.takes(below):
                    page.append(_status_of(self._fs, item))
            yield page

    def _list(self, folder: str, *, is_root: bool) -> list[dict[str, Any]]:
        def ask() -> list[dict[str, Any]]:
            with file_errors("listing", status_url(self._fs, folder)):
                self._fs.invalidate_cache(folder)
                try:
                    listed: list[dict[str, Any]] = self._fs.ls(folder, detail=True)
                except FileNotFoundError:
                    if is_root:
                        raise
                    return []
                return listed

        found: list[dict[str, Any]] = self._ask(ask, f"listing of {status_url(self._fs, folder)}")
        return found


def present_status(fs: Any, path: str) -> FileStatus:
    """Return what a file is now, exactly as a listing would say it; asks the store.

    Raises:
        OSError: what the file system says.
    """
    if "file" in fs.protocol:  # fsspec's times are floats, which lose microseconds
        return _local(path, os.stat(path))  # noqa: PTH116 - see above
    fs.invalidate_cache()
    return _status_of(fs, fs.info(path))


def _status_of(fs: Any, item: Mapping[str, Any]) -> FileStatus:
    """Return the status that a file system's ``info`` or ``ls`` gives."""
    etag = item.get("ETag") or item.get("etag")
    return FileStatus(
        status_url(fs, item["name"]), item["size"], _time_us(item), str(etag).strip('"') if etag else None
    )


def _time_us(item: Mapping[str, Any]) -> int:
    """Return the modification time under whatever name the file system gives it; 0 where it gives none."""
    found = next((item[name] for name in _TIMES if item.get(name) is not None), 0)
    if isinstance(found, str):
        found = datetime.fromisoformat(found)
    return int((found.timestamp() if isinstance(found, datetime) else found) * 1_000_000)
