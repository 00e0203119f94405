"""Folders that only this user can enter, in places such as the host's for temporary files; whole files."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def make_private_folder(folder: Path) -> None:
    """Make a folder with rights for this user alone; do nothing if it is there and is such a one.

    Another user may have made something of its name before: a link would lead this user's files, and content
    that is deleted there, to a folder of that user's choice.

    Raises:
        PermissionError: it is a link or no folder, belongs to another user, or others may enter it.
        OSError: it cannot be made.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    try:
        folder.mkdir(mode=0o700)
    except FileExistsError:
        about = folder.lstat()
        if not stat.S_ISDIR(about.st_mode):
            raise PermissionError(f"{folder} is a link, or no folder: remove it") from None
        if about.st_uid != os.getuid() or about.st_mode & 0o077:
            raise PermissionError(
                f"{folder} can be entered by other users, or belongs to one: remove it"
            ) from None


@contextmanager
def removed_on_failure(path: Path) -> Iterator[None]:
    """Remove a file that could not be written as a whole: on a full disk it takes the room that is left."""
    try:
        yield
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def sync_folder(folder: Path) -> None:
    """Make durable which files a folder has."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
