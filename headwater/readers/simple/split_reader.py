"""Reads the splits of a simple source, a page a fetch."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa

from headwater.core.barrier_reader import BarrierSplitReader, EpochRecord, EpochRecords, pause_or_resume
from headwater.core.clock import Clock
from headwater.core.errors import TransientSourceError
from headwater.core.reader import LossReporter
from headwater.core.retry import Backoff, Retry
from headwater.core.simple_source import AskAgain, Finished, NamedSplit, SimpleSource
from headwater.core.split import SplitPath, SplitRange
from headwater.core.worker_thread import WorkerThread
from headwater.readers.simple.pages import Ending, SplitPages
from headwater.readers.simple.settings import SimpleReadSettings

_IDLE_MS: Final = 100
_CLOSE_MS: Final = 5_000
_MOST_GENERATORS: Final = 32
"""More are not open at once: each may hold a connection or a file. One that was closed for this begins anew
at its position."""


@dataclass(frozen=True, slots=True)
class _PendingStep:
    """A step that the worker thread was asked for.

    Attributes:
        answer: the result of the step. Until it is there only the worker thread may use the split's pages.
        since_ms: when it was asked for.
    """

    answer: Future[EpochRecord | Ending]
    since_ms: int


@dataclass(slots=True)
class _Waits:
    """When a split may be asked again. Kept from its first failure or wait to its next answer.

    Attributes:
        retry: counts its failures in a row.
        not_before_ms: the earliest time, by the clock.
        since_ms: when the source first asked to wait; None if it has not.
    """

    retry: Retry
    not_before_ms: int = 0
    since_ms: int | None = None


class SimpleSplitReader(BarrierSplitReader[NamedSplit, Any]):
    """One page is one turn of a split. One generator runs at a time; those of paused splits stay open.

    The user's code runs on a worker thread, so a wake-up ends every fetch, however long that code takes; its
    values come with a later fetch then. A split that fails, or is to be asked later, waits alone: the
    next one is read meanwhile.

    Args:
        source: of the user.
        schema: of all rows.
        settings: by the options.
        clock: time.
    """

    def __init__(
        self, source: SimpleSource, schema: pa.Schema, settings: SimpleReadSettings, clock: Clock
    ) -> None:
        self._source = source
        self._schema = schema
        self._settings = settings
        self._clock = clock
        self._open: dict[SplitPath, SplitPages] = {}
        self._paused: dict[SplitPath, SplitPages] = {}
        # Those whose generators are open, from the one that was used longest ago.
        self._running: dict[SplitPath, SplitPages] = {}
        self._changed = threading.Event()
        self._is_woken = False
        self._worker = WorkerThread(f"headwater-read-{source.name}")
        self._steps: dict[SplitPath, _PendingStep] = {}
        self._waits: dict[SplitPath, _Waits] = {}
        self._close_ms = _CLOSE_MS
        self._report: LossReporter | None = None

    def report_losses_to(self, report: LossReporter) -> None:
        self._report = report

    def handle_splits_changes(self, added: Sequence[SplitRange[NamedSplit, Any]]) -> None:
        for each in added:
            self._open[each.split.path] = SplitPages(
                self._source,
                self._schema,
                each,
                is_planned=self._settings.is_planned,
                ends_at_records=self._settings.ends_at_records,
                fail_on_data_loss=self._settings.fail_on_data_loss,
            )

    def handle_splits_removal(self, removed: Sequence[SplitPath]) -> None:
        for path in removed:
            pages = self._open.pop(path, None) or self._paused.pop(path, None)
            if pages is not None:
                self._leave(pages)

    def pause_or_resume_splits(self, paused: Sequence[SplitPath], resumed: Sequence[SplitPath]) -> None:
        pause_or_resume(self._open, self._paused, paused, resumed)

    def fetch(self) -> EpochRecords:
        pages = self._first_ready()
        if pages is None:
            self._wait(self._left_ms())
            return EpochRecords()
        is_asked = pages.split.path in self._steps
        # In this order: while the worker thread is at a step, the position that is compared here moves.
        if not is_asked and pages.is_at_stop:
            return self._end(pages, None, {})
        if self._wait(0):
            return EpochRecords()
        answer = self._ask(pages)
        if answer is None:
            return EpochRecords()
        del self._steps[pages.split.path]
        return self._take(pages, answer)

    def wake_up(self) -> None:
        # In this order: what waits for the event looks at the flag when it is set.
        self._is_woken = True
        self._changed.set()

    def close(self) -> None:
        for pages in [*self._open.values(), *self._paused.values()]:
            self._leave(pages)
        self._worker.close(self._close_ms)

    def _first_ready(self) -> SplitPages | None:
        """Return the first split that may be asked now; None if there is none."""
        now_ms = self._clock.monotonic_ms()
        return next(
            (pages for path, pages in self._open.items() if self._not_before_ms(path) <= now_ms), None
        )

    def _left_ms(self) -> int:
        """Return how long to wait while no split may be asked."""
        if not self._open:
            return _IDLE_MS
        return min(map(self._not_before_ms, self._open)) - self._clock.monotonic_ms()

    def _not_before_ms(self, path: SplitPath) -> int:
        waits = self._waits.get(path)
        return 0 if waits is None else waits.not_before_ms

    def _ask(self, pages: SplitPages) -> Future[EpochRecord | Ending] | None:
        """Return the next answer of a split; None after a wake-up: a later fetch asks for the same answer.

        Raises:
            ContractError: the source takes longer than it may.
        """
        step = self._steps.get(pages.split.path)
        if step is None:
            self._make_room_for(pages)
            answer = self._worker.submit(pages.step)
            answer.add_done_callback(lambda _: self._changed.set())
            step = _PendingStep(answer, self._clock.monotonic_ms())
            self._steps[pages.split.path] = step
        timeout_ms = self._settings.read_timeout_ms
        while not step.answer.done():
            if self._wait(timeout_ms - (self._clock.monotonic_ms() - step.since_ms)):
                return None
            if not step.answer.done() and self._clock.monotonic_ms() - step.since_ms >= timeout_ms:
                # The thread hangs in the user's code: waiting for its end would be in vain.
                self._close_ms = 0
                raise pages.broken(
                    f"neither yielded nor returned within {timeout_ms} ms (option readTimeout) after "
                    f"position {pages.position!r}: it is to return where there is nothing now"
                )
        return step.answer

    def _wait(self, timeout_ms: int) -> bool:
        """Wait for an answer, a wake-up or the end of the time; return whether there was a wake-up."""
        if timeout_ms > 0:
            self._clock.wait(self._changed, timeout_ms)
        # Cleared before the caller looks for an answer, and set after there is one: an answer that comes
        # later than this line ends the next wait.
        self._changed.clear()
        if not self._is_woken:
            return False
        self._is_woken = False
        return True

    def _take(self, pages: SplitPages, answer: Future[EpochRecord | Ending]) -> EpochRecords:
        try:
            batch = answer.result()
        except TransientSourceError as error:
            return self._wait_with(pages, self._waits_of(pages).retry.failed(error), error)
        if isinstance(batch, AskAgain) and (pages.is_second_reading or not self._settings.follows_growth):
            self._check_patience(pages)
            return self._wait_with(pages, batch.after_ms)
        self._waits.pop(pages.split.path, None)
        for first, until in pages.losses:
            if self._report is not None:
                self._report(pages.split, first, until, "were lost: the outside dropped them")
        pages.losses.clear()
        if not isinstance(batch, EpochRecord):
            return self._end(pages, batch, {})
        # In planned mode a page without rows is nothing: the position after the batch is known already.
        has_news = batch.rows.num_rows > 0 or batch.is_end or not self._settings.is_planned
        records = {pages.split.path: [batch]} if has_news else {}
        if batch.is_end:
            return self._end(pages, Finished(), records)
        return self._end(pages, None, records) if pages.is_at_stop else EpochRecords(records)

    def _waits_of(self, pages: SplitPages) -> _Waits:
        backoff = Backoff(deadline_ms=self._settings.retry_deadline_ms)
        what = f"reading source {self._source.name}, split {pages.split.split_id}"
        return self._waits.setdefault(pages.split.path, _Waits(Retry(backoff, self._clock, what)))

    def _wait_with(
        self, pages: SplitPages, wait_ms: int, error: TransientSourceError | None = None
    ) -> EpochRecords:
        """Ask a split no earlier than in so many ms; tell barrier mode, so that others have their turns."""
        path = pages.split.path
        self._waits_of(pages).not_before_ms = self._clock.monotonic_ms() + wait_ms
        failed = {} if error is None else {path: error}
        return EpochRecords(failed=failed, paused={} if self._settings.is_planned else {path: wait_ms})

    def _check_patience(self, pages: SplitPages) -> None:
        """Note that the source asks to wait.

        Raises:
            ContractError: rows that were there before did not come, however long they were waited for.
        """
        now_ms = self._clock.monotonic_ms()
        waits = self._waits_of(pages)
        # The last answer was one, too: failures in a row have an end here.
        waits.retry.succeeded()
        if waits.since_ms is None:
            waits.since_ms = now_ms
        waited_ms = now_ms - waits.since_ms
        # The first wait is obeyed, however long it is.
        if pages.is_second_reading and waited_ms >= self._settings.retry_deadline_ms:
            raise pages.broken(
                f"came to {pages.stop!r} when it was read before, and returns nothing but AskAgain for "
                f"{waited_ms} ms (option retryDeadline) at {pages.position!r}: it is for rate limits; the "
                "same position must bring the same rows"
            )

    def _end(
        self, pages: SplitPages, end: Ending, records: Mapping[SplitPath, Sequence[EpochRecord]]
    ) -> EpochRecords:
        """Say how a split ended: in a batch, or with a stop that was planned, nothing comes later."""
        path = pages.split.path
        del self._open[path]
        self._leave(pages)
        if isinstance(end, Finished) or not self._settings.follows_growth:
            return EpochRecords(records, frozenset([path]))
        return EpochRecords(records, caught_up={path: end.after_ms if end is not None else None})

    def _make_room_for(self, pages: SplitPages) -> None:
        """Note that a generator is used; of too many close the one that was used longest ago."""
        self._running.pop(pages.split.path, None)
        self._running[pages.split.path] = pages
        if len(self._running) > _MOST_GENERATORS:
            idle = next((path for path in self._running if path not in self._steps), None)
            if idle is not None:
                self._close_generator(self._running.pop(idle))

    def _leave(self, pages: SplitPages) -> None:
        """Forget a split."""
        path = pages.split.path
        self._running.pop(path, None)
        self._steps.pop(path, None)
        self._waits.pop(path, None)
        self._close_generator(pages)

    def _close_generator(self, pages: SplitPages) -> None:
        """Close a generator where it runs: on the worker thread, after the step that it may be at."""
        if self._worker.has_started:
            self._worker.submit(pages.close)
