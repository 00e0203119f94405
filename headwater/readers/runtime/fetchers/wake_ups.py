"""Wake-ups of a fetcher: none is lost, and what one may have brought about is known."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from headwater.core.barrier_reader import BarrierSplitReader


class WakeUps:
    """Where a fetcher waits while it is idle, and how its reader is woken from a fetch.

    `wait`, `begin_fetch` and `end_fetch` belong to the fetcher's thread; any thread may call `wake_up`.
    """

    def __init__(self) -> None:
        # Guards all that follows, and is where an idle fetcher waits.
        self._changed = threading.Condition()
        self._has_changed = False
        self._reader: BarrierSplitReader[Any, Any] | None = None
        self._begun = 0
        self._ended = 0
        self._ended_before_fetch = 0
        self._settled = 0

    def wake_up(self) -> None:
        """End a wait, and a fetch that is under way."""
        with self._changed:
            self._has_changed = True
            reader = self._reader
            self._begun += reader is not None
            self._changed.notify_all()
        # Not under the lock: a reader's wake_up may take locks of its own. If the fetch has returned by now,
        # the wake-up may cost the next fetch an empty answer: `end_fetch` knows of it.
        if reader is not None:
            reader.wake_up()
            with self._changed:
                self._ended += 1

    def wait(self, is_over: Callable[[], bool], timeout_s: float | None) -> None:
        """Wait for a wake-up, or until something is over, at most so long."""
        # A wake-up between the caller's last look and this wait has set the flag, so it is not slept through.
        with self._changed:
            self._changed.wait_for(lambda: self._has_changed or is_over(), timeout_s)
            self._has_changed = False

    def begin_fetch(self, reader: BarrierSplitReader[Any, Any], may_begin: Callable[[], bool]) -> bool:
        """Return whether the reader may fetch now; if so, wake-ups wake it up until `end_fetch`.

        Args:
            reader: which is about to fetch.
            may_begin: whether there is nothing else to do.
        """
        with self._changed:
            # A wake-up before this moment found no fetch to wake up. So what it was about is looked for here.
            # A wake-up after this moment finds the reader, and wakes it up.
            if not may_begin():
                return False
            self._reader = reader
            self._settled = self._ended_before_fetch
            self._ended_before_fetch = self._ended
            return True

    def end_fetch(self) -> bool:
        """The fetch has returned: return whether a wake-up may be why."""
        with self._changed:
            self._reader = None
            # A wake-up that came late may end the fetch after the one that it was meant for. So one that had
            # not ended before the fetch before this one may be what this answer is about.
            return self._begun > self._settled
