"""``cleanSource``: deletes committed files, or moves them below another folder without overwriting any."""

from __future__ import annotations

import errno
import filecmp
import os
import shutil
from collections.abc import Mapping, Sequence
from concurrent import futures
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import IO, Any, cast

from headwater.core.errors import SourceError, UnknownSplitError
from headwater.core.redaction import logger_of
from headwater.core.worker_thread import WorkerThread
from headwater.enumerators.files.filesystem import file_errors, open_file_system
from headwater.enumerators.files.listing import present_status
from headwater.enumerators.files.names import version_hash
from headwater.enumerators.files.split import FileStatus

_COMPARED_BYTES = 1 << 20
_OTHER_DISK = (errno.EXDEV, errno.EPERM, errno.ENOTSUP, errno.EMLINK, errno.ENOSYS)
"""The errors of ``os.link`` where the archive is on another disk, or the file system has no links."""


def move_without_loss(fs: Any, path: str, target: str, version: int) -> str:
    """Move a file to ``target``, or beside it if another one is there; return where its content is now.

    * Nothing is there: it is moved.
    * A file of the same content is there: the source is deleted. So a move that was cut short is finished.
    * Another content is there: it gets the number of its version before the suffix of its name,
      ``daily.csv`` as ``daily.9f86d081.csv``.

    On a local disk a file that appears at the target meanwhile is not overwritten either; elsewhere the
    target is looked at first.

    Args:
        fs: the file system of both.
        path: of the file.
        target: where it is to be.
        version: a number that only this content of the path has.

    Raises:
        OSError: of the file system.
    """
    name = target.rpartition("/")[2]
    # A dot at the beginning is no suffix.
    stem, dot, suffix = name[1:].partition(".")
    beside = f"{target.removesuffix(name)}{name[:1]}{stem}.{version:08x}{dot}{suffix}"
    fs.makedirs(target.rpartition("/")[0], exist_ok=True)
    is_local = "file" in fs.protocol
    for place in (target, beside):
        if is_local:
            moved = _move_locally(path, place)
        elif moved := not fs.exists(place):
            fs.mv(path, place)
        if moved:
            return place
        if filecmp.cmp(path, place, shallow=False) if is_local else _same_content(fs, path, place):
            fs.rm_file(path)
            return place
    raise FileExistsError(errno.EEXIST, f"{target} and {beside} are there, with other contents", path)


def _move_locally(path: str, target: str) -> bool:
    """Move a file unless something is at the target, in one step; return whether it was moved."""
    try:
        _link(path, target)
    except FileExistsError:
        return False
    Path(path).unlink()
    return True


def _link(path: str, target: str) -> None:
    """Let ``target`` be this file, or a copy of it on another disk.

    Raises:
        FileExistsError: something is there.
    """
    try:
        os.link(path, target)
    except OSError as error:
        if error.errno not in _OTHER_DISK:
            raise
    else:
        return
    # What has its name is whole: it is copied under another one.
    aside = f"{target}.headwater-{os.getpid()}"
    try:
        shutil.copy2(path, aside)
        with open(target, "xb"):  # noqa: PTH123 - takes the name, in one step
            os.replace(aside, target)  # noqa: PTH105 - both are strings here
    finally:
        Path(aside).unlink(missing_ok=True)


def _same_content(fs: Any, path: str, other: str) -> bool:
    """Whether two objects hold the same: by size and etag, else by their bytes."""
    fs.invalidate_cache()
    mine, theirs = fs.info(path), fs.info(other)
    if mine["size"] != theirs["size"]:
        return False
    if mine.get("ETag") and mine["ETag"] == theirs.get("ETag"):
        return True
    with fs.open(path, "rb") as source, fs.open(other, "rb") as right:
        return _same_bytes(cast("IO[bytes]", source), cast("IO[bytes]", right))


def _same_bytes(first: IO[bytes], right: IO[bytes]) -> bool:
    while True:
        block = first.read(_COMPARED_BYTES)
        if block != right.read(_COMPARED_BYTES):
            return False
        if not block:
            return True


log = logger_of(__name__)


@dataclass(frozen=True, kw_only=True)
class CleanSource:
    """The treatment of files that are read and committed.

    Attributes:
        archive_dir: move them to below this folder, keeping their whole path (`move_without_loss`); None to
            delete them.
        storage_options: for the file system.
    """

    archive_dir: str | None
    storage_options: Mapping[str, object] = field(default_factory=dict, repr=False)


class FileCleaner:
    """Deletes or moves committed files on a thread of its own, in the order of their batches.

    Best effort, as in Spark: a failure is a warning, and work that was left when the process died is done for
    the last batch only. A file is touched only if it still is the version that was read.

    `clean` and `close` are called on the coordinator's thread, `wait` on its worker thread.

    Args:
        settings: the treatment of files.
    """

    def __init__(self, settings: CleanSource) -> None:
        self._settings = settings
        self._worker = WorkerThread("headwater-cleaner")
        # The last batch that was given to `clean`.
        self._last: futures.Future[None] | None = None

    def clean(self, files: Sequence[FileStatus]) -> None:
        """Begin to clean the files of a committed batch.

        Does not block. A file that is gone already is no error: the same batch may come twice.
        """
        self._last = self._worker.submit(partial(self._clean_all, files))

    def wait(self, timeout_ms: int) -> bool:
        """Block until everything is done that was begun, or the time is over; return whether it is done."""
        if self._last is None:
            return True
        # Batches are cleaned in order: when the last one is done, all are.
        return bool(futures.wait([self._last], timeout_ms / 1000).done)

    def close(self) -> None:
        """End the thread after the present work. Does not wait."""
        self._worker.close(0)

    def _clean_all(self, files: Sequence[FileStatus]) -> None:
        for file in files:
            try:
                with file_errors("cleanSource", file.url):
                    self._delete_or_move(file)
            except UnknownSplitError:
                log.debug("cleanSource: %s is gone already", file.url)
            except SourceError as error:
                log.warning("cleanSource: %s stays: %s", file.url, error)

    def _delete_or_move(self, file: FileStatus) -> None:
        fs, path = open_file_system(file.url, self._settings.storage_options)
        # Right before the deletion: file systems have no "delete if it is this version", so content that is
        # written between the two calls is lost. Writers that move whole files under new names are safe.
        if not file.same_content(present_status(fs, path)):
            log.warning("cleanSource: %s changed since it was read; it stays", file.url)
            return
        if self._settings.archive_dir is None:
            fs.rm_file(path)
            return
        archived = f"{self._settings.archive_dir.rstrip('/')}/{path.lstrip('/')}"
        _, target = open_file_system(archived, self._settings.storage_options)
        place = move_without_loss(fs, path, target, version_hash(file))
        if place != target:
            log.info("cleanSource: %s is archived as %s: another content has its name", file.url, place)
