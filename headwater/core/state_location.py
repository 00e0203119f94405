"""State stores by URL, and the one in a folder that all processes share."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from headwater.core.errors import StateLocationError
from headwater.core.local_files import removed_on_failure, sync_folder
from headwater.core.object_state_store import OBJECT_STORES, ObjectStateStore, unusable_error
from headwater.core.options import text
from headwater.core.state_store import StateStore

_LOCAL: Final = ("file", "local")

_NO_FOLDERS: Final = ("/proc", "/sys")
_NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EMLINK, errno.ENOSYS)
"""The errors of ``os.link`` on a file system without hard links."""


def open_state_store(url: str, storage_options: Mapping[str, Any] | None = None) -> StateStore:
    """Return the store at a ``stateLocation``. Opens nothing.

    Args:
        url: a local folder that all processes share (``/mnt/shared/state``, ``file:///...``), or ``s3://``,
            ``gs://``, ``abfs://``.
        storage_options: passed to the fsspec file system.

    Raises:
        StateLocationError: the file system is not known to have an atomic put-if-absent, or the path is
            relative.
    """
    protocol, rest, reason = _place(url)
    if reason:
        raise StateLocationError(reason, location=url)
    if protocol in _LOCAL:
        return LocalStateStore(Path(rest))
    return ObjectStateStore(url, dict(storage_options or {}))


def state_location(raw: str) -> str:
    """Take a ``stateLocation`` as an option. Writes nothing: a folder that is missing is made later.

    Raises:
        ValueError: it cannot be one, as by `open_state_store`; or this host shows that it is no folder that
            can be written.
    """
    url = text(raw)
    protocol, rest, reason = _place(url)
    if not reason and protocol in _LOCAL:
        reason = _unusable(Path(rest))
    if reason:
        raise ValueError(f"{reason}, not {raw!r}")
    return url


def _place(url: str) -> tuple[str, str, str]:
    """Return the protocol of a location, its path, and why it can be none; empty if it may be one."""
    protocol, separator, rest = url.partition("://")
    if not separator:
        protocol, rest = "file", url.removeprefix("file:")
    reason = ""
    if protocol in _LOCAL:
        if not Path(rest).is_absolute():
            reason = "must be an absolute path, since driver and executors work in different folders"
    elif protocol not in OBJECT_STORES:
        schemes = ", ".join(f"{name}://" for name in sorted(OBJECT_STORES))
        reason = (
            f"the file system {protocol!r} is not known to have an atomic put-if-absent, without which two "
            "attempts of a task could both believe they were the first; use a shared local folder or one of "
            f"{schemes}"
        )
    return protocol, rest, reason


def _unusable(folder: Path) -> str:
    """Return why a folder cannot be written, as far as that can be seen; empty if nothing speaks against it.

    Said here, it is the last line of `load()`. An error of the running query has Spark's plan behind it.
    """
    there = next(each for each in (folder, *folder.parents) if os.path.lexists(each))
    if not there.is_dir():
        return f"must be a folder, and {there} is none"
    if any(folder.is_relative_to(each) for each in _NO_FOLDERS):
        return "must be a folder that can be written"
    if there == folder and not os.access(folder, os.W_OK | os.X_OK):
        return "must be a folder that can be written by the user who runs the driver"
    return ""


def check_state_store(store: StateStore) -> None:
    """Prove that a location can be written and that its put-if-absent lets only the first writer win.

    Called once on the driver, before anything depends on it. Leaves no object behind; a local folder that
    was not there is there then.

    Raises:
        StateLocationError: it cannot, or it does not.
    """
    # A name of its own: drivers of other queries may look at the same location at this moment.
    name = f"probe-{secrets.token_hex(8)}"
    won = store.put_if_absent(name, b"first", durable=False) == b"first"
    lost = store.put_if_absent(name, b"second", durable=False) == b"first"
    store.delete(name)
    if not won or not lost:
        raise StateLocationError(
            "its put-if-absent let a second writer win: it cannot tell attempts apart, use another location",
            location=str(store),
        )


class LocalStateStore(StateStore):
    """A folder of a POSIX file system that all processes share.

    An object is written beside its place and then linked there: ``link`` fails if the name is taken, in one
    step of the file system, on network file systems too. ``rename`` would write over the other one.
    """

    def __init__(self, root: Path) -> None:
        self._root = root

    def __str__(self) -> str:
        return str(self._root)

    def put_if_absent(self, name: str, data: bytes, *, durable: bool = True) -> bytes:
        path = self._root / name
        with self._explained(path):
            # Whole and, if it must be, durable before it gets its name: what has a name is never half.
            aside = self._write_aside(path, data, durable=durable)
            try:
                os.link(aside, path)
            except FileExistsError:
                return path.read_bytes()  # the race is lost: another writer was first
            finally:
                aside.unlink()
            if durable:
                # The name is in the folder: without this a loss of power could take it away again.
                sync_folder(path.parent)
        return data

    def put(self, name: str, data: bytes) -> None:
        path = self._root / name
        with self._explained(path):
            # A rename: readers see the old object or the new one, never a part.
            aside = self._write_aside(path, data, durable=False)
            with removed_on_failure(aside):
                aside.replace(path)

    def get(self, name: str) -> bytes | None:
        path = self._root / name
        with self._explained(path):
            try:
                return path.read_bytes()
            except FileNotFoundError:
                return None

    def list(self, folder: str) -> list[str]:
        path = self._root / folder
        with self._explained(path):
            try:
                # Hidden ones are still being written, or were left behind by a crash.
                return sorted(entry.name for entry in os.scandir(path) if not entry.name.startswith("."))
            except FileNotFoundError:
                return []

    def delete_folder(self, folder: str) -> None:
        path = self._root / folder
        with self._explained(path), contextlib.suppress(FileNotFoundError):
            shutil.rmtree(path)

    def delete(self, name: str) -> None:
        path = self._root / name
        with self._explained(path):
            path.unlink(missing_ok=True)

    def _write_aside(self, path: Path, data: bytes, *, durable: bool) -> Path:
        """Write a file in the same folder, under a hidden name that is used once, and return its path.

        A crash leaves it behind, until the folder is deleted.
        """
        aside = path.with_name(f".{path.name}.{secrets.token_hex(6)}")
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        try:
            descriptor = os.open(aside, flags, 0o666)
        except FileNotFoundError:
            # Only when it fails: mostly the folder is there, and each look at it costs a round trip.
            path.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(aside, flags, 0o666)
        with removed_on_failure(aside), os.fdopen(descriptor, "wb", buffering=0) as file:
            # Unbuffered, a write may take a part only.
            view = memoryview(data)
            while view:
                view = view[file.write(view) :]
            if durable:
                os.fsync(file.fileno())
        return aside

    @contextmanager
    def _explained(self, path: Path) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            # Only `os.link` and the rename name a second file.
            if error.errno in _NO_LINKS and error.filename2 is not None:
                raise StateLocationError(
                    "its file system has no hard links, so no atomic put-if-absent", location=str(self._root)
                ) from error
            raise unusable_error(error, str(self._root), str(path)) from error
