"""Permits that each attempt needs to start: of the circuit breaker and of the rate limiter."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Hashable
from functools import partial

from headwater.core.errors import ContractError
from headwater.readers.async_io.settings import AsyncSettings, CircuitBreakerSettings, RateLimit
from headwater.readers.async_io.shared_functions import KeptByJob


def positive_weight(weight: float) -> float:
    """Return the result of a weight function.

    Raises:
        ContractError: it is no number of tokens.
    """
    if not isinstance(weight, int | float) or not 0 <= weight < math.inf:
        raise ContractError(f"the rate limit's weight must be a number of tokens, and is {weight!r}")
    return weight


class RateLimiter:
    """Calls a second: a token bucket (generic cell rate algorithm). Kept as the moment when it will be full.

    Owned by the loop's thread. Has no clock: callers pass the time.
    """

    def __init__(self, limit: RateLimit) -> None:
        self._interval_s = 1 / limit.requests_per_s
        self._burst_s = limit.burst * self._interval_s
        self._full_at = float("-inf")

    def reserve(self, now: float, tokens: float = 1.0) -> float:
        """Take the next tokens, and return the seconds until they are there: 0 if they are there now.

        Tokens go to the callers in the order of their calls. Who takes more than the bucket holds waits for
        the rest as it comes.
        """
        self._full_at = max(self._full_at, now) + tokens * self._interval_s
        return max(0.0, self._full_at - self._burst_s - now)

    def give_back(self, tokens: float) -> None:
        """Take back tokens that were reserved: the call was cancelled while it waited for them."""
        self._full_at -= tokens * self._interval_s


_kept: KeptByJob[RateLimiter] = KeptByJob()


def kept_limiter(share_id: Hashable, limit: RateLimit) -> RateLimiter:
    """Return the limiter that the tasks of a job share in this process: one after the other. From any thread.

    So a limit counts the calls of the task before. A job whose limit is another one has another limiter.
    """
    job = None if share_id is None else (share_id, limit.requests_per_s, limit.burst)
    return _kept.of(job, partial(RateLimiter, limit))


class CircuitBreaker:
    """Closed: all calls pass. Open: none does. Half open, after the pause: one at a time passes, as a probe.

    When enough probes succeeded the circuit closes, when one failed it opens again. Answers of calls from
    before it opened change nothing.

    Owned by the loop's thread. Has no clock: callers pass the time.
    """

    def __init__(self, settings: CircuitBreakerSettings) -> None:
        self._settings = settings
        self._failures = 0
        self._open_until: float | None = None
        self._probing = False
        self._proven = 0

    @property
    def closed(self) -> bool:
        """Whether all calls pass."""
        return self._open_until is None

    def rejects(self, now: float) -> bool:
        """Return whether a call that starts now would not be let through."""
        return self._open_until is not None and (now < self._open_until or self._probing)

    def allow(self, now: float) -> bool:
        """Return whether a call may start.

        If so, `succeeded` or `failed` must follow, once, when it has ended.
        """
        if self.rejects(now):
            return False
        self._probing = not self.closed
        return True

    def succeeded(self) -> None:
        """A call was answered."""
        self._failures = 0
        if self._probing:
            self._probing = False
            self._proven += 1
            if self._proven >= self._settings.probes:
                self._open_until = None

    def failed(self, now: float) -> None:
        """A call failed or timed out."""
        self._failures += 1
        if self._probing or (self._open_until is None and self._failures >= self._settings.failures):
            self._open_until = now + self._settings.pause_ms / 1000
            self._probing = False
            self._proven = 0


class CallPermits:
    """Circuit breaker and rate limiter of one operator. Owned by the loop's thread."""

    def __init__(self, settings: AsyncSettings, limiter: RateLimiter | None) -> None:
        self._limiter = limiter
        self._breaker = CircuitBreaker(settings.circuit_breaker) if settings.circuit_breaker else None

    async def acquire(self, loop: asyncio.AbstractEventLoop, tokens: float) -> bool:
        """Wait for tokens of the rate limit, and return whether the circuit lets the call through.

        Returns False at once if the circuit is open now. After True, `release` must follow, once.
        """
        breaker = self._breaker
        if breaker is not None and breaker.rejects(loop.time()):
            # Before the rate limiter: a call that is not made must not use up a token.
            return False
        if self._limiter is not None:
            wait_s = self._limiter.reserve(loop.time(), tokens)
            if wait_s > 0:
                await self._wait(self._limiter, wait_s, tokens)
        # Asked again: the circuit may have opened while the call waited for its token.
        return breaker is None or breaker.allow(loop.time())

    async def _wait(self, limiter: RateLimiter, wait_s: float, tokens: float) -> None:
        try:
            await asyncio.sleep(wait_s)
        except asyncio.CancelledError:
            limiter.give_back(tokens)
            raise

    def release(self, *, succeeded: bool, now: float) -> None:
        """Note that a call with a permit has ended, or timed out."""
        if self._breaker is None:
            return
        if succeeded:
            self._breaker.succeeded()
        else:
            self._breaker.failed(now)
