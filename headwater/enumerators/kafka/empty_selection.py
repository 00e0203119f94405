"""The warning that nothing is in sight: a query that reads nothing looks like one that has nothing to do."""

from __future__ import annotations

import logging

from headwater.core.clock import Clock, RareWarning
from headwater.enumerators.kafka.subscription import Subscription, TopicPattern

log = logging.getLogger(__name__)


class EmptySelection:
    """Warns at the first look that finds nothing, and then once a minute for as long as that lasts.

    Names that the user gives must exist when a query begins, so for them it has a word only where partitions
    of the checkpoint are waited for. One thread.

    Args:
        subscription: what is read.
        clock: time.
    """

    def __init__(self, subscription: Subscription, clock: Clock) -> None:
        self._subscription = subscription
        self._warning = RareWarning(clock)

    def note(self, *, is_empty: bool, waiting: int) -> None:
        """Take note of what the last look at the list of topics found.

        Args:
            is_empty: whether nothing is in sight.
            waiting: how many partitions of the checkpoint are selected.
        """
        if not is_empty:
            self._warning.is_over()
            return
        pattern = self._subscription if isinstance(self._subscription, TopicPattern) else None
        if (pattern is None and not waiting) or not self._warning.is_due():
            return
        if pattern is not None:
            log.warning(
                "subscribePattern %r is found in the name of no topic that this user may see: nothing is "
                "read. It is a regular expression of Java; topics that the user may not describe are not "
                "seen",
                pattern.pattern,
            )
        if waiting:
            log.warning(
                "none of the %d partitions that this query reads is in sight: nothing is read, and all "
                "positions stay. They were deleted, or this user may not see them",
                waiting,
            )
