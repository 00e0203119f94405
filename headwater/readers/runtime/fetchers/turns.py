"""The turns of one fetcher: its next split, the answers of its reader, and how it is woken."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from headwater.core.barrier_reader import BarrierSplitReader, EpochRecords
from headwater.core.clock import Clock
from headwater.core.errors import ContractError
from headwater.core.split import SplitPath
from headwater.readers.runtime.fetchers.trigger import BarrierTrigger


class SplitTurns:
    """The splits of one fetcher: each has its turn, waits in the queue for the next one, or is held.

    Belongs to the fetcher's thread. Other threads may look at `turn`, `open` and `has_room`.

    Attributes:
        turn: the split that has its turn; None if none has.

    Args:
        trigger: knows which splits had a turn in this epoch.
        clock: time.
    """

    def __init__(self, trigger: BarrierTrigger, clock: Clock) -> None:
        self.turn: SplitPath | None = None
        self._trigger = trigger
        self._clock = clock
        self._assigned: dict[SplitPath, None] = {}
        self._queue: deque[SplitPath] = deque()
        # Until when: the clock's time, or None for as long as nobody resumes it.
        self._held: dict[SplitPath, int | None] = {}

    def __contains__(self, path: object) -> bool:
        return path in self._assigned

    @property
    def assigned(self) -> tuple[SplitPath, ...]:
        """All splits."""
        return tuple(self._assigned)

    @property
    def open(self) -> int:
        """How many they are."""
        return len(self._assigned)

    @property
    def has_waiting(self) -> bool:
        """Whether any split waits for its next turn."""
        return bool(self._queue)

    @property
    def has_room(self) -> bool:
        """Whether there is nothing to read: no split but held ones."""
        return self.turn is None and not self._queue

    def begin(self, path: SplitPath) -> None:
        """A new split has its turn."""
        self._assigned[path] = None
        self.turn = path

    def next(self) -> SplitPath | None:
        """The split that waited longest has its turn. None if none waits."""
        self.turn = self._queue.popleft() if self._queue else None
        return self.turn

    def end(self) -> None:
        """The turn is over. Its split goes to the end of the queue, unless it was removed."""
        path = self.turn
        self.turn = None
        if path in self._assigned:
            self._queue.append(path)

    def not_held(self, paths: Iterable[SplitPath]) -> list[SplitPath]:
        """Return those of some paths that are splits of this fetcher and not held."""
        return [path for path in paths if path in self._assigned and path not in self._held]

    def hold(self, until_ms: Mapping[SplitPath, int | None]) -> None:
        """Let splits have no turn until a time; None: until they are resumed."""
        self._leave(until_ms)
        self._held.update(until_ms)

    def resume(self, paths: Iterable[SplitPath]) -> None:
        """Put held splits back into the queue. Paths that are not held are ignored."""
        for path in [path for path in paths if path in self._held]:
            del self._held[path]
            # A split without a turn in this epoch goes first, any other one last.
            enqueue = self._queue.append if self._trigger.had_turn(path) else self._queue.appendleft
            enqueue(path)

    def resume_due(self) -> None:
        """Put the splits back into the queue whose time is over."""
        if self._held:
            now_ms = self._clock.monotonic_ms()
            self.resume([path for path, at_ms in self._held.items() if at_ms is not None and at_ms <= now_ms])

    def left_ms(self) -> int | None:
        """Return the time until a held split goes back into the queue by itself; None if none does."""
        times = [at_ms for at_ms in self._held.values() if at_ms is not None]
        return max(0, min(times) - self._clock.monotonic_ms()) if times else None

    def forget(self, paths: Sequence[SplitPath]) -> None:
        """Drop splits. The caller ends the turn of one that has it."""
        for path in paths:
            self._assigned.pop(path, None)
            self._held.pop(path, None)

    def remove(self, paths: Sequence[SplitPath]) -> None:
        """Drop splits; one that has its turn loses it."""
        self._leave(paths)
        self.forget(paths)

    def _leave(self, paths: Iterable[SplitPath]) -> None:
        for path in paths:
            if path == self.turn:
                self.turn = None
            elif path in self._queue:
                self._queue.remove(path)


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
        """Wait for a wake-up, or until something is over, at most for this time."""
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


def named_splits(fetched: EpochRecords) -> set[SplitPath]:
    """Return the splits that an answer names."""
    return {*fetched.records, *fetched.finished, *fetched.caught_up, *fetched.failed, *fetched.paused}


def check_answer(fetched: EpochRecords, paths: set[SplitPath], turns: SplitTurns) -> None:
    """Check the result of `SplitReader.fetch` against the assigned splits.

    Args:
        fetched: the answer.
        paths: see `named_splits`.
        turns: of the fetcher; the reader was to fetch from `turn`.

    Raises:
        ContractError: it names another split, or contradicts itself.
    """
    for path in sorted(paths - {turns.turn}):
        reason = "is paused" if path in turns else "it was not given or has finished"
        raise ContractError(f"SplitReader.fetch spoke of split {'-'.join(path)}, which {reason}")
    if both := fetched.finished & fetched.caught_up.keys():
        raise ContractError(
            f"SplitReader.fetch called split {'-'.join(min(both))} both finished and caught up"
        )
    if over := fetched.paused.keys() & {*fetched.finished, *fetched.caught_up}:
        raise ContractError(f"SplitReader.fetch paused split {'-'.join(min(over))}, which is done")
