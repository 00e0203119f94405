"""Where driver and executors meet: small objects under names, and a put that only the first writer wins.

Segments are objects that never change, named after their content.
"""

from __future__ import annotations

import hashlib
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterable

from headwater.core.errors import StateLocationError


class StateStore(ABC):
    """Objects of bytes under names such as ``q1/epoch-3/00000.manifest``, seen alike by every process.

    An object is whole or absent: no reader sees half of one, even when its writer is killed. Made on the
    driver and pickled to executors: holds settings only until its first call. Any thread of any process may
    call any method, at the same time as others.

    Raises:
        StateLocationError: by every method: the location cannot be reached, or does not permit the call.
    """

    @abstractmethod
    def put_if_absent(self, name: str, data: bytes, *, durable: bool = True) -> bytes:
        """Write an object unless there is one, in one atomic step; return the object under the name now.

        The caller has won if that is ``data``. A writer that puts something unique into ``data`` learns in
        this way whether it was the first, also when its own first try had come through and only the answer
        was lost.

        Args:
            name: of the object.
            data: the object.
            durable: whether it must survive a loss of power, not only of processes, before this returns.
        """

    @abstractmethod
    def put(self, name: str, data: bytes) -> None:
        """Write an object, over an older one if there is one. Not durable: for signs of life."""

    @abstractmethod
    def get(self, name: str) -> bytes | None:
        """Return an object, None if there is none."""

    @abstractmethod
    def list(self, folder: str) -> list[str]:
        """Return the names directly in a folder, sorted. A folder that does not exist has none."""

    @abstractmethod
    def delete_folder(self, folder: str) -> None:
        """Delete everything below a folder. One that does not exist is fine."""

    @abstractmethod
    def delete(self, name: str) -> None:
        """Delete one object. One that does not exist is fine."""

    def delete_all(self, names: Iterable[str]) -> None:
        """Delete objects, in any order. Those that do not exist are fine."""
        for name in names:
            self.delete(name)


class MemoryStateStore(StateStore):
    """Objects in this process, for reads that end with it, and for tests."""

    def __init__(self) -> None:
        self._objects: dict[str, bytes] = {}
        # Reader threads and tests' threads put and list at once: a dict must not change while it is listed.
        self._lock = threading.Lock()

    def put_if_absent(self, name: str, data: bytes, *, durable: bool = True) -> bytes:
        with self._lock:
            return self._objects.setdefault(name, data)

    def put(self, name: str, data: bytes) -> None:
        with self._lock:
            self._objects[name] = data

    def get(self, name: str) -> bytes | None:
        with self._lock:
            return self._objects.get(name)

    def list(self, folder: str) -> list[str]:
        with self._lock:
            below = [
                name.removeprefix(f"{folder}/") for name in self._objects if name.startswith(f"{folder}/")
            ]
        return sorted({name.partition("/")[0] for name in below})

    def delete_folder(self, folder: str) -> None:
        with self._lock:
            for name in [name for name in self._objects if name.startswith(f"{folder}/")]:
                del self._objects[name]

    def delete(self, name: str) -> None:
        with self._lock:
            self._objects.pop(name, None)


_DIGEST_BYTES = 12
"""Of the digest in the name of a segment."""


def segment_name(prefix: str, data: bytes) -> str:
    """Return the name of a segment: a prefix that the owner chooses, and a digest of its content."""
    return f"{prefix}{hashlib.blake2b(data, digest_size=_DIGEST_BYTES).hexdigest()}"


def put_segment(store: StateStore, folder: str, name: str, data: bytes) -> None:
    """Keep a segment; return once it is durable.

    A segment that is written twice is the same object, so a writer that is repeated after a crash leaves
    nothing behind. An offset that names it is written after this: no checkpoint ever names a segment that is
    not there.

    Args:
        store: the state location.
        folder: where the owner keeps its segments.
        name: the result of `segment_name`.
        data: the content.
    """
    store.put_if_absent(f"{folder}/{name}", data)


def get_segment(store: StateStore, folder: str, name: str) -> bytes | None:
    """Return the content of a segment, None if it is not there.

    Raises:
        StateLocationError: it was cut short or changed.
    """
    data = store.get(f"{folder}/{name}")
    digest = name[-2 * _DIGEST_BYTES :]
    if data is not None and segment_name("", data) != digest:
        raise StateLocationError(
            f"{folder}/{name} is cut short or was changed ({len(data)} bytes): restore stateLocation from "
            "the backup that was taken with the checkpoint",
            location=str(store),
        )
    return data
