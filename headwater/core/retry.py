"""Asking again after a failure that passes: later and later, until a deadline.

`Retry` counts failures; it never waits. Code that may block calls `retrying`, which waits in between. A split
reader may not block: it has a `Retry` of its own, returns from its fetch, and asks again in a later one.
"""

from __future__ import annotations

import logging
import random
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final, TypeVar

from headwater.core.clock import Clock
from headwater.core.errors import DeadlineError, NoConnectionError, TransientSourceError
from headwater.core.redaction import logger_of

T = TypeVar("T")
log = logger_of(__name__)

_FIRST_ANSWER_MS: Final = 8_000
"""Long enough for a server that is just starting, and shorter than an epoch of most sources."""


def backoff_ms(
    attempts: int, first_ms: float, most_ms: float, *, multiplier: float, jitter: float, random: float
) -> float:
    """Return the wait after this many attempts (at least one): longer and longer, shortened at random.

    Args:
        attempts: those that failed in a row.
        first_ms: the wait after the first one.
        most_ms: no wait is longer than this.
        multiplier: each further wait is this many times the one before, at least once.
        jitter: each wait is shortened by up to this share, so that many clients do not ask in step.
        random: between 0 and 1: how much of the jitter.
    """
    # The exponent is bounded: a float would overflow after a thousand attempts.
    wait_ms = min(most_ms, first_ms * multiplier ** min(attempts - 1, 60))
    return wait_ms * (1 - jitter * random)


@dataclass(frozen=True)
class Backoff:
    """How long to go on asking, and how long to wait in between.

    Attributes:
        deadline_ms: give up rather than ask again later than this.
        first_ms: the wait after the first failure; it doubles from there.
        most_ms: no wait is longer than this.
        jitter: each wait is shortened by up to this share: see `backoff_ms`.
        hint: what the error adds when the deadline has passed.
    """

    deadline_ms: int
    first_ms: int = 50
    most_ms: int = 2_000
    jitter: float = 0.2
    hint: str = ""

    def of_first_answer(self) -> Backoff:
        """Return the same for a server that has never answered: a wrong address is no outage to wait for."""
        hint = "; nothing has ever answered there, so it is asked no longer: check the address"
        return replace(self, deadline_ms=min(self.deadline_ms, _FIRST_ANSWER_MS), hint=hint)

    def wait_ms(self, failures: int) -> int:
        """Return the wait after this many failures in a row (at least one)."""
        return int(
            backoff_ms(
                failures,
                self.first_ms,
                self.most_ms,
                multiplier=2,
                jitter=self.jitter,
                random=random.random(),
            )
        )


class Retry:
    """The failures in a row of one question. Belongs to one thread; never waits.

    Args:
        backoff: waits and deadline.
        clock: time.
        what: the question, for logs and in the error.
        is_new: whether nothing has ever answered there. Then the wait for a connection is short
            (`Backoff.of_first_answer`).
    """

    def __init__(self, backoff: Backoff, clock: Clock, what: str, *, is_new: bool = False) -> None:
        self._usual = self._backoff = backoff
        self._is_new = is_new
        self._clock = clock
        self._what = what
        self._failures = 0
        self._since_ms: int | None = None

    def begin(self) -> None:
        """Let the deadline count from now. Without this call it counts from the first failure."""
        self._since_ms = self._clock.monotonic_ms()

    def succeeded(self) -> None:
        """Note an answer: the next failure is again the first one."""
        self._failures = 0
        self._since_ms = None
        self._is_new = False

    def failed(self, error: TransientSourceError) -> int:
        """Note a failure; return for how many ms not to ask again.

        Raises:
            DeadlineError: asking after that wait would be later than the deadline. Its cause is the failure.
        """
        if self._since_ms is None:
            self._since_ms = self._clock.monotonic_ms()
        self._failures += 1
        # Any other failure shows that something is there.
        self._is_new &= isinstance(error, NoConnectionError)
        self._backoff = self._usual.of_first_answer() if self._is_new else self._usual
        wait_ms = self._backoff.wait_ms(self._failures)
        if self._spent_ms() + wait_ms > self._backoff.deadline_ms:
            raise self.deadline_error(error) from error
        level = logging.WARNING if self._failures == 1 else logging.DEBUG
        # For how long too: else whoever reads it takes the silence after it for a program that hangs.
        left_s = round((self._backoff.deadline_ms - self._spent_ms()) / 1_000)
        log.log(level, "%s: %s; asking again in %d ms, and on for %d s", self._what, error, wait_ms, left_s)
        return wait_ms

    def deadline_error(self, error: TransientSourceError) -> DeadlineError:
        """Return the error that says how often and how long the question was asked in vain."""
        return DeadlineError(
            f"{self._what}: no answer after {self._failures} attempts in {self._spent_ms()} ms: "
            f"{error.message}{self._backoff.hint}",
            source=error.source,
            split=error.split,
            position=error.position,
        )

    def _spent_ms(self) -> int:
        return 0 if self._since_ms is None else self._clock.monotonic_ms() - self._since_ms


def retrying(
    call: Callable[[], T],
    *,
    backoff: Backoff,
    clock: Clock,
    cancelled: threading.Event,
    what: str,
    is_new: bool = False,
) -> T:
    """Return the result of ``call``; after a `TransientSourceError` wait and call again.

    Blocks the calling thread.

    Args:
        call: the question; each attempt runs from the beginning, on the calling thread.
        backoff: waits and deadline.
        clock: time.
        cancelled: set by another thread to end the waiting.
        what: the question, for logs and in the error.
        is_new: as of `Retry`.

    Raises:
        DeadlineError: the deadline passed, or the wait was cancelled; its cause is the last failure.
        Exception: any other error of ``call``, at once.
    """
    retry = Retry(backoff, clock, what, is_new=is_new)
    # A first attempt that takes long counts too: the caller waits for the whole of it.
    retry.begin()
    while True:
        try:
            return call()
        except TransientSourceError as error:
            if clock.wait(cancelled, retry.failed(error)):
                raise retry.deadline_error(error) from error
