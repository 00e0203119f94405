"""Ask again, later and later, until the deadline: the one retry loop of the project."""

from __future__ import annotations

import logging
import random
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from headwater.core.clock import Clock
from headwater.core.errors import DeadlineError, TransientSourceError

__all__ = ["Backoff", "retrying"]

T = TypeVar("T")
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Backoff:
    """How long to go on asking, and how long to wait in between.

    Attributes:
        deadline_ms: give up when this much time has passed since the first question.
        first_ms: the wait after the first failure; it doubles from there.
        most_ms: no wait is longer than this.
        jitter: each wait is shortened by up to this share, at random, so that many clients do not ask in
            step.
    """

    deadline_ms: int
    first_ms: int = 50
    most_ms: int = 2_000
    jitter: float = 0.2

    def wait_ms(self, failures: int) -> int:
        """Return the wait after this many failures (at least one)."""
        wait = min(self.most_ms, self.first_ms * 2 ** min(failures - 1, 20))
        return int(wait * (1 - self.jitter * random.random()))


def retrying(
    call: Callable[[], T], *, backoff: Backoff, clock: Clock, cancelled: threading.Event, what: str
) -> T:
    """Return what ``call`` returns; after a `TransientSourceError` wait and call again.

    Args:
        call: the question; runs on the calling thread, each attempt from the beginning.
        backoff: waits and deadline.
        clock: time.
        cancelled: set by another thread to end the waiting.
        what: names the question in logs and in the error.

    Raises:
        DeadlineError: the deadline passed, or the wait was cancelled; its cause is the last failure.
        Exception: whatever else ``call`` raises, at once.
    """
    began, failures = clock.monotonic_ms(), 0
    while True:
        try:
            return call()
        except TransientSourceError as error:
            failures += 1
            wait_ms = backoff.wait_ms(failures)
            spent_ms = clock.monotonic_ms() - began
            if spent_ms + wait_ms > backoff.deadline_ms or clock.wait(cancelled, wait_ms):
                raise DeadlineError(
                    f"{what}: no answer after {failures} attempts in {spent_ms} ms: {error.message}",
                    source=error.source,
                    split=error.split,
                    position=error.position,
                ) from error
            level = logging.WARNING if failures == 1 else logging.DEBUG
            log.log(level, "%s: %s; asking again in %d ms", what, error, wait_ms)
