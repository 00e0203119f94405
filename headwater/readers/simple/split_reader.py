"""Reads the splits of a simple source, one after the other, a page a fetch."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import Future
from typing import Any, Final

import pyarrow as pa

from headwater.core.clock import Clock
from headwater.core.epoch_records import EpochRecord, EpochRecords
from headwater.core.errors import DeadlineError, TransientSourceError
from headwater.core.reader import SplitReader
from headwater.core.retry import Backoff
from headwater.core.simple_source import AskAgain, Finished, NamedSplit, SimpleSource
from headwater.core.split import Path, SplitRange
from headwater.readers.simple.pages import End, SplitPages
from headwater.readers.simple.settings import SimpleReadSettings
from headwater.readers.simple.worker import Worker

__all__ = ["SimpleSplitReader"]

_IDLE_MS: Final = 100
_CLOSE_MS: Final = 5_000


class SimpleSplitReader(SplitReader[EpochRecord, NamedSplit, Any]):
    """One split is read as far as it goes before the next is begun: no more than one generator is open.

    The user's code runs on a thread of its own, so a wake-up ends every fetch, however long that code takes;
    what it yields then comes with a later fetch.

    Args:
        source: of the user.
        schema: of all rows.
        settings: what the options say.
        clock: time.
    """

    def __init__(
        self, source: SimpleSource, schema: pa.Schema, settings: SimpleReadSettings, clock: Clock
    ) -> None:
        self._source, self._schema, self._settings, self._clock = source, schema, settings, clock
        self._backoff = Backoff(deadline_ms=settings.retry_deadline_ms)
        self._open: dict[Path, SplitPages] = {}
        self._paused: set[Path] = set()
        self._changed, self._woken = threading.Event(), False
        self._worker = Worker(f"headwater-read-{source.name}", self._changed.set)
        self._asked: tuple[SplitPages, Future[EpochRecord | End], int] | None = None
        self._not_before_ms, self._failures, self._failing_since_ms = 0, 0, 0
        self._close_ms = _CLOSE_MS

    def handle_splits_changes(self, added: Sequence[SplitRange[NamedSplit, Any]]) -> None:
        planned = self._settings.is_planned
        self._open.update(
            (piece.split.path, SplitPages(self._source, self._schema, piece, is_planned=planned))
            for piece in added
        )

    def handle_splits_removal(self, removed: Sequence[Path]) -> None:
        for path in removed:
            if (pages := self._open.pop(path, None)) is not None:
                self._forget(pages)

    def pause_or_resume_splits(self, paused: Sequence[Path], resumed: Sequence[Path]) -> None:
        self._paused = (self._paused | set(paused)) - set(resumed)

    def fetch(self) -> EpochRecords:
        pages = next((pages for path, pages in self._open.items() if path not in self._paused), None)
        is_asked = self._asked is not None and self._asked[0] is pages
        if pages is not None and not is_asked and pages.is_at_stop:
            return self._done(pages, None, {})
        wait_ms = _IDLE_MS if pages is None else self._not_before_ms - self._clock.monotonic_ms()
        if self._wait(wait_ms) or pages is None or self._clock.monotonic_ms() < self._not_before_ms:
            return EpochRecords()
        answer = self._ask(pages)
        if answer is None or not answer.done():
            return EpochRecords()
        self._asked = None
        return self._take(pages, answer)

    def wake_up(self) -> None:
        self._woken = True
        self._changed.set()

    def close(self) -> None:
        for pages in self._open.values():
            self._forget(pages)
        self._worker.close(self._close_ms)

    def _ask(self, pages: SplitPages) -> Future[EpochRecord | End] | None:
        """Return the next answer of a split, or an open one if something else ended the wait."""
        if self._asked is None or self._asked[0] is not pages:
            self._asked = pages, self._worker.submit(pages.step), self._clock.monotonic_ms()
        _, answer, since_ms = self._asked
        timeout_ms = self._settings.read_timeout_ms
        while not answer.done():
            if self._wait(timeout_ms - (self._clock.monotonic_ms() - since_ms)):
                return None
            if answer.done():
                break
            if self._clock.monotonic_ms() - since_ms >= timeout_ms:
                self._close_ms = 0
                raise pages.broken(
                    f"neither yielded nor returned within {timeout_ms} ms (option readTimeout) after position {pages.position!r}: "
                    "it is to return where there is nothing now"
                )
        return answer

    def _wait(self, timeout_ms: int) -> bool:
        """Wait until something happens; return whether it is a wake-up."""
        if timeout_ms > 0:
            self._clock.wait(self._changed, timeout_ms)
        self._changed.clear()
        if not self._woken:
            return False
        self._woken = False
        return True

    def _take(self, pages: SplitPages, answer: Future[EpochRecord | End]) -> EpochRecords:
        try:
            taken = answer.result()
        except TransientSourceError as error:
            self._hold_back(error)
            return EpochRecords()
        self._failures = 0
        if isinstance(taken, AskAgain) and not self._settings.follows_growth:
            self._not_before_ms = self._clock.monotonic_ms() + taken.after_ms
            return EpochRecords()
        if not isinstance(taken, EpochRecord):
            return self._done(pages, taken, {})
        records = {pages.split.path: [taken]} if taken.rows.num_rows or not self._settings.is_planned else {}
        return self._done(pages, None, records) if pages.is_at_stop else EpochRecords(records)

    def _done(self, pages: SplitPages, end: End, records: Any) -> EpochRecords:
        """Say how a split ended; a range that was read to its stop, or a batch, has nothing later."""
        path = pages.split.path
        del self._open[path]
        self._paused.discard(path)
        self._forget(pages)
        if isinstance(end, Finished) or not self._settings.follows_growth:
            return EpochRecords(records, frozenset([path]))
        return EpochRecords(records, caught_up={path: end.after_ms if end is not None else None})

    def _hold_back(self, error: TransientSourceError) -> None:
        """Ask again later and later until the deadline."""
        now_ms = self._clock.monotonic_ms()
        self._failing_since_ms = self._failing_since_ms if self._failures else now_ms
        self._failures += 1
        wait_ms = self._backoff.wait_ms(self._failures)
        if now_ms + wait_ms - self._failing_since_ms > self._backoff.deadline_ms:
            raise DeadlineError(
                f"{error.message}, after {self._failures} attempts",
                source=error.source,
                split=error.split,
                position=error.position,
            ) from error
        self._not_before_ms = now_ms + wait_ms

    def _forget(self, pages: SplitPages) -> None:
        """Close a generator where it runs: on the worker's thread, after what it does now."""
        if self._worker.is_running:
            self._worker.submit(pages.close)
