"""Test doubles: an outside in memory, and a source that follows the script of a test.

Rows, pauses, errors, an end.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final, TypeAlias

import pyarrow as pa

from headwater.core.errors import TransientSourceError
from headwater.core.options import Option, text
from headwater.core.simple_source import AskAgain, Finished, NamedSplit, Page, SimpleSource


class MemorySystem:
    """Named logs of rows.

    A source opens it by name, in any thread of the process that made it, and pickles as that name: not for
    Spark's executors.

    Attributes:
        name: the argument of `open`; a source has it as an option.
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
        """Return True a number of times for the same row: for events that all readers share."""
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


@dataclass(frozen=True)
class Rows:
    """Yield a page with this many numbers."""

    count: int


@dataclass(frozen=True)
class Pause:
    """Say once that there is more after a delay."""

    after_ms: int


@dataclass(frozen=True)
class Fail:
    """Raise an error, a number of times."""

    error: Exception
    times: int = 1


@dataclass(frozen=True)
class Find:
    """Yield an empty page that names a child, which is the split of that name in the script."""

    name: str


@dataclass(frozen=True)
class End:
    """Say that the split is finished. A script without it has nothing more now when it is over."""


Act: TypeAlias = Rows | Pause | Fail | Find | End

_FIELDS: Final[list[pa.Field[Any]]] = [pa.field("split", pa.string()), pa.field("number", pa.int64())]


class ScriptedSource(SimpleSource):
    """Reads a script in barrier mode: a position is the number of the next act.

    Pauses and failures happen once for all readers of the process.
    """

    name: ClassVar[str] = "scripted"
    schema = pa.schema(_FIELDS)
    OPTIONS: ClassVar[Sequence[Option[Any]]] = (
        Option("script", text, None, "What `scripted` returned.", required=True),
    )

    def discover(self) -> list[NamedSplit]:
        script = MemorySystem.open(self.options["script"])
        return [NamedSplit(name) for name in script.logs() if not name.startswith("child")]

    def read(self, split: NamedSplit, position: int) -> Generator[Page, None, AskAgain | Finished | None]:
        script = MemorySystem.open(self.options["script"])
        number = sum(act.count for act in script.rows(split.name, 0, position) if isinstance(act, Rows))
        for at, act in enumerate(script.rows(split.name, position), start=position):
            match act:
                case Rows(count):
                    yield Page([(split.name, number + more) for more in range(count)], at + 1)
                    number += count
                case Find(name):
                    yield Page([], at + 1, [NamedSplit(name)])
                case Pause(after_ms):
                    if script.happens(split.name, at):
                        return AskAgain(after_ms)
                case Fail(error, times):
                    if script.happens(split.name, at, times):
                        raise error
                case End():
                    return Finished()
        return None


def scripted(**acts: Sequence[Act]) -> dict[str, str]:
    """Return the options of a `ScriptedSource` with a script for each split.

    Those whose names begin with ``child`` are found by `Find`.
    """
    script = MemorySystem()
    for name, play in acts.items():
        script.append(name, play)
    return {"script": script.name}
