"""``cleanSource``: what is done with files that are read and committed."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from concurrent import futures
from dataclasses import dataclass, field
from functools import partial

from headwater.core.errors import SourceError, UnknownSplitError
from headwater.core.worker_thread import WorkerThread
from headwater.enumerators.files.archive import move_without_loss
from headwater.enumerators.files.filesystem import file_errors, open_file_system
from headwater.enumerators.files.listing import present_status
from headwater.enumerators.files.names import version_hash
from headwater.enumerators.files.split import FileStatus

log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class CleanSource:
    """What to do with files that are read and committed.

    Attributes:
        archive_dir: move them to below this folder, keeping their whole path (`move_without_loss`); None to
            delete them.
        storage_options: for the file system.
    """

    archive_dir: str | None
    storage_options: Mapping[str, object] = field(default_factory=dict, repr=False)


class FileCleaner:
    """Deletes or moves committed files on a thread of its own, in the order of their batches.

    Best effort, as in Spark: a failure is a warning, and what was not done when the process died is done for
    the last batch only. A file is touched only if it still is the version that was read.

    `clean` and `close` are called on the coordinator's thread, `wait` on its worker thread.

    Args:
        settings: what to do.
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
        """End the thread after what was begun. Does not wait."""
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
