"""Splits whose outside is away: how long that lasts, from epoch to epoch, and when it is too long."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass

from headwater.core.clock import Clock
from headwater.core.epoch import Failing
from headwater.core.errors import DeadlineError, TransientSourceError
from headwater.core.jsons import JsonValue
from headwater.core.split import SplitPath

_MOST_REASON = 500

log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Trouble:
    """What a split has failed so far; the time before ``since_ms`` is in ``lasting_ms``."""

    failures: int
    lasting_ms: int
    since_ms: int
    reason: str = ""


class SplitFailures:
    """Counts the failures of each split since its last progress. Belongs to the task's thread.

    Args:
        before: splits that failed in earlier epochs and made no progress since. The time of this epoch counts
            for them from its beginning.
        deadline_ms: how long a split may fail, in all epochs together; None for ever.
        clock: time.
    """

    def __init__(self, before: Mapping[SplitPath, Failing], deadline_ms: int | None, clock: Clock) -> None:
        self._deadline_ms = deadline_ms
        self._clock = clock
        now_ms = clock.monotonic_ms()
        self._troubles = {
            path: _Trouble(failing.failures, failing.lasting_ms, now_ms, failing.reason)
            for path, failing in before.items()
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
        if self._deadline_ms is not None and lasting_ms > self._deadline_ms:
            raise DeadlineError(
                f"no answer after {trouble.failures} attempts in {lasting_ms} ms (option retryDeadline): "
                f"{error.message}",
                source=error.source,
                split=error.split or "-".join(path),
                position=position,
            ) from error

    def got_on(self, path: SplitPath) -> None:
        """A split made progress: its next failure is again the first one."""
        self._troubles.pop(path, None)

    def of(self, path: SplitPath) -> Failing | None:
        """Return what a split has failed since its last progress."""
        trouble = self._troubles.get(path)
        if trouble is None:
            return None
        lasting_ms = trouble.lasting_ms + self._clock.monotonic_ms() - trouble.since_ms
        return Failing(trouble.failures, lasting_ms, trouble.reason)
