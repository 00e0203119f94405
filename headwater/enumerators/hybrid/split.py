"""The split of a part of a chain, with the position that names the part too."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias, cast
from urllib.parse import quote, unquote

from headwater.core.jsons import JsonValue
from headwater.core.split import Split, SplitPath

HybridPosition: TypeAlias = list[JsonValue]
"""The index of the part, and the position there: ``[1, 120]``. Two positions of one split have one index."""


@dataclass(frozen=True, slots=True)
class HybridSplit(Split):
    """A split of one part.

    Attributes:
        part: the name of the part.
        index: which part of the chain that is, from 0.
        inner: the part's own split.
    """

    part: str
    index: int
    inner: Split

    @property
    def path(self) -> SplitPath:
        return outer_path(self.part, self.inner.path)

    @property
    def split_id(self) -> str:
        return f"{self.part}: {self.inner.split_id}"


def outer_path(part: str, inner: SplitPath) -> SplitPath:
    """Return the path of a part's split in the offset: ``("live", "orders/0")``.

    Parts have paths of different depths, and an offset has one: so a part's path is one name.
    """
    return (part, "/".join(quote(name, safe=" :=+,;@#") for name in inner))


def inner_path(outer: SplitPath) -> SplitPath:
    """Return the path that the part itself knows: the inverse of `outer_path`."""
    return tuple(unquote(name) for name in outer[1].split("/"))


def inner_position(position: HybridPosition) -> Any:
    """Return the position as the part itself has it."""
    return cast("Any", position[1])
