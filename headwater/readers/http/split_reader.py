"""Reads resources page by page: one request a fetch."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

from headwater.core.clock import Clock
from headwater.core.epoch_records import EpochRecord, EpochRecords
from headwater.core.errors import CorruptRecordError, DataLossError, DeadlineError, TransientSourceError
from headwater.core.jsons import JsonValue
from headwater.core.reader import SplitReader
from headwater.core.retry import Backoff
from headwater.core.split import Path, SplitRange
from headwater.enumerators.http.split import FOUND, HttpSplit, PagePosition
from headwater.readers.http.client import HttpClient, check_status
from headwater.readers.http.pages import Page, parse_page, retry_after_ms
from headwater.readers.http.settings import HttpSettings

__all__ = ["HttpSplitReader"]

_OVERLOADED: Final = frozenset({429, 503})
_IDLE_MS: Final = 100


class HttpSplitReader(SplitReader[EpochRecord, HttpSplit, JsonValue]):
    """Splits take turns.

    Polite: never faster than the rate, never before the server says so; a wake-up ends every wait.

    Args:
        settings: what the user says.
        clock: time.
    """

    def __init__(self, settings: HttpSettings, clock: Clock) -> None:
        self._settings, self._clock = settings, clock
        self._client = HttpClient(settings.headers, settings.hosts, settings.timeout_ms)
        self._backoff = Backoff(deadline_ms=settings.deadline_ms)
        self._open: dict[Path, SplitRange[HttpSplit, JsonValue]] = {}
        self._woken = threading.Event()
        self._interval_ms = int(1000 / settings.requests_per_s) if settings.requests_per_s else 0
        self._not_before_ms = clock.monotonic_ms()
        self._failures, self._failing_since_ms = 0, 0

    def handle_splits_changes(self, added: Sequence[SplitRange[HttpSplit, JsonValue]]) -> None:
        self._open.update((piece.split.path, piece) for piece in added)

    def handle_splits_removal(self, removed: Sequence[Path]) -> None:
        for path in removed:
            self._open.pop(path, None)

    def fetch(self) -> EpochRecords:
        if self._wait_for_turn() or not self._open:
            return EpochRecords()
        path, piece = next(iter(self._open.items()))
        at, asked_to_wait_ms = PagePosition.from_json(piece.start), None
        self._not_before_ms = self._clock.monotonic_ms() + self._interval_ms
        try:
            answer = self._client.get(at.url)
            asked_to_wait_ms = (
                retry_after_ms(answer, datetime.now(UTC)) if answer.status in _OVERLOADED else None
            )
            check_status(answer)
        except TransientSourceError as error:
            return self._hold_back(path, error, asked_to_wait_ms)
        self._failures = 0
        return self._read(piece, at, parse_page(answer, self._settings))

    def wake_up(self) -> None:
        self._woken.set()
        self._client.interrupt()

    def close(self) -> None:
        self._client.close()

    def _wait_for_turn(self) -> bool:
        """Wait until a request may be made; return whether something else ended the wait.

        Without a split there is nothing to wait for but that.
        """
        wait_ms = self._not_before_ms - self._clock.monotonic_ms() if self._open else _IDLE_MS
        woken = self._clock.wait(self._woken, wait_ms) if wait_ms > 0 else self._woken.is_set()
        if woken:
            self._woken.clear()
        return woken

    def _hold_back(
        self, path: Path, error: TransientSourceError, asked_to_wait_ms: int | None
    ) -> EpochRecords:
        """Ask later: after as long as the server says, or later and later until the deadline."""
        if self._woken.is_set():
            return EpochRecords()
        if asked_to_wait_ms is not None:
            if asked_to_wait_ms > self._settings.most_wait_ms and self._settings.follows_growth:
                del self._open[path]
                return EpochRecords(caught_up={path: asked_to_wait_ms})
            self._not_before_ms = self._clock.monotonic_ms() + asked_to_wait_ms
            return EpochRecords()
        now_ms = self._clock.monotonic_ms()
        self._failing_since_ms = self._failing_since_ms if self._failures else now_ms
        self._failures += 1
        wait_ms = self._backoff.wait_ms(self._failures)
        if now_ms + wait_ms - self._failing_since_ms > self._backoff.deadline_ms:
            raise DeadlineError(
                f"{error.message}, after {self._failures} attempts", source="http", split=path[1]
            ) from error
        self._not_before_ms = now_ms + wait_ms
        return EpochRecords()

    def _read(self, piece: SplitRange[HttpSplit, JsonValue], at: PagePosition, page: Page) -> EpochRecords:
        split, path = piece.split, piece.split.path
        stop = None if piece.stop is None else PagePosition.from_json(piece.stop)
        end = stop.row if stop is not None and stop.page == at.page else len(page.items)
        if not at.row <= end <= len(page.items):
            raise DataLossError(
                f"the page has {len(page.items)} items, and had at least {max(at.row, end)} before",
                source="http",
                split=at.url,
            )
        if page.next_url == at.url:
            raise CorruptRecordError("the page names itself as the next one", source="http", split=at.url)
        after = (
            PagePosition(at.page, end, at.url)
            if page.next_url is None or end < len(page.items)
            else PagePosition(at.page + 1, 0, page.next_url)
        )
        if stop is not None and stop.page == at.page:
            after = stop
        records = {}
        if after != at:
            rows = page.rows(split.url, at.page, at.row, end)
            records = {path: [EpochRecord(rows, after.to_json(), page.found(self._settings, split, at, end))]}
        del self._open[path]
        if page.next_url is not None and after != stop:
            self._open[path] = SplitRange(split, after.to_json(), piece.stop)
            return EpochRecords(records)
        if split.kind == FOUND or not self._settings.follows_growth:
            return EpochRecords(records, frozenset([path]))
        return EpochRecords(records, caught_up={path: None})
