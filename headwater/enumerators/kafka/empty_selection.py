"""The warning that a pattern matches no topic: a query that reads nothing looks like one that has nothing to do."""

from __future__ import annotations

import logging

from headwater.core.clock import Clock
from headwater.enumerators.kafka.subscription import Subscription, TopicPattern

log = logging.getLogger(__name__)
_INTERVAL_MS = 60_000


class EmptySelection:
    """Warns at the first look at which a pattern matches nothing, and then once a minute for as long as it does.

    Names that the user gives are not its business: they must exist. One thread.

    Args:
        subscription: what is read.
        clock: time.
    """

    def __init__(self, subscription: Subscription, clock: Clock) -> None:
        self._subscription = subscription
        self._clock = clock
        self._warned_ms: int | None = None

    def note(self, *, is_empty: bool) -> None:
        """Take note of what the last look at the list of topics found."""
        if not isinstance(self._subscription, TopicPattern):
            return
        if not is_empty:
            self._warned_ms = None
            return
        now_ms = self._clock.monotonic_ms()
        if self._warned_ms is not None and now_ms - self._warned_ms < _INTERVAL_MS:
            return
        self._warned_ms = now_ms
        log.warning(
            "subscribePattern %r is found in the name of no topic that this user may see: nothing is read. "
            "It is a regular expression of Java; topics that the user may not describe are not seen",
            self._subscription.pattern,
        )
