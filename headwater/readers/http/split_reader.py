"""Reads the lists of a REST API page by page: one request a fetch."""

from __future__ import annotations

import logging
import math
import threading
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import pyarrow as pa

from headwater.core.barrier_reader import BarrierSplitReader, EpochRecord, EpochRecords
from headwater.core.clock import Clock
from headwater.core.epoch import FoundSplit
from headwater.core.errors import CorruptRecordError, TransientSourceError
from headwater.core.jsons import JsonValue
from headwater.core.retry import Backoff, Retry
from headwater.core.split import SplitPath, SplitRange
from headwater.enumerators.http.split import HttpSplit, PagePosition
from headwater.readers.http.client import HttpClient, HttpResponse
from headwater.readers.http.open_list import MOST_LEFT_OUT, OpenList, checked, rows_to_take
from headwater.readers.http.pace import Pace
from headwater.readers.http.pages import HTTP_SCHEMA, HttpPage, bad_page_rows, parse_page, with_bad_page
from headwater.readers.http.paging import PageLink, counted_on, next_page
from headwater.readers.http.settings import HttpSettings
from headwater.readers.http.statuses import action_of, refusal, wait_ms
from headwater.readers.http.urls import origin, without_parameters

log = logging.getLogger(__name__)

_IDLE_MS: Final = 100
_MOST_WAIT_MS: Final = 5_000
"""The longest wait that a task sits out. After a longer one the split comes up in a later epoch."""
_MOST_EMPTY: Final = 10
"""After so many pages in a row without items a stream looks again later."""
_MOST_EMPTY_IN_BATCH: Final = 1_000
_SHOWN: Final = 500


class HttpSplitReader(BarrierSplitReader[HttpSplit, JsonValue]):
    """The lists that it was given take turns, a page each.

    It never asks faster than the rate, nor before the server says that it may. A wake-up ends every wait.

    Args:
        settings: what the user says.
        clock: time.
        pace: of the task.
    """

    def __init__(self, settings: HttpSettings, clock: Clock, pace: Pace) -> None:
        self._settings = settings
        self._clock = clock
        self._client = HttpClient(settings)
        self._retry = Retry(Backoff(deadline_ms=settings.deadline_ms), clock, "reading source http")
        self._open: dict[SplitPath, OpenList] = {}
        self._woken = threading.Event()
        self._pace = pace
        self._turn_ms: float | None = None
        self._not_before_ms: float = clock.monotonic_ms()

    def handle_splits_changes(self, added: Sequence[SplitRange[HttpSplit, JsonValue]]) -> None:
        kind = self._settings.paging.kind
        self._open.update((piece.split.path, OpenList.of(piece, kind)) for piece in added)

    def handle_splits_removal(self, removed: Sequence[SplitPath]) -> None:
        for path in removed:
            self._open.pop(path, None)

    def fetch(self) -> EpochRecords:
        try:
            return self._fetch()
        finally:
            # A wake-up is for the fetch that it finds: the next one is a turn of its own.
            self._woken.clear()

    def wake_up(self) -> None:
        # In this order: the fetch whose request is broken off sees why.
        self._woken.set()
        self._client.interrupt()

    def close(self) -> None:
        self._client.close()

    def _fetch(self) -> EpochRecords:
        if self._wait_for_turn() or not self._open:
            return EpochRecords()
        # The one that waited longest. What goes on stands behind the others.
        current = next(iter(self._open.values()))
        self._open[current.split.path] = self._open.pop(current.split.path)
        if current.is_known_to_end():
            return self._end(current)
        known = current.known_to_be_left_out()
        if known is not None:
            return self._leave_out(current, known)
        self._turn_ms = None
        try:
            return self._ask(current)
        except TransientSourceError as error:
            # After a wake-up the failure is our own: it has broken off the request.
            if self._woken.is_set():
                return EpochRecords()
            self._hold_back(self._retry.failed(error))
            return EpochRecords(failed={current.split.path: error})

    def _wait_for_turn(self) -> bool:
        """Wait until a request may be made; return whether a wake-up came first.

        Without a split there is nothing to wait for but that.
        """
        now_ms = self._clock.monotonic_ms()
        wait_ms = _IDLE_MS
        if self._open:
            # After a wake-up the turn is still this reader's.
            self._turn_ms = self._pace.take(now_ms) if self._turn_ms is None else self._turn_ms
            wait_ms = math.ceil(max(self._turn_ms, self._not_before_ms) - now_ms)
        return self._clock.wait(self._woken, wait_ms) if wait_ms > 0 else self._woken.is_set()

    def _hold_back(self, wait_ms: float) -> None:
        """Make no request for so long."""
        self._not_before_ms = max(self._not_before_ms, self._clock.monotonic_ms() + wait_ms)

    def _ask(self, current: OpenList) -> EpochRecords:
        """Ask for a page, and do with the answer what its status says.

        Raises:
            TransientSourceError: it is to be asked again.
        """
        answer = self._client.ask(current.ask.url, current.ask.cursor)
        action = action_of(answer, self._settings)
        if action == "retry":
            pause_ms = wait_ms(answer)
            if pause_ms is not None:
                return self._leave_alone(current, pause_ms)
            raise TransientSourceError(refusal(answer).message, source="http", split=answer.url)
        self._retry.succeeded()
        if action == "fail":
            raise refusal(answer)
        if action == "read":
            try:
                return self._read(current, answer)
            except CorruptRecordError as error:
                if self._settings.bad_pages == "fail":
                    raise CorruptRecordError(
                        f"{error.message}; option badPages=skip or column lets a query go on",
                        source="http",
                        split=answer.url,
                    ) from error
                reason = error.message
        else:
            reason = f"HTTP {answer.status}"
        if current.stop is not None:
            raise TransientSourceError(
                f"the page was read when the epoch was read first, and now cannot: {reason}",
                source="http",
                split=answer.url,
            )
        if action == "finish":
            return self._end(current)
        shown = answer.body[:_SHOWN].decode(errors="replace")
        return self._leave_out(current, f"{answer.url}: {reason}: {shown}")

    def _leave_alone(self, current: OpenList, pause_ms: int) -> EpochRecords:
        """Obey a server that asks to be left alone for so long."""
        is_first_reading = current.stop is None
        if pause_ms > _MOST_WAIT_MS and self._settings.follows_growth and is_first_reading:
            del self._open[current.split.path]
            return EpochRecords(caught_up={current.split.path: pause_ms})
        self._hold_back(pause_ms)
        return EpochRecords()

    def _read(self, current: OpenList, answer: HttpResponse) -> EpochRecords:
        """Hand over the items of a page, up to the stop, and find out what to ask next.

        Raises:
            CorruptRecordError: the page cannot be read.
            DataLossError: it has lost items.
        """
        page = parse_page(answer, self._settings.paging)
        following = next_page(current.asked, page, answer, self._settings.paging)
        if following.link is not None:
            shown = PageLink(self._without_secrets(following.link.url), following.link.cursor)
            following = replace(following, link=shown)
        following = checked(current, page, following)
        link = following.link
        if not page.items and current.ask.page != current.at.page and link is None:
            return self._end(current)
        if not following.is_certain and current.must_confirm(len(page.items)):
            return EpochRecords()
        stop = current.stop
        taken = rows_to_take(current, page)
        if stop is not None and stop.page == current.ask.page and stop.row == taken.stop:
            place = stop.place
        elif link is None or not following.is_certain:
            place = replace(current.ask, row=taken.stop)
        else:
            place = current.behind(link, taken.stop)
        after = replace(place, skipped=current.left_out)
        records = {}
        circular: tuple[JsonValue, ...] = ()
        if after != current.at:
            rows = self._rows(current, page, taken)
            found, circular = self._found(current, page, taken)
            records[current.split.path] = [EpochRecord(rows, after.to_json(), found)]
        events = (*self._events(current), *circular)
        current.empty_pages = 0 if page.items else current.empty_pages + 1
        current.at = after
        current.pending = []
        if link is not None and after != stop:
            current.ask = current.behind(link, taken.stop)
            if not self._is_idle(current):
                return EpochRecords(records, events=events)
            del self._open[current.split.path]
            return EpochRecords(records, caught_up={current.split.path: None}, events=events)
        return self._done(current, records, events, may_grow=current.split.is_root)

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

    def _rows(self, current: OpenList, page: HttpPage, taken: range) -> pa.RecordBatch:
        resource = current.split.url
        rows = page.rows(resource, current.ask.page, taken, current.first_row)
        if self._settings.bad_pages != "column":
            return rows
        nulls = pa.nulls(rows.num_rows, pa.string())
        whole = pa.RecordBatch.from_arrays([*rows.columns, nulls], schema=with_bad_page(HTTP_SCHEMA))
        pieces = [bad_page_rows(resource, current.pending), whole]
        return pa.Table.from_batches(pieces).combine_chunks().to_batches()[0] if current.pending else whole

    def _events(self, current: OpenList) -> tuple[JsonValue, ...]:
        """Tell the driver what was left out. A second reading tells nothing."""
        return tuple(reason for _, reason in current.pending) if current.stop is None else ()

    def _leave_out(self, current: OpenList, reason: str) -> EpochRecords:
        """Go on behind a page that cannot be read, if its number tells where that is."""
        log.warning("left out a page: %s", reason)
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
            return self._done(current, {}, (), may_grow=True)
        if current.at.is_end:
            return self._done(current, {}, (), may_grow=False)
        after = replace(current.at, skipped=current.left_out, is_end=True)
        empty = HttpPage([], {})
        rows = self._rows(current, empty, range(0))
        events = self._events(current)
        return self._done(current, {split.path: [EpochRecord(rows, after.to_json())]}, events, may_grow=True)

    def _done(
        self,
        current: OpenList,
        records: dict[SplitPath, list[EpochRecord]],
        events: tuple[JsonValue, ...],
        *,
        may_grow: bool,
    ) -> EpochRecords:
        """Read nothing more of a list in this epoch."""
        path = current.split.path
        del self._open[path]
        if may_grow and self._settings.follows_growth:
            return EpochRecords(records, caught_up={path: None}, events=events)
        return EpochRecords(records, frozenset([path]), events=events)

    def _without_secrets(self, url: str) -> str:
        """Return a link as it may be kept: many APIs repeat in it what they were asked with."""
        if origin(url) not in self._settings.origins:
            return url
        return without_parameters(url, self._settings.credentials.parameters)

    def _found(
        self, current: OpenList, page: HttpPage, taken: range
    ) -> tuple[tuple[FoundSplit, ...], tuple[JsonValue, ...]]:
        """Return the lists that the items of a page name, and what the driver is told of those left out."""
        paging = self._settings.paging
        if not paging.has_children:
            return (), ()
        # Links are relative to the page that was asked for: where a redirect leads may change.
        at = current.ask
        children = [
            current.split.child(self._without_secrets(url), at.page, row)
            for row in taken
            for url in page.links(row - current.first_row, paging, at.url)
        ]
        found = [child for child in children if child is not None]
        starts = tuple(FoundSplit(child, PagePosition.first_of(child).to_json()) for child in found)
        if len(found) == len(children):
            return starts, ()
        reason = (
            f"{at.url}: {len(children) - len(found)} items name this list itself, or one in which it was "
            "found; it is not read again from there"
        )
        log.warning("left out a list: %s", reason)
        return starts, (reason,) if current.stop is None else ()
