"""The options of alignment by event time, for sources in planned mode that find the position of a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from headwater.connector.options import ParsedOptions
from headwater.connector.planned.admission import ReadLimits
from headwater.core.errors import OptionError
from headwater.core.imports import require
from headwater.core.options import Option, duration_ms, one_of, positive_duration_ms, text
from headwater.core.source import Boundedness
from headwater.enumerators.event_time.time_index import AlignmentSettings

_STREAM: Final = Boundedness.CONTINUOUS_UNBOUNDED
_PAGE: Final = "see [event-time.md](event-time.md)."


MAX_SKEW: Final = Option(
    "maxEventTimeSkew",
    positive_duration_ms,
    None,
    "Where a batch cannot take all there is, let it end at the same event time in all splits, give or take "
    f"this much, so that no split's rows are late because it lags; needs a limit of rows or bytes: {_PAGE}",
    only=_STREAM,
)
EVENT_TIME_DELAY: Final = Option(
    "eventTimeDelay",
    duration_ms,
    None,
    "The delay of the query's watermark: rows of a split that is found late, or is back, count as late if "
    "they are older than what was read by more than this.",
    only=_STREAM,
    shown_default="`maxEventTimeSkew`",
)
ON_LATE_SPLIT: Final = Option(
    "onLateSplit",
    one_of("read", "fail"),
    "read",
    "What to do about such rows: `read` them, with a warning and a count, or `fail`.",
    only=_STREAM,
)
IDLE_TIMEOUT: Final = Option(
    "eventTimeIdleTimeout",
    positive_duration_ms,
    None,
    "Let a split that is read to its end hold back the others, until nothing has come there for this long. "
    "Without it nobody waits for such a split.",
    only=_STREAM,
)

EVENT_TIME_COLUMN: Final = Option(
    "eventTimeColumn",
    text,
    None,
    "The column that the query's watermark is on, if it is not the time of the record. Batches are aligned "
    "by the times of records all the same; rows that are late by this column are counted, with a warning.",
    only=_STREAM,
)

EVENT_TIME_OPTIONS: Final = (MAX_SKEW, EVENT_TIME_DELAY, ON_LATE_SPLIT, EVENT_TIME_COLUMN)
"""Of all these sources."""


@dataclass(frozen=True)
class WatchedColumn:
    """The column that the query's watermark is on, as the user says.

    Attributes:
        name: of the column.
        delay_ms: of the watermark.
    """

    name: str
    delay_ms: int


def watched_column(options: ParsedOptions) -> WatchedColumn | None:
    """Return the column whose times are looked at; None for none.

    Args:
        options: of a table, mostly one with `EVENT_TIME_OPTIONS`, which `alignment_settings` has checked.
    """
    name = options.get(EVENT_TIME_COLUMN)
    delay_ms = options.get(EVENT_TIME_DELAY)
    if delay_ms is None:
        delay_ms = options.get(MAX_SKEW)
    return None if name is None or delay_ms is None else WatchedColumn(name, delay_ms)


def alignment_settings(options: ParsedOptions, limits: ReadLimits) -> AlignmentSettings | None:
    """Return how batches are aligned; None if the user does not ask for it.

    Args:
        options: of a table with `EVENT_TIME_OPTIONS`, and `IDLE_TIMEOUT` if the source knows when the last
            record of a split was made.
        limits: of a batch.

    Raises:
        OptionError: there is no limit, the delay is below the skew, or an option says how to do what was not
            asked for.
        MissingDependencyError: NumPy is not installed.
    """
    max_skew_ms = options.get(MAX_SKEW)
    delay_ms = options.get(EVENT_TIME_DELAY)
    idle_timeout_ms = options.get(IDLE_TIMEOUT)
    fail_on_late_split = options.get(ON_LATE_SPLIT) == "fail"
    if max_skew_ms is None:
        settings: dict[str, object] = {EVENT_TIME_DELAY.name: delay_ms, IDLE_TIMEOUT.name: idle_timeout_ms}
        settings[ON_LATE_SPLIT.name] = fail_on_late_split or None
        settings[EVENT_TIME_COLUMN.name] = options.get(EVENT_TIME_COLUMN)
        for name, value in settings.items():
            if value is not None:
                raise OptionError(f"requires option {MAX_SKEW.name!r}", option=name)
        return None
    if not limits.limits_batches:
        raise OptionError(
            "needs a limit for a batch: without one a batch takes all there is, in which no row is late",
            option=MAX_SKEW.name,
        )
    if delay_ms is not None and delay_ms < max_skew_ms:
        raise OptionError(
            f"must not be less than {MAX_SKEW.name}: rows that far apart in time would be late",
            option=EVENT_TIME_DELAY.name,
        )
    require("numpy", needed_for=f"option {MAX_SKEW.name}", extra="event-time")
    return AlignmentSettings(
        max_skew_ms=max_skew_ms,
        delay_ms=max_skew_ms if delay_ms is None else delay_ms,
        fail_on_late_split=fail_on_late_split,
        idle_timeout_ms=idle_timeout_ms,
    )
