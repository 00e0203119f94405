"""Starts, wakes and ends the fetchers of a task (FLIP-27 ``SplitFetcherManager``)."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from headwater.core.jsons import JsonValue
from headwater.core.split import Path, SplitRange
from headwater.readers.runtime.fetchers.shape import ThreadShape
from headwater.readers.runtime.fetchers.split_fetcher import FetcherWork, SplitFetcher

__all__ = ["CLOSE_TIMEOUT_MS", "SplitFetcherManager"]

log = logging.getLogger(__name__)

CLOSE_TIMEOUT_MS = 30_000
"""How long a close waits for a reader to come back from a fetch that it was woken from."""


class SplitFetcherManager:
    """Belongs to the task's thread; `take` is for fetchers.

    Args:
        shape: how many fetchers, and how many splits each.
        starts: what to read from the beginning.
        take_found: gives the next split that was found, None if there is none.
        on_error: called on a fetcher's thread when it has failed.
        close_timeout_ms: see `CLOSE_TIMEOUT_MS`.
    """

    def __init__(
        self,
        shape: ThreadShape,
        starts: Sequence[SplitRange[Any, Any]],
        take_found: Callable[[], SplitRange[Any, Any] | None],
        on_error: Callable[[], None],
        close_timeout_ms: int = CLOSE_TIMEOUT_MS,
    ) -> None:
        self._shape, self._take_found, self._on_error = shape, take_found, on_error
        self._waiting = deque(starts)
        self._lock = threading.Lock()
        self._fetchers: list[SplitFetcher] = []
        self._threads: list[threading.Thread] = []
        self._failures: list[BaseException] = []
        self._close_timeout_ms = close_timeout_ms
        self._is_closed = False

    @property
    def fetches(self) -> int:
        """How often readers were asked."""
        return sum(fetcher.fetches for fetcher in self._fetchers)

    def start(self, work: FetcherWork, events: Sequence[JsonValue], name: str) -> None:
        """Make the fetchers and start their threads. Once; never after `close`.

        Args:
            work: what they share.
            events: of the enumerator, for each reader.
            name: of the threads.
        """
        if self._is_closed:
            return
        self._work = work
        self._fetchers = [SplitFetcher(index, work, events) for index in range(self._shape.fetchers)]
        for fetcher in self._fetchers[: self._shape.threads]:
            thread = threading.Thread(
                target=self._run, args=(fetcher,), name=f"{name}-fetcher-{fetcher.index}", daemon=True
            )
            self._threads.append(thread)
            thread.start()

    def take(self) -> SplitRange[Any, Any] | None:
        """Return the next split to begin with.

        First what the task was given, then, while no limit is reached, what was found. Any fetcher.
        """
        with self._lock:
            if self._waiting:
                return self._waiting.popleft()
        return None if self._work.trigger.is_reached else self._take_found()

    def step(self) -> bool:
        """Where there are no threads: let the fetcher do one thing; return whether it may have more to do."""
        return not self._threads and bool(self._fetchers) and not self._is_closed and self._fetchers[0].step()

    def notify_found(self) -> None:
        """There is something to take: whoever has room looks, also out of a fetch that may take long."""
        for fetcher in self._fetchers:
            if fetcher.has_room:
                fetcher.wake_up()

    def notify_trigger(self) -> None:
        """A limit is reached, or the barrier is due: fetches that nobody needs any more are woken up.

        Any thread.
        """
        for fetcher in self._fetchers:
            if self._work.trigger.is_due or not self._work.trigger.unserved(fetcher.assigned):
                fetcher.wake_up()

    def remove_splits(self, paths: Iterable[Path]) -> None:
        """Let no fetcher read these splits any more."""
        removed = tuple(paths)
        for fetcher in self._fetchers:
            fetcher.remove_splits(removed)

    def pause_or_resume_splits(self, paused: Iterable[Path], resumed: Iterable[Path]) -> None:
        """Pause and resume splits, wherever they are read; unknown ones mean nothing."""
        to_pause, to_resume = tuple(paused), tuple(resumed)
        for fetcher in self._fetchers:
            fetcher.pause_or_resume_splits(to_pause, to_resume)

    def check_errors(self) -> None:
        """Raise the first error of any fetcher, once, as it was raised there; later ones are noted with it.

        Raises:
            Exception: what a reader raised.
        """
        with self._lock:
            failures, self._failures = self._failures, []
        if failures:
            for other in failures[1:]:
                failures[0].add_note(f"another fetcher failed too: {type(other).__name__}: {other}")
            raise failures[0]

    def close(self) -> None:
        """End every fetcher: readers are woken up and closed, threads joined.

        Idempotent, and never raises: what fails then is logged.

        A thread whose reader does not come back from its fetch in time is left behind, and said so.
        """
        if self._is_closed:
            return
        self._is_closed = True
        for fetcher in self._fetchers:
            fetcher.stop()
        if not self._threads and self._fetchers:
            self._finish(self._fetchers[0])
        deadline = time.monotonic() + self._close_timeout_ms / 1000
        for thread in self._threads:
            thread.join(max(0.0, deadline - time.monotonic()))
            if thread.is_alive():
                log.error(
                    "%s did not return from SplitReader.fetch within %d ms after wake_up; it is left behind",
                    thread.name,
                    self._close_timeout_ms,
                )

    def _run(self, fetcher: SplitFetcher) -> None:
        try:
            fetcher.run()
        except BaseException as error:  # noqa: BLE001 - goes to the task's thread
            error.add_note(
                f"raised by fetcher {fetcher.index} of {len(self._fetchers)}, which reads {self._names(fetcher)}"
            )
            with self._lock:
                self._failures.append(error)
            self._on_error()
        finally:
            self._finish(fetcher)

    def _names(self, fetcher: SplitFetcher) -> str:
        names = ["-".join(path) for path in fetcher.assigned[:3]]
        more = len(fetcher.assigned) - len(names)
        return ", ".join(names) + (f" and {more} more" if more else "") if names else "no split"

    def _finish(self, fetcher: SplitFetcher) -> None:
        try:
            fetcher.finish()
        except BaseException:
            log.exception("closing the reader of fetcher %d failed", fetcher.index)
