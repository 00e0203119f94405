"""What each attempt needs before it starts: a permit of the circuit breaker and of the rate limiter."""

from __future__ import annotations

import asyncio

from headwater.readers.async_io.circuit_breaker import CircuitBreaker
from headwater.readers.async_io.rate_limiter import RateLimiter
from headwater.readers.async_io.settings import AsyncSettings


class CallPermits:
    """Circuit breaker and rate limiter of one operator. Owned by the loop's thread."""

    def __init__(self, settings: AsyncSettings) -> None:
        self._limiter = RateLimiter(settings.rate_limit) if settings.rate_limit else None
        self._breaker = CircuitBreaker(settings.circuit_breaker) if settings.circuit_breaker else None

    async def acquire(self, loop: asyncio.AbstractEventLoop) -> bool:
        """Wait for a token of the rate limit, and return whether the circuit lets the call through.

        Returns False at once if the circuit is open now. After True, `release` must follow, once.
        """
        breaker = self._breaker
        if breaker is not None and breaker.rejects(loop.time()):
            # Before the rate limiter: a call that is not made must not use up a token.
            return False
        if self._limiter is not None:
            wait_s = self._limiter.reserve(loop.time())
            if wait_s > 0:
                await asyncio.sleep(wait_s)
        # Asked again: the circuit may have opened while the call waited for its token.
        return breaker is None or breaker.allow(loop.time())

    def release(self, *, succeeded: bool, now: float) -> None:
        """Note that a call with a permit has ended, or timed out."""
        if self._breaker is None:
            return
        if succeeded:
            self._breaker.succeeded()
        else:
            self._breaker.failed(now)
