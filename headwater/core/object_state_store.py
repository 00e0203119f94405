"""State stores in object stores, by their fsspec libraries: put-if-absent is a write with a condition."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, cast
from urllib.parse import urlsplit

from headwater.core.clock import Clock, SystemClock
from headwater.core.errors import DeadlineError, HeadwaterError, StateLocationError, TransientSourceError
from headwater.core.retry import Backoff, retrying
from headwater.core.state_store import StateStore

if TYPE_CHECKING:
    import fsspec

OBJECT_STORES = {
    "abfs": "adlfs",
    "abfss": "adlfs",
    "az": "adlfs",
    "gcs": "gcsfs",
    "gs": "gcsfs",
    "s3": "s3fs",
    "s3a": "s3fs",
}
"""Protocols and their libraries, which write with ``mode="create"`` under a precondition of the service.

It is ``If-None-Match: *``, or a generation of 0.
"""

_DELETERS: Final = 16
_CONFLICTS = ("ConditionalRequestConflict", "OperationAborted")
"""S3's error while another write of the same object is under way. Neither of the two has lost yet."""

_REFUSALS = ("InvalidArgument", "InvalidRequest", "NotImplemented")
"""The errors of services that do not know the header ``If-None-Match``.

s3fs maps many codes to EINVAL; the others, such as a wrong region, are not about the header.
"""

_BACKOFF = Backoff(deadline_ms=10_000, most_ms=1_000)


class ObjectStateStore(StateStore):
    """An object store through its fsspec library, which is loaded and asked by the first call.

    Args:
        url: where the objects are.
        storage_options: for the file system.
        clock: time, for the waits of a write with a condition.
    """

    def __init__(self, url: str, storage_options: dict[str, Any], clock: Clock | None = None) -> None:
        self._url = url.rstrip("/")
        self._storage_options = storage_options
        self._clock = clock or SystemClock()
        # The file system and the root in it. Two threads may both open it: fsspec gives them the same one.
        self._opened: tuple[fsspec.AbstractFileSystem, str] | None = None

    def __str__(self) -> str:
        return self._url

    def __getstate__(self) -> dict[str, Any]:
        # Connections do not travel: each process opens its own.
        return {**self.__dict__, "_opened": None}

    def put_if_absent(self, name: str, data: bytes, *, durable: bool = True) -> bytes:
        fs, path = self._at(name)
        with self._explained(name):
            if _create_unless_there(fs, path, data, location=self._url, clock=self._clock):
                return data
            # The race is lost, perhaps to this very write, whose first answer was lost: what is there tells.
            return cast("bytes", fs.cat_file(path))

    def put(self, name: str, data: bytes) -> None:
        fs, path = self._at(name)
        with self._explained(name):
            fs.pipe_file(path, data)

    def get(self, name: str) -> bytes | None:
        fs, path = self._at(name)
        with self._explained(name):
            try:
                return cast("bytes", fs.cat_file(path))
            except FileNotFoundError:
                return None

    def list(self, folder: str) -> list[str]:
        fs, path = self._at(folder)
        with self._explained(folder):
            try:
                paths = fs.ls(path, detail=False)
            except FileNotFoundError:
                return []
        return sorted({name.rstrip("/").rpartition("/")[2] for name in paths})

    def delete_folder(self, folder: str) -> None:
        fs, path = self._at(folder)
        with self._explained(folder), contextlib.suppress(FileNotFoundError):
            fs.rm(path, recursive=True)

    def delete(self, name: str) -> None:
        fs, path = self._at(name)
        with self._explained(name), contextlib.suppress(FileNotFoundError):
            fs.rm_file(path)

    def delete_all(self, names: Iterable[str]) -> None:
        # Several at once: object stores answer late.
        with ThreadPoolExecutor(_DELETERS, "headwater-deletes") as pool:
            for _ in pool.map(self.delete, names):
                pass

    def _at(self, name: str) -> tuple[fsspec.AbstractFileSystem, str]:
        if self._opened is None:
            import fsspec

            try:
                # No listings cache: other processes write here too.
                fs, root = fsspec.core.url_to_fs(self._url, use_listings_cache=False, **self._storage_options)
            except ImportError as error:
                library = OBJECT_STORES[self._url.partition("://")[0]]
                raise StateLocationError(
                    f"needs {library} on driver and executors: pip install {library}", location=self._url
                ) from error
            except Exception as error:
                raise unusable_error(error, self._url, "stateStorageOptions") from error
            self._opened = fs, root.rstrip("/")
        fs, root = self._opened
        return fs, f"{root}/{name}"

    @contextmanager
    def _explained(self, name: str) -> Iterator[None]:
        try:
            yield
        except HeadwaterError:
            raise
        except Exception as error:
            # Not OSError alone: the libraries below fsspec's (botocore, azure-core, aiohttp) have errors of
            # their own for missing credentials, time-outs and hosts that are away.
            raise unusable_error(error, self._url, name) from error


def _create_unless_there(
    fs: fsspec.AbstractFileSystem, path: str, data: bytes, *, location: str, clock: Clock
) -> bool:
    """Write an object unless there is one, in one atomic step of the store; return whether it was written.

    Of several writers at once exactly one gets True, on whichever machines they are: to look first and write
    then would let two of them win.

    Args:
        fs: a file system whose ``mode="create"`` is such a step.
        path: of the object.
        data: the content.
        location: names the store in errors.
        clock: time, for the waits while another write of the object is under way.

    Raises:
        StateLocationError: the service does not know the condition, or other writes were under way for ten
            seconds.
        OSError: any other error of the library.
    """
    try:
        return retrying(
            lambda: _create(fs, path, data, location),
            backoff=_BACKOFF,
            clock=clock,
            cancelled=threading.Event(),
            what=f"creating {path}",
        )
    except DeadlineError as error:
        raise StateLocationError(
            f"{error.message}; something else keeps writing this object", location=location
        ) from error


def _create(fs: fsspec.AbstractFileSystem, path: str, data: bytes, location: str) -> bool:
    try:
        fs.pipe_file(path, data, mode="create")
    except FileExistsError:
        return False  # the race is lost: another writer was first
    except OSError as error:
        code = _s3_code(error)
        # s3fs knows a lost race by the condition that Amazon names in its answer. Other services name none,
        # and ours was the only one.
        if code == "PreconditionFailed":
            return False
        if code in _CONFLICTS:
            # Asked again until the other write is over: then this one has won, or finds the object.
            raise TransientSourceError(f"another write of it is under way ({code})") from error
        if code in _REFUSALS:
            raise StateLocationError(
                f"{_service(fs)} refused to write {path} with If-None-Match: * ({code}: {error}); without "
                "this header two attempts of a task could both believe they were the first. Use a version of "
                "the service that has it, or another stateLocation",
                location=location,
            ) from error
        raise
    return True


def _s3_code(error: OSError) -> str | None:
    """Return the error code that S3 sent, None if the error is not S3's."""
    response = getattr(error.__cause__, "response", None)
    if not isinstance(response, dict):
        return None
    return cast("str | None", response.get("Error", {}).get("Code"))


def _service(fs: fsspec.AbstractFileSystem) -> str:
    """Return the name of an S3 service for messages, without the password that its URL may hold."""
    return f"the S3 service at {urlsplit(fs.s3.meta.endpoint_url).netloc.rpartition('@')[2]}"


def unusable_error(error: Exception, location: str, name: str) -> StateLocationError:
    """Return the error of a state location for one of the file system below it."""
    if isinstance(error, PermissionError):
        return StateLocationError(
            f"may not be written or read here: {name}: {error}; driver and every executor need both",
            location=location,
        )
    text = str(error) if isinstance(error, OSError) else f"{type(error).__name__}: {error}"
    return StateLocationError(
        f"cannot be used from here: {name}: {text}; driver and every executor must reach it",
        location=location,
    )
