"""The state of every split of a task in barrier mode, and its failures since its last progress."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headwater.core.clock import Clock
from headwater.core.emitter import SplitState
from headwater.core.epoch import EpochState, Failing, FoundSplit, InFlight, SplitProgress, SplitStatus
from headwater.core.errors import ContractError, DeadlineError, NoConnectionError, TransientSourceError
from headwater.core.jsons import JsonValue
from headwater.core.redaction import logger_of
from headwater.core.retry import Backoff
from headwater.core.split import SplitPath, SplitRange

_MOST_REASON = 500

log = logger_of(__name__)


@dataclass(slots=True)
class _Trouble:
    """The failures of a split so far; the time before ``since_ms`` is in ``lasting_ms``."""

    failures: int
    lasting_ms: int
    since_ms: int
    reason: str = ""


class SplitFailures:
    """Counts the failures of each split since its last progress. Belongs to the task's thread.

    Args:
        failing: splits that failed in earlier epochs and made no progress since. The time of this epoch
            counts for them from its beginning.
        deadline_ms: how long a split may fail, in all epochs together; None for ever.
        clock: time.
    """

    def __init__(self, failing: Mapping[SplitPath, Failing], deadline_ms: int | None, clock: Clock) -> None:
        self._deadline_ms = deadline_ms
        self._clock = clock
        now_ms = clock.monotonic_ms()
        self._troubles = {
            path: _Trouble(earlier.failures, earlier.lasting_ms, now_ms, earlier.reason)
            for path, earlier in failing.items()
        }

    def failed(self, path: SplitPath, position: JsonValue, error: TransientSourceError) -> None:
        """Count a failure.

        Raises:
            DeadlineError: the split has failed for too long. It was asked once more before, so a query that
                is started again goes on if the outside is back.
        """
        now_ms = self._clock.monotonic_ms()
        trouble = self._troubles.setdefault(path, _Trouble(0, 0, now_ms))
        trouble.failures += 1
        trouble.reason = error.message[:_MOST_REASON]
        lasting_ms = trouble.lasting_ms + now_ms - trouble.since_ms
        log.debug("split %s failed %d times in a row: %s", "-".join(path), trouble.failures, error)
        if self._deadline_ms is None:
            return
        limit = Backoff(deadline_ms=self._deadline_ms)
        if isinstance(error, NoConnectionError) and error.is_first:
            limit = limit.of_first_answer()
        if lasting_ms > limit.deadline_ms:
            raise DeadlineError(
                f"no answer after {trouble.failures} attempts in {lasting_ms} ms (option retryDeadline): "
                f"{error.message}{limit.hint}",
                source=error.source,
                split=error.split or "-".join(path),
                position=position,
            ) from error

    def got_on(self, path: SplitPath) -> None:
        """A split made progress: its next failure is again the first one."""
        self._troubles.pop(path, None)

    def of(self, path: SplitPath) -> Failing | None:
        """Return the failures of a split since its last progress."""
        trouble = self._troubles.get(path)
        if trouble is None:
            return None
        lasting_ms = trouble.lasting_ms + self._clock.monotonic_ms() - trouble.since_ms
        return Failing(trouble.failures, lasting_ms, trouble.reason)


class EpochProgress:
    """The position and the last status of each split. Belongs to the task's thread.

    Attributes:
        open: of how many splits more may come in this epoch.

    Args:
        starts: the splits that the task was given.
        clock: time.
        failures: of the splits; one that is done has made progress.

    Raises:
        ContractError: a split was given twice.
    """

    def __init__(self, starts: Sequence[SplitRange[Any, Any]], clock: Clock, failures: SplitFailures) -> None:
        self._clock = clock
        self._failures = failures
        # In the order of their last turns; those that had none stand where they were added.
        self._states: dict[SplitPath, SplitState[Any, Any]] = {}
        self._had_turn: set[SplitPath] = set()
        self._found: dict[SplitPath, FoundSplit] = {}
        self._ended: set[SplitPath] = set()
        self._status: dict[SplitPath, tuple[SplitStatus, int | None]] = {}
        self._paused_until_ms: dict[SplitPath, int] = {}
        self._events: list[JsonValue] = []
        self.open = 0
        for split_range in starts:
            self._add(split_range)

    def state(self, path: SplitPath) -> SplitState[Any, Any] | None:
        """Return the mutable state of a split, None once it is done.

        Raises:
            ContractError: the split was never added.
        """
        if path in self._status or path in self._ended:
            return None
        if path not in self._states:
            raise ContractError(
                f"records of split {'-'.join(path)} came, which is not registered with this task"
            )
        return self._states[path]

    def add_found(self, split: FoundSplit, stop: JsonValue = None) -> SplitRange[Any, Any] | None:
        """Register a split that was found, and return the range to read of it.

        None if it is known already: found twice is found once.
        """
        path = split.split.path
        if path in self._states or path in self._ended:
            return None
        split_range: SplitRange[Any, Any] = SplitRange(split.split, split.start, stop)
        self._found[path] = split
        self._add(split_range)
        return split_range

    def had_turn(self, path: SplitPath) -> None:
        """Note that a split was fetched from, and that the result was taken out of the channel."""
        # The end of the dict is the end of the row. A split that is done has no next turn in this epoch.
        if path in self._states and path not in self._status:
            self._states[path] = self._states.pop(path)
            self._had_turn.add(path)

    def done(self, path: SplitPath, status: SplitStatus, delay_ms: int | None = None) -> None:
        """Note that nothing more of a split comes in this epoch. The first time counts.

        Args:
            path: of the split.
            status: whether more is to be expected of it.
            delay_ms: minimum time before the split is polled again.
        """
        if path in self._status or path in self._ended:
            return
        self.open -= 1
        if status is not SplitStatus.MORE:
            self._failures.got_on(path)
        if status is SplitStatus.FINISHED and path in self._found:
            # The driver has never heard of it, and never will.
            del self._states[path]
            del self._found[path]
            self._ended.add(path)
        else:
            due_ms = None if delay_ms is None else self._clock.monotonic_ms() + delay_ms
            self._status[path] = (status, due_ms)

    def paused(self, path: SplitPath, pause_ms: int) -> None:
        """Note that a split must not be polled for a time, though there may be more."""
        self._paused_until_ms[path] = self._clock.monotonic_ms() + pause_ms

    def add_events(self, events: Iterable[JsonValue]) -> None:
        """Note events for the enumerator."""
        self._events += events

    def snapshot(
        self, loop_log: Iterable[SplitPath], in_flight: Sequence[InFlight], taken: int
    ) -> EpochState:
        """Return the state as it is now, immutable.

        Args:
            loop_log: the found splits that no fetcher has begun with.
            in_flight: the rows to store beside the positions.
            taken: how many of the splits that waited for the task were taken.
        """
        waiting = [self._found[path] for path in loop_log]
        not_begun = {split.split.path for split in waiting}
        begun = [path for path in self._states if path not in not_begun]
        unserved = [path for path in begun if path not in self._had_turn and path not in self._status]
        in_row = [*unserved, *(path for path in begun if path in self._had_turn or path in self._status)]
        return EpochState(
            tuple(self._progress(path) for path in in_row),
            tuple(waiting),
            tuple(in_flight),
            tuple(self._events),
            taken,
            unserved=len(unserved),
        )

    def _add(self, split_range: SplitRange[Any, Any]) -> None:
        if split_range.split.path in self._states:
            raise ContractError(f"split {split_range.split.split_id} was given to the task twice")
        self._states[split_range.split.path] = SplitState(split_range)
        self.open += 1

    def _progress(self, path: SplitPath) -> SplitProgress:
        state = self._states[path]
        status, due_ms = self._status.get(path, (SplitStatus.MORE, self._paused_until_ms.get(path)))
        left_ms = None if due_ms is None else max(0, due_ms - self._clock.monotonic_ms())
        if status is SplitStatus.MORE:
            # A pause of 0 ms is over.
            left_ms = left_ms or None
        return SplitProgress(state.split, state.position, status, left_ms, self._failures.of(path))
