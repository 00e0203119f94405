"""A resource of a REST API as a split, and where one is in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from headwater.core.jsons import JsonObject, JsonValue
from headwater.core.split import Path, Split

__all__ = ["FOUND", "ROOT", "HttpSplit", "PagePosition"]

ROOT, FOUND = "root", "found"
"""What a resource is: named by the user, and perhaps growing.

Or named by an item of another one, and read once to its end.
"""


@dataclass(frozen=True, slots=True)
class HttpSplit(Split):
    """A list of items behind linked pages.

    Attributes:
        kind: `ROOT` or `FOUND`.
        url: of its first page.
        found_in: the item that named it, so that a list that two items name is read for each of them; empty
            for a root.
    """

    kind: str
    url: str
    found_in: str = ""

    @property
    def path(self) -> Path:
        return (self.kind, self.name)

    @property
    def name(self) -> str:
        """The URL, and where it was found: ``https://.../items/7/lines in 0.7 of https://.../items``."""
        return f"{self.url} in {self.found_in}" if self.found_in else self.url

    @classmethod
    def from_path(cls, path: Path) -> HttpSplit:
        """Return the split of a path: URLs have no blanks."""
        kind, name = path
        url, _, found_in = name.partition(" in ")
        return cls(kind, url, found_in)

    def found(self, url: str, page: int, row: int) -> HttpSplit:
        """Return the split of a URL that one of this list's items names."""
        return HttpSplit(FOUND, url.replace(" ", "%20"), f"{page}.{row} of {self.name}")

    @property
    def split_id(self) -> str:
        return self.url


@dataclass(frozen=True, slots=True)
class PagePosition:
    """The next item to read, as the offset holds it: ``{"page": 3, "row": 0, "url": "https://..."}``.

    Attributes:
        page: how many pages come before.
        row: how many items of this page come before.
        url: of this page.
    """

    page: int
    row: int
    url: str

    def to_json(self) -> JsonObject:
        """Return the position as the offset holds it."""
        return {"page": self.page, "row": self.row, "url": self.url}

    @classmethod
    def from_json(cls, value: JsonValue) -> PagePosition:
        """Return what `to_json` wrote."""
        found = cast("dict[str, int | str]", value)
        return cls(int(found["page"]), int(found["row"]), str(found["url"]))
