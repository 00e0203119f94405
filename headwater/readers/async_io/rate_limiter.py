"""Calls per second: a token bucket (the generic cell rate algorithm)."""

from __future__ import annotations

from headwater.readers.async_io.settings import RateLimit


class RateLimiter:
    """A token bucket, kept as the moment when it will be full.

    Owned by the loop's thread. Has no clock: callers pass the time.
    """

    def __init__(self, limit: RateLimit) -> None:
        self._interval_s = 1 / limit.requests_per_s
        self._tolerance_s = (limit.burst - 1) * self._interval_s
        self._full_at = float("-inf")

    def reserve(self, now: float) -> float:
        """Take the next token, and return the seconds until it is there: 0 if it is there now.

        Tokens go to the callers in the order of their calls.
        """
        full_at = max(self._full_at, now)
        self._full_at = full_at + self._interval_s
        return max(0.0, full_at - self._tolerance_s - now)
