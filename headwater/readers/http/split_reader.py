"""Reads the lists of a REST API page by page: one request a fetch."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

from headwater.core.barrier_reader import BarrierSplitReader, EpochRecord, EpochRecords
from headwater.core.clock import Clock
from headwater.core.epoch import FoundSplit
from headwater.core.errors import CorruptRecordError, DataLossError, TransientSourceError
from headwater.core.jsons import JsonValue
from headwater.core.retry import Backoff, Retry
from headwater.core.split import SplitPath, SplitRange
from headwater.enumerators.http.split import HttpSplit, PagePosition
from headwater.readers.http.client import HttpClient, check_status
from headwater.readers.http.pages import HttpPage, parse_page, retry_after_ms
from headwater.readers.http.settings import HttpSettings

_IDLE_MS: Final = 100
_MOST_WAIT_MS: Final = 5_000
"""The longest wait that a task sits out. After a longer one the split comes up in a later epoch."""


class HttpSplitReader(BarrierSplitReader[HttpSplit, JsonValue]):
    """The lists that it was given take turns, a page each.

    It never asks faster than the rate, nor before the server says that it may. A wake-up ends every wait.

    Args:
        settings: what the user says.
        clock: time.
    """

    def __init__(self, settings: HttpSettings, clock: Clock) -> None:
        self._settings = settings
        self._clock = clock
        self._client = HttpClient(settings)
        self._retry = Retry(Backoff(deadline_ms=settings.deadline_ms), clock, "reading source http")
        self._open: dict[SplitPath, SplitRange[HttpSplit, JsonValue]] = {}
        self._woken = threading.Event()
        self._interval_ms = int(1000 / settings.requests_per_s) if settings.requests_per_s else 0
        self._not_before_ms = clock.monotonic_ms()

    def handle_splits_changes(self, added: Sequence[SplitRange[HttpSplit, JsonValue]]) -> None:
        self._open.update((piece.split.path, piece) for piece in added)

    def handle_splits_removal(self, removed: Sequence[SplitPath]) -> None:
        for path in removed:
            self._open.pop(path, None)

    def fetch(self) -> EpochRecords:
        if self._wait_for_turn() or not self._open:
            return EpochRecords()
        piece = next(iter(self._open.values()))
        at = PagePosition.from_json(piece.start)
        self._hold_back(self._interval_ms)
        try:
            answer = self._client.get(at.url)
            wait_ms = retry_after_ms(answer, datetime.now(UTC))
            if wait_ms is not None:
                return self._leave_alone(piece.split, wait_ms)
            check_status(answer)
        except TransientSourceError as error:
            # After a wake-up the failure is our own: it has broken off the request.
            if not self._woken.is_set():
                self._hold_back(self._retry.failed(error))
            return EpochRecords()
        self._retry.succeeded()
        return self._read(piece, at, parse_page(answer, self._settings))

    def wake_up(self) -> None:
        # In this order: the fetch whose request is broken off sees why.
        self._woken.set()
        self._client.interrupt()

    def close(self) -> None:
        self._client.close()

    def _wait_for_turn(self) -> bool:
        """Wait until a request may be made; return whether a wake-up came first.

        Without a split there is nothing to wait for but that.
        """
        wait_ms = self._not_before_ms - self._clock.monotonic_ms() if self._open else _IDLE_MS
        woken = self._clock.wait(self._woken, wait_ms) if wait_ms > 0 else self._woken.is_set()
        if woken:
            self._woken.clear()
        return woken

    def _hold_back(self, wait_ms: int) -> None:
        """Make no request for so long."""
        self._not_before_ms = max(self._not_before_ms, self._clock.monotonic_ms() + wait_ms)

    def _leave_alone(self, split: HttpSplit, wait_ms: int) -> EpochRecords:
        """Obey a server that asks to be left alone for so long."""
        if wait_ms > _MOST_WAIT_MS and self._settings.follows_growth:
            del self._open[split.path]
            return EpochRecords(caught_up={split.path: wait_ms})
        self._hold_back(wait_ms)
        return EpochRecords()

    def _read(
        self, piece: SplitRange[HttpSplit, JsonValue], at: PagePosition, page: HttpPage
    ) -> EpochRecords:
        split = piece.split
        stop = None if piece.stop is None else PagePosition.from_json(piece.stop)
        stop_here = stop if stop is not None and stop.page == at.page else None
        end = len(page.items) if stop_here is None else stop_here.row
        _check(page, at, end)
        if stop_here is not None:
            after = stop_here
        elif page.next_url is None:
            after = PagePosition(at.page, end, at.url)
        else:
            after = PagePosition(at.page + 1, 0, page.next_url)
        records = {}
        if after != at:
            rows = page.rows(split.url, at.page, at.row, end)
            records[split.path] = [EpochRecord(rows, after.to_json(), self._found(split, page, at, end))]
        # Taken out in any case: what goes on stands behind the others.
        del self._open[split.path]
        if page.next_url is not None and after != stop:
            self._open[split.path] = SplitRange(split, after.to_json(), piece.stop)
            return EpochRecords(records)
        if split.is_root and self._settings.follows_growth:
            return EpochRecords(records, caught_up={split.path: None})
        return EpochRecords(records, frozenset([split.path]))

    def _found(self, split: HttpSplit, page: HttpPage, at: PagePosition, end: int) -> tuple[FoundSplit, ...]:
        """Return the lists that the items from a position to before row ``end`` of its page name."""
        field = self._settings.children_field
        if field is None:
            return ()
        # Links are relative to the page that was asked for: where a redirect leads may change.
        children = [
            split.child(url, at.page, row)
            for row in range(at.row, end)
            for url in page.links(row, field, at.url)
        ]
        return tuple(FoundSplit(child, PagePosition.first_of(child).to_json()) for child in children)


def _check(page: HttpPage, at: PagePosition, end: int) -> None:
    """Return if a page has what it had before, up to row ``end``, and leads on.

    Raises:
        DataLossError: it lost items.
        CorruptRecordError: it leads to itself.
    """
    if not at.row <= end <= len(page.items):
        raise DataLossError(
            f"the page has {len(page.items)} items, and had at least {max(at.row, end)} before",
            source="http",
            split=at.url,
        )
    if page.next_url == at.url:
        raise CorruptRecordError("the page names itself as the next one", source="http", split=at.url)
