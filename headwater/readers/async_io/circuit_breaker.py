"""The circuit breaker: leaves a failing service alone for a while, then tries whether it is back."""

from __future__ import annotations

from headwater.readers.async_io.settings import CircuitBreakerSettings


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
