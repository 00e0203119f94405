"""A warning about a state that lasts: when it begins, and then once a minute."""

from __future__ import annotations

from typing import Final

from headwater.core.clock import Clock

_INTERVAL_MS: Final = 60_000


class RareWarning:
    """Decides when to warn. One thread.

    Args:
        clock: time.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._warned_ms: int | None = None

    def is_due(self) -> bool:
        """Return whether to warn now of the state, which lasts. If so, it was warned of."""
        now_ms = self._clock.monotonic_ms()
        if self._warned_ms is not None and now_ms - self._warned_ms < _INTERVAL_MS:
            return False
        self._warned_ms = now_ms
        return True

    def is_over(self) -> None:
        """Take note that the state has ended: its next beginning is warned of at once."""
        self._warned_ms = None
