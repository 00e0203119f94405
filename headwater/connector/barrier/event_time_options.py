"""The options of alignment by event time in barrier mode, and the settings made of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from headwater.connector.options import ParsedOptions
from headwater.connector.time_column import check_time_column
from headwater.core.barrier_source import BarrierSource
from headwater.core.epoch import Barrier
from headwater.core.errors import OptionError
from headwater.core.options import Option, duration_ms, text
from headwater.core.source import Boundedness

_STREAM: Final = Boundedness.CONTINUOUS_UNBOUNDED


def _at_least_1_ms(raw: str) -> int:
    found_ms = duration_ms(raw)
    if not found_ms:
        raise ValueError("must be more than 0")
    return found_ms


_MAX_SKEW: Final = Option(
    "maxEventTimeSkew",
    _at_least_1_ms,
    None,
    "No split's rows come that are later in event time than the split that is behind all others by more than "
    "this, so that no row is late because its split lags; needs `eventTimeColumn`, and a limit for an epoch.",
    only=_STREAM,
)
_EVENT_TIME_COLUMN: Final = Option(
    "eventTimeColumn",
    text,
    None,
    "The column with the event time, a timestamp or a date, for `maxEventTimeSkew`.",
    only=_STREAM,
)
_IDLE_TIMEOUT: Final = Option(
    "eventTimeIdleTimeout",
    _at_least_1_ms,
    None,
    "A split of which nothing has come for this long holds nobody back. Without it nobody waits for a split "
    "that has nothing more, and any other one is waited for as long as it takes.",
    only=_STREAM,
)

EVENT_TIME_OPTIONS: Final = (_MAX_SKEW, _EVENT_TIME_COLUMN, _IDLE_TIMEOUT)
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
    max_skew_ms = options[_MAX_SKEW]
    column = options[_EVENT_TIME_COLUMN]
    idle_timeout_ms = options[_IDLE_TIMEOUT]
    if max_skew_ms is None:
        for name, value in ((_EVENT_TIME_COLUMN.name, column), (_IDLE_TIMEOUT.name, idle_timeout_ms)):
            if value is not None:
                raise OptionError(f"requires option {_MAX_SKEW.name!r}", option=name)
        return None
    if column is None:
        raise OptionError(f"needs option {_EVENT_TIME_COLUMN.name!r}", option=_MAX_SKEW.name)
    if barrier == Barrier():
        raise OptionError(
            "needs a limit for an epoch: one that ends when all is read has no late rows",
            option=_MAX_SKEW.name,
        )
    return EventTimeSettings(column, max_skew_ms, idle_timeout_ms)
