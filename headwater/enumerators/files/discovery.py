"""Listing beside the query: a thread of its own, whose finds are there when a batch asks for them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from headwater.core.clock import Clock
from headwater.core.errors import SourceError, TransientSourceError
from headwater.enumerators.files.arrivals import ArrivalWatch
from headwater.enumerators.files.listing import FileLister
from headwater.enumerators.files.selection import FileSelection
from headwater.enumerators.files.split import FileStatus

_SHORT_MS = 50
"""A listing that took longer than this is followed by a rest."""

_GIVE_WAY_S = 0.0002
"""How long a listing rests after each page."""

_MOST_TAKEN = 10_000
"""So many files at the most come out of one `FileDiscovery.take`: a look at each takes some microseconds."""

_SLICE_MS = 5_000
"""The longest wait of one `FileDiscovery.take`."""


@dataclass(frozen=True)
class ListedFiles:
    """The files that were listed since the last question.

    Attributes:
        recent: files newer than the frontier that the listing before did not have, or had with another
            content. The first listing of a process brings all of them.
        outside: such files at or before the frontier. The first listing cannot tell them from those that were
            read, and brings none.
        under_way: whether there may be more in a moment: a listing is running, or found more than comes at
            once.
        listed_once: whether a whole listing has ended since this process began, and all of it was taken.
    """

    recent: Sequence[FileStatus]
    outside: Sequence[FileStatus]
    under_way: bool
    listed_once: bool


class FileDiscovery:
    """Runs one listing after the other, each on a thread that ends with it.

    Three threads meet here: `begin` and `close` are called on the coordinator's thread, `take` on its worker
    thread, and the listing has its own. `begin` never blocks; `take` blocks no longer than it is told.

    After a long listing it rests for as long as that took, so that a folder of a million files, looked at in
    a loop, does not keep a core busy. Where notifications tell of files, it rests for longer.
    Memory: the files found and not yet taken, and a number for each file that the last listing had.

    Args:
        listers: one for each path; their errors come out of `take`.
        selection: which modification times count.
        clock: for the rests.
        now_us: the time of day, microseconds since 1970, to compare modification times with.
        closing: set by `close`; ends what the listers wait for too.
        arrivals: files that notifications name, None if there are none.
        interval_ms: from the beginning of a listing to that of the next one, at least.
    """

    def __init__(
        self,
        listers: Callable[[], Sequence[FileLister]],
        selection: FileSelection,
        clock: Clock,
        now_us: Callable[[], int] = lambda: time.time_ns() // 1000,
        *,
        closing: threading.Event,
        arrivals: ArrivalWatch | None = None,
        interval_ms: int = 0,
    ) -> None:
        self._listers = listers
        self._selection = selection
        self._clock = clock
        self._now_us = now_us
        self._arrivals = arrivals
        self._interval_ms = interval_ms
        # Files that were told of and are too young. On the coordinator's thread only.
        self._too_young: list[FileStatus] = []
        self._closing = closing
        # Guards the fields below up to the next comment; notified when a listing ends.
        self._changed = threading.Condition()
        self._under_way = False
        self._recent: list[FileStatus] = []
        self._outside: list[FileStatus] = []
        self._failure: BaseException | None = None
        self._listed_once = False
        self._rest_until_ms = clock.monotonic_ms()
        # The hashes of what the last whole listing had. Only the listing thread touches it: there is never
        # more than one, and the next one is started after the lock has shown the end of the one before.
        self._listed_before: set[int] | None = None

    def begin(self, frontier_ms: int) -> None:
        """Begin a listing, unless one is under way or it is time to rest; take the files of notifications.

        Args:
            frontier_ms: files modified up to then were read, or came too late.

        Raises:
            OptionError, SourceError: the queue of notifications cannot be used.
        """
        self._take_arrivals(frontier_ms)
        with self._changed:
            # Both are looked at and set under one lock: two listings at once would tell of a file twice.
            if self._under_way or self._clock.monotonic_ms() < self._rest_until_ms:
                return
            self._under_way = True
            self._failure = None
        threading.Thread(target=self._list, args=(frontier_ms,), name="headwater-files", daemon=True).start()

    def _take_arrivals(self, frontier_ms: int) -> None:
        if self._arrivals is None:
            return
        now_us = self._now_us()
        arrived = self._too_young + self._arrivals.take()
        # A message may come again days later: only a listing tells whether a file came too late.
        recent = [file for file in arrived if file.modified_ms > frontier_ms]
        self._too_young = [file for file in recent if not self._selection.in_time(file.modified_us, now_us)]
        with self._changed:
            self._recent += [file for file in recent if self._selection.in_time(file.modified_us, now_us)]

    def take(self, patience_ms: int | None) -> ListedFiles:
        """Return the files that were found, after the end of the present listing, or when patience is over.

        Args:
            patience_ms: wait no longer than this. None to wait for the end of the listing; this call then
                returns every few seconds with the files that there are, and is to be made again while
                `ListedFiles.under_way`.

        Raises:
            SourceError: of a lister, until the next `begin`: half a listing is never taken for a
                whole one.
        """
        with self._changed:
            wait_ms = _SLICE_MS if patience_ms is None else patience_ms
            self._changed.wait_for(
                lambda: not self._under_way or len(self._recent) >= _MOST_TAKEN, wait_ms / 1000
            )
            # Before what was found: after a failure the files stay here until a listing has succeeded.
            failure = self._failure
            if isinstance(failure, TransientSourceError):
                # Not to be retried again: the lister has asked for each page until its deadline.
                raise SourceError(
                    f"the listing failed: {failure.message}", source=failure.source, split=failure.split
                ) from failure
            if failure is not None:
                raise failure
            # New lists: those that were taken are the caller's now, and the listing may be going on.
            recent = self._recent[:_MOST_TAKEN]
            self._recent = self._recent[_MOST_TAKEN:]
            outside = self._outside
            self._outside = []
            is_all = not self._recent
            return ListedFiles(recent, outside, self._under_way or not is_all, self._listed_once and is_all)

    def close(self) -> None:
        """Let the listing end at its next page. Does not wait for it."""
        self._closing.set()
        if self._arrivals is not None:
            self._arrivals.close()

    def _list(self, frontier_ms: int) -> None:
        """Run one listing: the body of its thread."""
        began_ms = self._clock.monotonic_ms()
        failure: BaseException | None = None
        is_whole = False
        try:
            is_whole = self._fill(frontier_ms)
        except BaseException as error:  # noqa: BLE001 - raised again on the thread that asks
            failure = error
        ended_ms = self._clock.monotonic_ms()
        took_ms = ended_ms - began_ms
        with self._changed:
            # All in one step: a thread that sees the end must see the failure, or that all is listed, too.
            self._under_way = False
            self._failure = failure
            self._listed_once = self._listed_once or is_whole
            rest_ms = took_ms if took_ms > _SHORT_MS else 0
            # A listing that failed is made again without such a rest.
            next_ms = began_ms + self._interval_ms if is_whole else ended_ms
            self._rest_until_ms = max(ended_ms + rest_ms, next_ms)
            self._changed.notify_all()

    def _fill(self, frontier_ms: int) -> bool:
        """List all paths; return whether that came to its end."""
        now_us = self._now_us()
        previous = self._listed_before
        listed: set[int] = set()
        for lister in self._listers():
            for page in lister.pages():
                # A rest, however short: a plan needs the interpreter for a moment, again and again, and would
                # wait some milliseconds for it each time.
                if self._closing.wait(_GIVE_WAY_S):
                    return False
                in_time = [file for file in page if self._selection.in_time(file.modified_us, now_us)]
                listed.update(map(hash, in_time))
                self._add(in_time, previous, frontier_ms)
        # Only now: a listing that failed half-way must not hide from the next one what it did not bring.
        self._listed_before = listed
        return True

    def _add(self, page: Sequence[FileStatus], previous: set[int] | None, frontier_ms: int) -> None:
        """Keep the files that the listing before did not have until they are taken."""
        fresh = page if previous is None else [file for file in page if hash(file) not in previous]
        recent = [file for file in fresh if file.modified_ms > frontier_ms]
        outside = [] if previous is None else [file for file in fresh if file.modified_ms <= frontier_ms]
        with self._changed:
            self._recent += recent
            self._outside += outside
