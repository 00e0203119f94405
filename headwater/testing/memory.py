"""An outside in memory: logs that grow, seen by all copies of a source in this process."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterable, Iterator
from typing import Any, ClassVar

from headwater.core.errors import TransientSourceError


class MemorySystem:
    """Named logs of rows.

    A source opens it by name, in any thread of the process that made it, and pickles as that name: not for
    Spark's executors.

    Attributes:
        name: what `open` takes; a source has it as an option.
        reads: how often anything was read, to prove that something was not.
    """

    _all: ClassVar[dict[str, MemorySystem]] = {}
    _numbers: ClassVar[Iterator[int]] = itertools.count(1)

    def __init__(self) -> None:
        self.name = f"memory-{next(self._numbers)}"
        self.reads = 0
        self._logs: dict[str, list[Any]] = {}
        self._failures = 0
        self._happened: dict[tuple[str, int], int] = {}
        self._lock = threading.Lock()
        self._all[self.name] = self

    @classmethod
    def open(cls, name: str) -> MemorySystem:
        """Return the system of this name.

        Raises:
            KeyError: none of this name was made in this process.
        """
        return cls._all[name]

    def append(self, log: str, rows: Iterable[Any]) -> None:
        """Add rows to the end of a log, making it if it is new."""
        with self._lock:
            self._logs.setdefault(log, []).extend(rows)

    def remove(self, log: str) -> None:
        """Delete a log."""
        with self._lock:
            del self._logs[log]

    def fail_next(self, times: int = 1) -> None:
        """Answer the next questions with a `TransientSourceError`."""
        self._failures = times

    def logs(self) -> list[str]:
        """Return the names of the logs, in order."""
        self._answer()
        return sorted(self._logs)

    def length(self, log: str) -> int:
        """Return how many rows a log has."""
        self._answer()
        return len(self._logs[log])

    def rows(self, log: str, first: int, stop: int | None = None) -> list[Any]:
        """Return the rows of a log from one number to before another."""
        self._answer()
        return self._logs[log][first:stop]

    def happens(self, log: str, number: int, times: int = 1) -> bool:
        """Return True so many times for the same row: for what happens once to all readers together."""
        with self._lock:
            self._happened[log, number] = self._happened.get((log, number), 0) + 1
            return self._happened[log, number] <= times

    def __reduce__(self) -> tuple[Any, ...]:
        return MemorySystem.open, (self.name,)

    def _answer(self) -> None:
        with self._lock:
            self.reads += 1
            if self._failures:
                self._failures -= 1
                raise TransientSourceError("the system in memory is away", source=self.name)
