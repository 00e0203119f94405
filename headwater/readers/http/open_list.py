"""A list while a task reads it: its position, the next page, and the pages that were skipped."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from headwater.core.errors import DataLossError
from headwater.core.jsons import JsonValue
from headwater.core.split import SplitRange
from headwater.enumerators.http.split import HttpSplit, PagePosition
from headwater.readers.http.pages import HttpPage
from headwater.readers.http.paging import CircleGuard, PageLink
from headwater.readers.http.settings import Paging


@dataclass
class OpenList:
    """Belongs to the reader.

    Attributes:
        split: the list.
        at: the position after the rows that were handed over.
        ask: the page to ask for: that of ``at``, or the one behind it, if the page of ``at`` may still grow.
        stop: where an earlier reading of the epoch stopped; None if this is the first.
        pending: pages that were left out since ``at``, each with the reason.
        empty_pages: how many pages in a row had no items.
        guard: notices pages that lead in a circle.
        page_size: how many items a page has that is complete, where pages are counted; None if that is not
            known yet.
        seen: tells the last page that was read from every other one, where pages or items are counted.
        is_confirming: whether the page of ``at`` is asked for once more, now that there is one behind it.
    """

    split: HttpSplit
    at: PagePosition
    ask: PagePosition
    stop: PagePosition | None
    kind: Paging
    pending: list[tuple[int, str]] = field(default_factory=list)
    empty_pages: int = 0
    guard: CircleGuard = field(default_factory=CircleGuard)
    page_size: int | None = None
    seen: str | None = None
    is_confirming: bool = False

    @classmethod
    def of(cls, split_range: SplitRange[HttpSplit, JsonValue], kind: Paging) -> OpenList:
        """Begin a range. Pages that were skipped before it count no more."""
        at = replace(PagePosition.from_json(split_range.start), skipped=())
        stop = None if split_range.stop is None else PagePosition.from_json(split_range.stop)
        return cls(split_range.split, at, at.place, stop, kind, page_size=at.size, seen=at.seen)

    @property
    def asked(self) -> PageLink:
        """The page to ask for."""
        return PageLink(self.ask.url, self.ask.cursor)

    @property
    def is_new(self) -> bool:
        """Whether nothing of the list was ever read."""
        return self.at == PagePosition.first_of(self.split)

    @property
    def is_second_reading(self) -> bool:
        """Whether the epoch was read before."""
        return self.stop is not None

    @property
    def left_out(self) -> tuple[tuple[int, str], ...]:
        """The pages that were left out in this epoch."""
        return (*self.at.skipped, *self.pending)

    def known_to_be_left_out(self) -> str | None:
        """Return why an earlier reading of the epoch left out the page to ask for, None if it did not."""
        skipped = self.stop.skipped[len(self.left_out) :] if self.stop is not None else ()
        return skipped[0][1] if skipped and skipped[0][0] == self.ask.page else None

    def is_known_to_end(self) -> bool:
        """Whether an earlier reading found that the list ends here."""
        if self.stop is None:
            return self.at.is_end
        return self.stop.is_end and replace(self.at, skipped=self.left_out, is_end=True) == self.stop

    @property
    def first_row(self) -> int:
        """The row of the first item of the page to ask for. With offsets a list is one page, cut anywhere."""
        return self.ask.row if self.kind == "offset" else 0

    @property
    def is_complete(self) -> bool:
        """Whether the page of ``at`` has all the items that it will ever have."""
        return self.page_size is not None and self.at.row == self.page_size

    def upto(self, row: int) -> PagePosition:
        """Return the position before an item of the page that is asked for."""
        return replace(self.ask, row=row, size=self.page_size, seen=self.seen)

    def behind(self, link: PageLink, row: int) -> PagePosition:
        """Return the position before the page that follows the one that is asked for, which ends at a row."""
        if self.kind == "offset":
            return replace(self.upto(row), url=link.url)
        return PagePosition(self.ask.page + 1, 0, link.url, link.cursor, size=self.page_size, seen=self.seen)

    def must_confirm(self, items: int) -> bool:
        """Take a page that may grow or has grown; return whether to ask for the one before it first.

        That one was read when this one may not have been there, so it may have got more items since, unless
        it has as many as a page that is known to be complete.
        """
        if self.ask.page == self.at.page:
            if self.is_confirming:
                self.page_size = items
            self.is_confirming = False
            return False
        if self.pending or self.is_complete or self.stop is not None:
            return False
        self.ask = self.at.place
        self.is_confirming = True
        return True


def rows_to_take(current: OpenList, page: HttpPage) -> range:
    """Return the rows of a page that are handed over: those behind the position and before the stop.

    Raises:
        DataLossError: the page has lost items.
    """
    first = current.first_row
    have = first + len(page.items)
    stop = current.stop
    end = have
    if stop is not None and stop.page == current.ask.page:
        end = min(have, stop.row) if current.kind == "offset" else stop.row
    if not current.ask.row <= end <= have:
        raise DataLossError(
            f"the page has {have} items, and had at least {max(current.ask.row, end)} before",
            source="http",
            split=current.ask.url,
        )
    return range(current.ask.row, end)
