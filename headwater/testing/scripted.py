"""A source that does what a test wrote down: rows, pauses, errors, an end."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final, TypeAlias

import pyarrow as pa

from headwater.connector.options import Option, text
from headwater.core.simple_source import AskAgain, Finished, NamedSplit, Page, SimpleSource
from headwater.testing.memory import MemorySystem


@dataclass(frozen=True)
class Rows:
    """Yield a page with so many numbers."""

    count: int


@dataclass(frozen=True)
class Pause:
    """Say once that there is more after so long."""

    after_ms: int


@dataclass(frozen=True)
class Fail:
    """Raise an error, so many times."""

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
    schema: ClassVar[pa.Schema] = pa.schema(_FIELDS)
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
