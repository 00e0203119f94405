"""Whose turn it is among the splits of one fetcher."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence

from headwater.core.clock import Clock
from headwater.core.split import SplitPath
from headwater.readers.runtime.fetchers.trigger import BarrierTrigger


class SplitTurns:
    """The splits of one fetcher: each has its turn, waits for the next one in a row, or is held.

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
        self._row: deque[SplitPath] = deque()
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
    def has_row(self) -> bool:
        """Whether any split waits for its next turn."""
        return bool(self._row)

    @property
    def has_room(self) -> bool:
        """Whether there is nothing to read: no split but held ones."""
        return self.turn is None and not self._row

    def begin(self, path: SplitPath) -> None:
        """A new split has its turn."""
        self._assigned[path] = None
        self.turn = path

    def next(self) -> SplitPath | None:
        """The split that waited longest has its turn. None if none waits."""
        self.turn = self._row.popleft() if self._row else None
        return self.turn

    def end(self) -> None:
        """The turn is over. Its split lines up behind the others, unless it was forgotten."""
        path = self.turn
        self.turn = None
        if path in self._assigned:
            self._row.append(path)

    def not_held(self, paths: Iterable[SplitPath]) -> list[SplitPath]:
        """Return those of some paths that are splits of this fetcher and not held."""
        return [path for path in paths if path in self._assigned and path not in self._held]

    def hold(self, until_ms: Mapping[SplitPath, int | None]) -> None:
        """Let splits have no turn until some time; None: until they are resumed."""
        self._leave(until_ms)
        self._held.update(until_ms)

    def resume(self, paths: Iterable[SplitPath]) -> None:
        """Let those of some paths that are held line up again."""
        for path in [path for path in paths if path in self._held]:
            del self._held[path]
            # What had no turn yet comes before what had one; what had one, behind the others.
            line_up = self._row.append if self._trigger.had_turn(path) else self._row.appendleft
            line_up(path)

    def resume_due(self) -> None:
        """Let the splits line up again that are held no longer than until now."""
        if self._held:
            now_ms = self._clock.monotonic_ms()
            self.resume([path for path, at_ms in self._held.items() if at_ms is not None and at_ms <= now_ms])

    def left_ms(self) -> int | None:
        """Return the time until a held split lines up by itself; None if none does."""
        times = [at_ms for at_ms in self._held.values() if at_ms is not None]
        return max(0, min(times) - self._clock.monotonic_ms()) if times else None

    def forget(self, paths: Sequence[SplitPath]) -> None:
        """Have splits no more, whatever they are at. A turn is ended by its caller."""
        for path in paths:
            self._assigned.pop(path, None)
            self._held.pop(path, None)

    def remove(self, paths: Sequence[SplitPath]) -> None:
        """Have splits no more; one that has its turn loses it."""
        self._leave(paths)
        self.forget(paths)

    def _leave(self, paths: Iterable[SplitPath]) -> None:
        for path in paths:
            if path == self.turn:
                self.turn = None
            elif path in self._row:
                self._row.remove(path)
