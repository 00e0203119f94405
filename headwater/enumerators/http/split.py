"""A list of a REST API as a split, and a position in it, page by page or in the log of its rounds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias, cast

from headwater.core.errors import OffsetError
from headwater.core.jsons import JsonObject, JsonValue
from headwater.core.split import Split, SplitPath

ROOT: Final = "root"
"""Where a list was found that the user named."""

_EARLIER_FOUND: Final = "found"


@dataclass(frozen=True, slots=True)
class HttpSplit(Split):
    """A list of items behind linked pages.

    A list that the user named may grow. One that an item of another list named is read once, to its end.

    Attributes:
        url: of its first page.
        found_in: `ROOT`, or the item that named it: ``0.7 of https://.../items`` for page 0, row 7. So a list
            that two items name is two splits. A name only: it is never parsed.
    """

    url: str
    found_in: str = ROOT

    @property
    def path(self) -> SplitPath:
        """``("0.7 of https://.../items", "https://.../items/7/lines")``."""
        return (self.found_in, self.url)

    @property
    def is_root(self) -> bool:
        """Whether the user named it."""
        return self.found_in == ROOT

    @property
    def split_id(self) -> str:
        return self.url

    def child(self, url: str, page: int, row: int) -> HttpSplit | None:
        """Return the list that an item of this one names.

        None if that is this list, or one of those in which this one was found: read again it would name the
        same, for ever.
        """
        # No URL has blanks, so those in the name of where this list was found are words of their own.
        if url in (self.url, *self.found_in.split(" ")):
            return None
        list_name = self.url if self.is_root else f"{self.url} in {self.found_in}"
        return HttpSplit(url, f"{page}.{row} of {list_name}")


def current_path(logged: SplitPath) -> SplitPath:
    """Return the path of a split whose path was logged, perhaps by an earlier version.

    Earlier versions logged ``("found", "https://.../items/7/lines in 0.7 of https://.../items")``.
    """
    found_in, url = logged
    if found_in != _EARLIER_FOUND:
        return logged
    # At the first " in ": the URL before it has no blanks.
    url, _, found_in = url.partition(" in ")
    return (found_in, url)


PageCursor: TypeAlias = str | int | float
"""As the page has it: a number stays one, since some servers take nothing else back."""


@dataclass(frozen=True, slots=True)
class PagePosition:
    """The next item to read, as the offset holds it: ``{"page": 3, "row": 0, "url": "https://..."}``.

    Attributes:
        page: how many pages come before.
        row: how many items of this page come before.
        url: of this page.
        cursor: what the body of its request holds; None if that is the same for all pages.
        skipped: the pages that were left out on the way here from where the epoch began, each with the
            reason: a second reading leaves out the same.
        is_end: whether the list ends here, though a page said otherwise, or could not be read.
        size: how many items a page has that is complete, where pages are counted; None if that is not known.
        seen: tells the last page that was read from every other one, where pages or items are counted.
    """

    page: int
    row: int
    url: str
    cursor: PageCursor | None = None
    skipped: tuple[tuple[int, str], ...] = ()
    is_end: bool = False
    size: int | None = None
    seen: str | None = None

    @classmethod
    def first_of(cls, split: HttpSplit) -> PagePosition:
        """Return the position before the first item of a list."""
        return cls(0, 0, split.url)

    @property
    def place(self) -> PagePosition:
        """The place alone, without how it was come to."""
        return replace(self, skipped=(), is_end=False)

    def to_json(self) -> JsonObject:
        """Return the position as the offset holds it."""
        fields: JsonObject = {"page": self.page, "row": self.row, "url": self.url}
        if self.cursor is not None:
            fields["cursor"] = self.cursor
        if self.skipped:
            fields["skipped"] = [[page, reason] for page, reason in self.skipped]
        if self.is_end:
            fields["end"] = True
        if self.size is not None:
            fields["size"] = self.size
        if self.seen is not None:
            fields["seen"] = self.seen
        return fields

    @classmethod
    def from_json(cls, value: JsonValue) -> PagePosition:
        """Return what `to_json` wrote.

        Raises:
            OffsetError: it is a position of a list that is read in rounds.
        """
        fields = cast("dict[str, Any]", value)
        if "page" not in fields:
            raise OffsetError(
                "this checkpoint was begun with option incrementalField: go on with it, or use a new "
                "checkpointLocation"
            )
        return cls(
            int(fields["page"]),
            int(fields["row"]),
            str(fields["url"]),
            fields.get("cursor"),
            tuple((int(page), str(reason)) for page, reason in fields.get("skipped", ())),
            bool(fields.get("end")),
            fields.get("size"),
            fields.get("seen"),
        )


@dataclass(frozen=True, slots=True)
class LogPosition:
    """The next segment to read, as the offset holds it: ``{"segment": 12, "known": 7}``.

    Attributes:
        segment: its number.
        known: the last segment before it in which all versions of items stand that were known; None if there
            is none yet.
    """

    segment: int = 0
    known: int | None = None

    @property
    def first_needed(self) -> int:
        """The number of the first segment that going on from here needs."""
        return 0 if self.known is None else self.known

    def to_json(self) -> JsonObject:
        """Return the position as the offset holds it."""
        return {"segment": self.segment, "known": self.known}

    @classmethod
    def from_json(cls, value: JsonValue) -> LogPosition:
        """Return what `to_json` wrote.

        Raises:
            OffsetError: it is a position of a list that was read as it is.
        """
        fields = cast("dict[str, Any]", value)
        if "segment" not in fields:
            raise OffsetError(
                "this checkpoint was begun without option incrementalField: go on without it, or use a new "
                "checkpointLocation"
            )
        return cls(fields["segment"], fields["known"])
