"""Where driver and executors meet: small objects under names, and a put that only the first writer wins."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Iterable


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
        """Write an object unless there is one, in one atomic step; return what is stored under the name now.

        The caller has won if that is ``data``. A writer that puts something unique into ``data`` learns in
        this way whether it was the first, also when its own first try had come through and only the answer
        was lost.

        Args:
            name: of the object.
            data: what to store.
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
