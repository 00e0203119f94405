"""Starts, wakes up and ends the fetchers of a task (FLIP-27 ``SplitFetcherManager``)."""

from __future__ import annotations

import heapq
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from operator import itemgetter
from typing import Any

from headwater.core.errors import ContractError
from headwater.core.jsons import JsonValue
from headwater.core.redaction import logger_of
from headwater.core.split import SplitPath, SplitRange
from headwater.readers.runtime.fetchers.split_fetcher import FetcherWork, SplitFetcher

log = logger_of(__name__)

MOST_MEASURED = 100
"""The time is told of so many splits at most: manifests stay small."""

CLOSE_TIMEOUT_MS = 30_000
"""How long a close waits for readers to return from the fetches that they were woken from."""


class SplitFetcherManager:
    """Has as many fetchers as a task reads splits at once.

    Belongs to the task's thread; `notify_trigger` may be called by any thread.

    Args:
        work: the settings that the fetchers share.
        threads: how many fetchers there are, at least 1.
        starts: the ranges of the task.
        take_found: gives the next split that was found, None if there is none.
        most_open: from this number of open splits on, found splits wait for others to be done; but for one an
            epoch, so that it does not wait for ever.
        name: of the source; the threads are named after it.
        on_error: called on a fetcher's thread when it has failed.
        close_timeout_ms: see `CLOSE_TIMEOUT_MS`.

    Raises:
        ContractError: the source has no thread that fetches.
    """

    def __init__(
        self,
        work: FetcherWork,
        *,
        threads: int,
        starts: Sequence[SplitRange[Any, Any]],
        take_found: Callable[[], SplitRange[Any, Any] | None],
        most_open: int,
        name: str,
        on_error: Callable[[], None],
        close_timeout_ms: int = CLOSE_TIMEOUT_MS,
    ) -> None:
        if threads < 1:
            raise ContractError(f"source {name}: fetcher_threads is {threads}, and must be at least 1")
        self._trigger = work.trigger
        self._take_found = take_found
        self._most_open = most_open
        self._took_more = False
        self._on_error = on_error
        self._close_timeout_ms = close_timeout_ms
        # Fetchers take from the one and append to the other on their own threads; both are thread-safe.
        self._given = deque(starts)
        self._failures: deque[BaseException] = deque()
        self._fetchers = [SplitFetcher(index, work, self._take) for index in range(threads)]
        self._threads = [
            threading.Thread(
                target=self._run, args=(fetcher,), name=f"{name}-fetcher-{fetcher.index}", daemon=True
            )
            for fetcher in self._fetchers
        ]
        self._is_closed = False

    @property
    def fetches(self) -> int:
        """How often readers were asked."""
        return sum(fetcher.fetches for fetcher in self._fetchers)

    def slowest(self) -> list[JsonValue]:
        """Return how long fetching from each split took in ms: of the slowest splits. After `close`."""
        took_ms = [took for fetcher in self._fetchers for took in fetcher.took_ms.items()]
        slowest = heapq.nlargest(MOST_MEASURED, took_ms, key=itemgetter(1))
        return [[list(path), ms] for path, ms in slowest]

    def start(self) -> None:
        """Start the fetchers' threads. Once; after `close` it does nothing."""
        if self._is_closed:
            return
        for thread in self._threads:
            thread.start()

    def notify_found(self) -> None:
        """There is something to take: fetchers that have room look again."""
        # A fetcher that has no room at this moment looks again by itself, when its split is done.
        for fetcher in self._fetchers:
            if fetcher.has_room:
                fetcher.wake_up()

    def notify_trigger(self) -> None:
        """A limit is reached, the barrier is due, or a turn was given up.

        Fetches that are not needed any more are woken up, and idle fetchers look again.
        """
        for fetcher in self._fetchers:
            if self._trigger.is_reached and not fetcher.is_at_first_turn:
                fetcher.wake_up()

    def remove_splits(self, paths: Iterable[SplitPath]) -> None:
        """Let no fetcher read these splits any more."""
        # A copy: fetchers look at it later, on their own threads.
        removed = tuple(paths)
        for fetcher in self._fetchers:
            fetcher.remove_splits(removed)

    def pause_or_resume_splits(self, paused: Sequence[SplitPath], resumed: Sequence[SplitPath]) -> None:
        """Pause and resume splits, whichever fetcher reads them. Splits that are not read are ignored."""
        for fetcher in self._fetchers:
            fetcher.pause_or_resume_splits(paused, resumed)

    def check_errors(self) -> None:
        """Raise the first error of any fetcher, once, as it was raised there; later ones are noted with it.

        Raises:
            Exception: the error of a reader.
        """
        if not self._failures:
            return
        first = self._failures.popleft()
        while self._failures:
            other = self._failures.popleft()
            first.add_note(f"another fetcher failed too: {type(other).__name__}: {other}")
        raise first

    def close(self) -> None:
        """End every fetcher: readers are woken up and closed, threads joined.

        Idempotent. Never raises: an error of a reader's close is logged. A thread whose reader does not
        return from its fetch in time is left behind, which is logged too.
        """
        if self._is_closed:
            return
        self._is_closed = True
        # All are told before the first is waited for: they end at the same time.
        for fetcher in self._fetchers:
            fetcher.stop()
        deadline = time.monotonic() + self._close_timeout_ms / 1000
        for thread in self._threads:
            if thread.ident is None:  # never started
                continue
            thread.join(max(0.0, deadline - time.monotonic()))
            if thread.is_alive():
                log.error(
                    "%s did not return from SplitReader.fetch within %d ms after wake_up; it is left behind",
                    thread.name,
                    self._close_timeout_ms,
                )

    def _take(self, has_other: bool) -> SplitRange[Any, Any] | None:
        """Return the next split to begin with. Called by fetchers.

        First the ranges of the task, then found splits.
        """
        try:
            return self._given.popleft()
        except IndexError:
            pass
        # What is begun and not finished is in the offset with its position, and must not be too much for it.
        # Two fetchers that look at once may both take one more: that is no harm, so there is no lock.
        is_full = has_other and sum(fetcher.open for fetcher in self._fetchers) >= self._most_open
        if is_full and self._took_more:
            return None
        split_range = self._take_found()
        self._took_more |= is_full and split_range is not None
        return split_range

    def _run(self, fetcher: SplitFetcher) -> None:
        """Run a fetcher on its thread. Its error goes to the task's thread."""
        try:
            fetcher.run()
        except BaseException as error:  # noqa: BLE001 - see above
            error.add_note(
                f"raised by fetcher {fetcher.index} of {len(self._fetchers)}, which reads {_names(fetcher)}"
            )
            # The error first: the task's thread, once woken, looks for it.
            self._failures.append(error)
            self._on_error()
        finally:
            try:
                fetcher.finish()
            except BaseException:
                log.exception("closing the reader of fetcher %d failed", fetcher.index)


def _names(fetcher: SplitFetcher) -> str:
    names = ["-".join(path) for path in fetcher.assigned[:3]]
    more = len(fetcher.assigned) - len(names)
    if not names:
        return "no split"
    return ", ".join(names) + (f" and {more} more" if more else "")
