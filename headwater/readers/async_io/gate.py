"""What a call passes before it starts: the circuit breaker, then the rate limit."""

from __future__ import annotations

import asyncio

from headwater.readers.async_io.circuit_breaker import CircuitBreaker
from headwater.readers.async_io.rate_limiter import RateLimiter
from headwater.readers.async_io.settings import AsyncSettings

__all__ = ["Gate"]


class Gate:
    """Owned by the loop's thread."""

    def __init__(self, settings: AsyncSettings) -> None:
        self._limiter = RateLimiter(settings.rate_limit) if settings.rate_limit else None
        self._breaker = CircuitBreaker(settings.circuit_breaker) if settings.circuit_breaker else None

    async def enter(self, loop: asyncio.AbstractEventLoop) -> bool:
        """Wait for a token; return False if the circuit is open, without waiting if it is open now.

        After True, `left` must follow.
        """
        breaker = self._breaker
        if breaker is not None and breaker.rejects(loop.time()):
            return False
        if self._limiter is not None and (wait_s := self._limiter.reserve(loop.time())):
            await asyncio.sleep(wait_s)
        return breaker is None or breaker.allow(loop.time())

    def left(self, *, succeeded: bool, now: float) -> None:
        """A call that entered has ended, or timed out."""
        if self._breaker is not None:
            if succeeded:
                self._breaker.succeeded()
            else:
                self._breaker.failed(now)
