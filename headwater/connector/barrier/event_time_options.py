"""The options of alignment by event time in barrier mode, and the settings made of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from headwater.connector.options import ParsedOptions
from headwater.connector.time_column import check_time_column
from headwater.core.barrier_source import BarrierSource
from headwater.core.epoch import Barrier
from headwater.core.options import Spec, option, positive_duration_ms
from headwater.core.source import Boundedness

_STREAM: Final = Boundedness.CONTINUOUS_UNBOUNDED


class EpochAlignmentOptions(Spec):
    """The options of event time."""

    max_skew_ms: int | None = option(
        "maxEventTimeSkew",
        "No split's rows come that are later in event time than the split that is behind all others by more"
        " than this, so that no row is late because its split lags; needs `eventTimeColumn`, and a limit "
        "for an epoch.",
        default=None,
        parse=positive_duration_ms,
        only=_STREAM,
    )
    column: str | None = option(
        "eventTimeColumn",
        "The column with the event time, a timestamp or a date, for `maxEventTimeSkew`.",
        default=None,
        only=_STREAM,
    )
    idle_timeout_ms: int | None = option(
        "eventTimeIdleTimeout",
        "A split of which nothing has come for this long holds nobody back. Without it nobody waits for a "
        "split that has nothing more, and any other one is waited for as long as it takes.",
        default=None,
        parse=positive_duration_ms,
        only=_STREAM,
    )

    def __post_init__(self) -> None:
        if self.max_skew_ms is not None:
            if self.column is None:
                raise self.refusal("max_skew_ms", f"needs option {self.OPTIONS['column'].name!r}")
            return
        for field in ("column", "idle_timeout_ms"):
            if getattr(self, field) is not None:
                raise self.refusal(field, f"requires option {self.OPTIONS['max_skew_ms'].name!r}")


EVENT_TIME_OPTIONS: Final = EpochAlignmentOptions.options()
"""In the order in which the docs list them."""


@dataclass(frozen=True)
class EventTimeSettings:
    """The settings of the user.

    Attributes:
        column: that has the times.
        max_skew_ms: how far ahead of the split that is behind all others rows may be.
        idle_timeout_ms: a split without records for this long holds no other back. None: no split waits
            for one that has nothing more, and for any other one as long as it takes.
    """

    column: str
    max_skew_ms: int
    idle_timeout_ms: int | None = None

    def check(self, source: BarrierSource[Any, Any]) -> None:
        """Return if the source has such a column; see `check_time_column`."""
        check_time_column(source, self.column)


def event_time_settings(options: ParsedOptions, barrier: Barrier) -> EventTimeSettings | None:
    """Return how splits are aligned by event time; None if the user does not ask for it.

    Args:
        options: of a table with `EVENT_TIME_OPTIONS`.
        barrier: the limits of an epoch.

    Raises:
        OptionError: the column or a limit is missing, or an option says how to do what was not asked for.
    """
    alignment = options.of(EpochAlignmentOptions)
    if alignment.max_skew_ms is None or alignment.column is None:
        return None
    if barrier == Barrier():
        raise alignment.refusal(
            "max_skew_ms", "needs a limit for an epoch: one that ends when all is read has no late rows"
        )
    return EventTimeSettings(alignment.column, alignment.max_skew_ms, alignment.idle_timeout_ms)
