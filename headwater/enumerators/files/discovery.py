"""Listing beside the query: a thread of its own, whose finds are there when a batch asks for them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from headwater.core.clock import Clock
from headwater.core.errors import SourceError, TransientSourceError
from headwater.enumerators.files.listing import FileLister
from headwater.enumerators.files.selection import FileSelection
from headwater.enumerators.files.split import FileStatus

__all__ = ["FileDiscovery", "Found"]

_SHORT_MS = 50
_SLICE_MS = 5_000


@dataclass(frozen=True)
class Found:
    """What was listed since it was last asked for.

    Attributes:
        recent: files newer than the frontier that the listing before did not have, or had otherwise: the
            first listing of a process tells of all.
        outside: such files at or before the frontier; the first listing cannot tell them from those that were
            read, and names none.
        under_way: whether a listing is, so that there may be more in a moment.
        listed_once: whether a whole listing has ended since this process began.
    """

    recent: Sequence[FileStatus] = ()
    outside: Sequence[FileStatus] = ()
    under_way: bool = False
    listed_once: bool = False


@dataclass
class _Round:
    """One listing under way. Shared between two threads, guarded by the discovery's condition."""

    recent: list[FileStatus] = field(default_factory=list)
    outside: list[FileStatus] = field(default_factory=list)
    over: bool = False


class FileDiscovery:
    """Runs one listing after the other. `begin` never blocks; `take` blocks no longer than it is told.

    After a long listing it rests for as long as that took, so that a folder of a million files, looked at in
    a loop, does not keep a core busy.
    Memory: the files found and not yet taken, and a number for each file that the last listing had.

    Args:
        listers: one for each path; their errors come out of `take`.
        selection: which modification times count.
        clock: for rests and patience.
        now_us: the time of day, microseconds since 1970, to compare modification times with.
    """

    def __init__(
        self,
        listers: Callable[[], Sequence[FileLister]],
        selection: FileSelection,
        clock: Clock,
        now_us: Callable[[], int] = lambda: time.time_ns() // 1000,
    ) -> None:
        self._listers, self._selection, self._clock, self._now_us = listers, selection, clock, now_us
        self._changed = threading.Condition()
        self._round: _Round | None = None
        self._listed_once = False
        self._failure: BaseException | None = None
        self._listed: set[int] | None = None
        self._rest_until_ms = clock.monotonic_ms()
        self._closing = threading.Event()

    def begin(self, frontier_ms: int) -> None:
        """Begin a listing, unless one is under way or it is time to rest.

        Args:
            frontier_ms: what was modified up to then needs not be told again.
        """
        with self._changed:
            if self._is_under_way() or self._clock.monotonic_ms() < self._rest_until_ms:
                return
            before = self._round or _Round()
            self._failure = None
            self._round = _Round(before.recent, before.outside)  # what nobody has taken yet
            threading.Thread(
                target=self._list, args=(self._round, frontier_ms), name="headwater-files", daemon=True
            ).start()

    def take(self, patience_ms: int | None) -> Found:
        """Return what was found, after the end of the listing that is under way, or when patience is over.

        Args:
            patience_ms: wait no longer than this; None for as long as it takes, but come back now and then
                with what there is.

        Raises:
            SourceError: what a lister raised, until the next `begin`: half a listing is never taken for a
                whole one.
        """
        slice_ms = _SLICE_MS if patience_ms is None else patience_ms
        with self._changed:
            self._changed.wait_for(lambda: not self._is_under_way(), slice_ms / 1000)
            if self._failure is not None:
                raise _for_good(self._failure)
            found = self._round or _Round()
            taken = Found(found.recent[:], found.outside[:], self._is_under_way(), self._listed_once)
            found.recent.clear()
            found.outside.clear()
            return taken

    def close(self) -> None:
        """Let the listing end soon. Does not wait."""
        self._closing.set()

    def _is_under_way(self) -> bool:
        return self._round is not None and not self._round.over

    def _list(self, current: _Round, frontier_ms: int) -> None:
        began_ms = self._clock.monotonic_ms()
        failure: BaseException | None = None
        try:
            self._fill(current, frontier_ms)
        except BaseException as error:  # noqa: BLE001 - goes to the thread that asks
            failure = error
        took_ms = self._clock.monotonic_ms() - began_ms
        with self._changed:
            current.over, self._failure = True, failure
            self._listed_once = self._listed_once or failure is None
            self._rest_until_ms = self._clock.monotonic_ms() + (took_ms if took_ms > _SHORT_MS else 0)
            self._changed.notify_all()

    def _fill(self, current: _Round, frontier_ms: int) -> None:
        now_us, listed = self._now_us(), set[int]()
        for lister in self._listers():
            for page in lister.pages():
                if self._closing.is_set():
                    return
                in_time = [file for file in page if self._selection.in_time(file.modified_us, now_us)]
                fresh = (
                    in_time
                    if self._listed is None
                    else [file for file in in_time if hash(file) not in self._listed]
                )
                listed.update(map(hash, in_time))
                recent = [file for file in fresh if file.modified_ms > frontier_ms]
                late = (
                    []
                    if self._listed is None
                    else [file for file in fresh if file.modified_ms <= frontier_ms]
                )
                with self._changed:
                    current.recent += recent
                    current.outside += late
        self._listed = listed


def _for_good(failure: BaseException) -> BaseException:
    """Return a failure as one that nobody asks again for: the lister has done so, page by page."""
    if not isinstance(failure, TransientSourceError):
        return failure
    final = SourceError(f"the listing failed: {failure.message}", source=failure.source, split=failure.split)
    final.__cause__ = failure
    return final
