"""Where a checkpoint lies: a local folder, or an object store through its fsspec library."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from headwater.core.local_files import removed_on_failure, sync_folder
from headwater.core.object_state_store import OBJECT_STORES

if TYPE_CHECKING:
    import fsspec


class FolderError(Exception):
    """A checkpoint's folder cannot be reached, read or written. The message has the remedy."""


class CheckpointFolder(ABC):
    """The files of one checkpoint, by names relative to its root such as ``offsets/7``.

    Every method raises `FolderError`.
    """

    @abstractmethod
    def __str__(self) -> str:
        """Return the path as a user may write it."""

    @abstractmethod
    def names(self, folder: str) -> list[str]:
        """Return the names in a folder, sorted, without hidden files; nothing if it is none, or not there."""

    @abstractmethod
    def read(self, name: str) -> bytes | None:
        """Return a file's content; None if there is none."""

    @abstractmethod
    def write(self, name: str, content: bytes) -> None:
        """Write a file, or replace it, in one step: after a kill it is the old one or the new one, whole."""

    @abstractmethod
    def delete(self, name: str) -> None:
        """Remove a file that is there."""

    @abstractmethod
    def copying(self, source: str, target: str) -> str:
        """Return the command with which a user copies the files of one of its folders into another."""


def open_folder(path: str, storage_options: Mapping[str, Any], *, writes: bool = True) -> CheckpointFolder:
    """Return the folder at a path as Spark's ``checkpointLocation`` has it.

    Args:
        path: a local path, ``file:/...``, or ``s3a://``, ``gs://``, ``abfs://`` and their like.
        storage_options: for the fsspec file system of an object store.
        writes: whether files are to be replaced there; to read alone, any file system of fsspec will do.

    Raises:
        FolderError: the file system is not known to replace a file in one step, or its library is missing.
    """
    protocol, separator, rest = path.partition("://")
    if not separator:
        # Hadoop writes local paths as file:/folder.
        protocol, rest = "file", path.removeprefix("file:")
    if protocol in ("file", "local"):
        return LocalFolder(Path(rest))
    # These replace an object in one step.
    if writes and protocol not in OBJECT_STORES:
        raise FolderError(
            f"files on {protocol}:// cannot be replaced from here in one step. Copy its folders offsets and "
            "commits to a local folder, convert that one, and copy the folder offsets back"
        )
    try:
        import fsspec

        # No cache of listings: Spark wrote there a moment ago.
        fs, root = fsspec.core.url_to_fs(path, use_listings_cache=False, **storage_options)
    except ImportError as error:
        library = OBJECT_STORES.get(protocol)
        remedy = f"needs {library}: pip install {library}" if library else f"needs a library: {error}"
        raise FolderError(f"{protocol}:// {remedy}") from error
    except (OSError, TypeError, ValueError) as error:
        # For hdfs:// without Hadoop's native library pyarrow lists each place where it looked, a line each.
        message = str(error).strip().partition("\n")[0]
        raise FolderError(f"cannot be opened: {message}; look at --storage-options") from error
    return ObjectFolder(path.rstrip("/"), fs, root.rstrip("/"))


def add_storage_options(parser: argparse.ArgumentParser) -> None:
    """Add the argument ``--storage-options`` to a command that opens folders."""
    parser.add_argument(
        "--storage-options",
        type=_json_object,
        default={},
        metavar="JSON",
        help='for an object store: options of its fsspec file system, for example \'{"profile": "prod"}\'',
    )


def _json_object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"not JSON: {error}") from error
    if not isinstance(value, dict):
        raise argparse.ArgumentTypeError('must be a JSON object, such as {"profile": "prod"}')
    return value


class LocalFolder(CheckpointFolder):
    """A folder of a local file system."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def __str__(self) -> str:
        return str(self._root)

    def names(self, folder: str) -> list[str]:
        path = self._root / folder
        with _explained(path):
            try:
                return sorted(entry.name for entry in path.iterdir() if not entry.name.startswith("."))
            except (FileNotFoundError, NotADirectoryError):
                return []

    def read(self, name: str) -> bytes | None:
        path = self._root / name
        with _explained(path):
            try:
                return path.read_bytes()
            except (FileNotFoundError, NotADirectoryError):
                return None

    def write(self, name: str, content: bytes) -> None:
        path = self._root / name
        # A name that Spark does not take for a batch. What a kill left there is written over.
        aside = path.with_name(f".{path.name}.headwater.tmp")
        with _explained(path), removed_on_failure(aside):
            path.parent.mkdir(parents=True, exist_ok=True)
            with aside.open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            with contextlib.suppress(FileNotFoundError):
                shutil.copymode(path, aside)
            # Durable before it gets its name: a loss of power must not leave an empty file there.
            aside.replace(path)
            sync_folder(path.parent)

    def delete(self, name: str) -> None:
        path = self._root / name
        with _explained(path):
            path.unlink()
            sync_folder(path.parent)

    def copying(self, source: str, target: str) -> str:
        return f"cp -a {self._root / source}/. {self._root / target}/"


class ObjectFolder(CheckpointFolder):
    """A prefix of an object store. A write is one request, which replaces the object as a whole.

    Args:
        url: as the user wrote it, for messages.
        fs: the file system.
        root: the same prefix, as the file system names it.
    """

    def __init__(self, url: str, fs: fsspec.AbstractFileSystem, root: str) -> None:
        self._url = url
        self._fs = fs
        self._root = root

    def __str__(self) -> str:
        return self._url

    def names(self, folder: str) -> list[str]:
        with _asked(f"{self._url}/{folder}"):
            try:
                paths = self._fs.ls(f"{self._root}/{folder}", detail=False)
            except FileNotFoundError:
                return []
        names = {path.rstrip("/").rpartition("/")[2] for path in paths}
        return sorted(name for name in names if not name.startswith("."))

    def read(self, name: str) -> bytes | None:
        with _asked(f"{self._url}/{name}"):
            try:
                return cast("bytes", self._fs.cat_file(f"{self._root}/{name}"))
            except FileNotFoundError:
                return None

    def write(self, name: str, content: bytes) -> None:
        with _asked(f"{self._url}/{name}"):
            self._fs.pipe_file(f"{self._root}/{name}", content)

    def delete(self, name: str) -> None:
        with _asked(f"{self._url}/{name}"):
            self._fs.rm_file(f"{self._root}/{name}")

    def copying(self, source: str, target: str) -> str:
        return f"copy all objects of {self._url}/{source}/ to {self._url}/{target}/"


@contextmanager
def _asked(url: str) -> Iterator[None]:
    try:
        yield
    except Exception as error:  # the libraries raise what their clients raise, and look at options late
        raise FolderError(
            f"{url}: {type(error).__name__}: {error}; look at the credentials and at --storage-options"
        ) from error


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    try:
        yield
    except PermissionError as error:
        raise FolderError(f"{path}: no permission; run this as the user who runs the query") from error
    except OSError as error:
        raise FolderError(f"{path}: {error.strerror or error}") from error
