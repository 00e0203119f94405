"""Reads the lists of a REST API page by page: one request a fetch."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import pyarrow as pa

from headwater.core.barrier_reader import EpochRecord, EpochRecords
from headwater.core.epoch import FoundSplit
from headwater.core.errors import CorruptRecordError
from headwater.core.jsons import JsonValue
from headwater.core.redaction import logger_of
from headwater.core.split import SplitPath, SplitRange
from headwater.enumerators.http.split import HttpSplit, PagePosition
from headwater.readers.http.open_list import OpenList, rows_to_take
from headwater.readers.http.paged_split_reader import MOST_LEFT_OUT, PagedSplitReader
from headwater.readers.http.pages import HttpPage, bad_page_rows, parse_page, with_no_reason
from headwater.readers.http.paging import counted_on, not_counted
from headwater.readers.http.response import HttpResponse

log = logger_of(__name__)

_MOST_EMPTY: Final = 10
"""After this number of pages in a row without items a stream looks again later."""
_MOST_EMPTY_IN_BATCH: Final = 1_000


class HttpSplitReader(PagedSplitReader[OpenList]):
    """Lists as they are: every item once, and a list that the user named goes on behind its last page."""

    def _opened(self, split_range: SplitRange[HttpSplit, JsonValue]) -> OpenList:
        opened = OpenList.of(split_range, self._settings.paging.kind)
        if opened.is_complete:
            link = counted_on(opened.asked, self._settings.paging)
            opened.ask = opened.ask if link is None else opened.behind(link, 0)
        return opened

    def _without_request(self, current: OpenList) -> EpochRecords | None:
        if current.is_known_to_end():
            return self._end(current)
        reason = current.known_to_be_left_out()
        return None if reason is None else self._leave_out(current, reason)

    def _read(self, current: OpenList, answer: HttpResponse) -> EpochRecords:
        """Hand over the items of a page, up to the stop, and find the next page to ask for.

        Raises:
            CorruptRecordError: the page cannot be read.
            DataLossError: it has lost items.
        """
        page = parse_page(answer, self._settings.paging)
        following = self._following(current, page, answer)
        link = following.link
        if not page.items and current.ask.page != current.at.page and link is None:
            return self._end(current)
        digest = self._seen(current, page)
        if not following.is_certain and current.must_confirm(len(page.items)):
            return EpochRecords()
        current.seen = digest
        stop = current.stop
        row_range = rows_to_take(current, page)
        if stop is not None and stop.page == current.ask.page and stop.row == row_range.stop:
            place = stop.place
        elif link is None or not following.is_certain:
            place = current.upto(row_range.stop)
        else:
            place = current.behind(link, row_range.stop)
        end = replace(place, skipped=current.left_out)
        records = {}
        if end != current.at:
            rows = self._rows(current, page, row_range)
            splits, circular = self._found(current, page, row_range)
            events = (*self._events(current), *circular)
            records[current.split.path] = [EpochRecord(rows, end.to_json(), splits, events)]
        current.empty_pages = 0 if page.items else current.empty_pages + 1
        current.at = end
        current.pending = []
        if link is not None and end != stop:
            current.ask = current.behind(link, row_range.stop)
            if not self._is_idle(current):
                return EpochRecords(records)
            del self._open[current.split.path]
            return EpochRecords(records, caught_up={current.split.path: None})
        return self._done(current, records, may_grow=current.split.is_root)

    def _seen(self, current: OpenList, page: HttpPage) -> str | None:
        """Return a digest that distinguishes a page from every other one, where pages or items are counted.

        Raises:
            CorruptRecordError: it is the one before once more.
        """
        if self._settings.paging.kind == "link" or not page.items:
            return current.seen
        is_same_page = current.kind == "page" and current.ask.page == current.at.page and current.at.row > 0
        last_digest = None if is_same_page or current.is_second_reading else current.seen
        digest = page.digest
        if digest == last_digest:
            raise not_counted(current.ask.url)
        return digest

    def _is_idle(self, current: OpenList) -> bool:
        """Whether a list has had no items for many pages: a stream looks again later.

        Raises:
            CorruptRecordError: a batch, which has no later, finds no end.
        """
        if current.stop is not None or current.empty_pages < _MOST_EMPTY:
            return False
        if current.empty_pages >= _MOST_EMPTY_IN_BATCH:
            raise CorruptRecordError(
                f"{current.empty_pages} pages in a row have no items and name another one: say with "
                "hasMoreField where the end is told",
                source="http",
                split=current.ask.url,
            )
        return self._settings.follows_growth

    def _rows(self, current: OpenList, page: HttpPage, row_range: range) -> pa.RecordBatch:
        resource = current.split.url
        rows = page.rows(resource, current.ask.page, row_range, current.first_row)
        if self._settings.bad_pages != "column":
            return rows
        whole = with_no_reason(rows)
        pieces = [bad_page_rows(resource, current.pending), whole]
        return pa.Table.from_batches(pieces).combine_chunks().to_batches()[0] if current.pending else whole

    def _events(self, current: OpenList) -> tuple[JsonValue, ...]:
        """Tell the driver of skipped pages. A second reading tells nothing."""
        return tuple(reason for _, reason in current.pending) if current.stop is None else ()

    def _leave_out(self, current: OpenList, reason: str) -> EpochRecords:
        """Go on behind a page that cannot be read, if its number tells where that is."""
        current.pending.append((current.ask.page, reason))
        link = counted_on(current.asked, self._settings.paging)
        if link is None or len(current.pending) >= MOST_LEFT_OUT:
            return self._end(current)
        current.ask = current.behind(link, 0)
        return EpochRecords()

    def _end(self, current: OpenList) -> EpochRecords:
        """End a list where no page says so.

        One that the user named goes on in a stream: its next page is asked for again. For any other list it
        stands in the position that it ends here, so it is known when the epoch is read again, and a later
        epoch closes it.
        """
        split = current.split
        if split.is_root and self._settings.follows_growth:
            return self._done(current, {}, may_grow=True)
        if current.at.is_end:
            return self._done(current, {}, may_grow=False)
        end = replace(current.at, skipped=current.left_out, is_end=True)
        empty = HttpPage([], {})
        rows = self._rows(current, empty, range(0))
        record = EpochRecord(rows, end.to_json(), events=self._events(current))
        return self._done(current, {split.path: [record]}, may_grow=True)

    def _done(
        self, current: OpenList, records: dict[SplitPath, list[EpochRecord]], *, may_grow: bool
    ) -> EpochRecords:
        """Read nothing more of a list in this epoch."""
        path = current.split.path
        del self._open[path]
        if may_grow and self._settings.follows_growth:
            return EpochRecords(records, caught_up={path: None})
        return EpochRecords(records, frozenset([path]))

    def _found(
        self, current: OpenList, page: HttpPage, rows: range
    ) -> tuple[tuple[FoundSplit, ...], tuple[JsonValue, ...]]:
        """Return the lists that the items of a page name, and the message about skipped ones."""
        paging = self._settings.paging
        if not paging.has_children:
            return (), ()
        # Links are relative to the page that was asked for: where a redirect leads may change.
        at = current.ask
        children = [
            current.split.child(self._without_secrets(url), at.page, row)
            for row in rows
            for url in page.links(row - current.first_row, paging, at.url)
        ]
        fresh = [child for child in children if child is not None]
        starts = tuple(FoundSplit(child, PagePosition.first_of(child).to_json()) for child in fresh)
        if len(fresh) == len(children):
            return starts, ()
        reason = (
            f"{at.url}: {len(children) - len(fresh)} items name this list itself, or one in which it was "
            "found; it is not read again from there"
        )
        log.warning("left out a list: %s", reason)
        return starts, (reason,) if current.stop is None else ()
