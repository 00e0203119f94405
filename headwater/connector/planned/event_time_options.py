"""The options of alignment by event time, for sources in planned mode that find the position of a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from headwater.connector.options import ParsedOptions
from headwater.connector.planned.admission import ReadLimits
from headwater.core.imports import require
from headwater.core.options import Spec, duration_ms, one_of, option, positive_duration_ms
from headwater.core.source import Boundedness
from headwater.enumerators.event_time.time_index import AlignmentSettings

_STREAM: Final = Boundedness.CONTINUOUS_UNBOUNDED
_PAGE: Final = "see [event-time.md](event-time.md)."


class AlignmentOptions(Spec):
    """The options of event time; the idle time only where the source knows when a record was made."""

    max_skew_ms: int | None = option(
        "maxEventTimeSkew",
        "Where a batch cannot take all there is, let it end at the same event time in all splits, give or "
        "take this much, so that no split's rows are late because it lags; needs a limit of rows or bytes: "
        f"{_PAGE}",
        default=None,
        parse=positive_duration_ms,
        only=_STREAM,
    )
    delay_ms: int | None = option(
        "eventTimeDelay",
        "The delay of the query's watermark: rows of a split that is found late, or is back, count as late "
        "if they are older than what was read by more than this.",
        default=None,
        parse=duration_ms,
        only=_STREAM,
        shown_default="`maxEventTimeSkew`",
    )
    on_late_split: str = option(
        "onLateSplit",
        "What to do about such rows: `read` them, with a warning and a count, or `fail`.",
        default="read",
        parse=one_of("read", "fail"),
        only=_STREAM,
    )
    column: str | None = option(
        "eventTimeColumn",
        "The column that the query's watermark is on, if it is not the time of the record. Batches are "
        "aligned by the times of records all the same; rows that are late by this column are counted, with "
        "a warning.",
        default=None,
        only=_STREAM,
    )
    idle_timeout_ms: int | None = option(
        "eventTimeIdleTimeout",
        "Let a split that is read to its end hold back the others, until nothing has come there for this "
        "long. Without it nobody waits for such a split.",
        default=None,
        parse=positive_duration_ms,
        only=_STREAM,
    )

    def __post_init__(self) -> None:
        if self.max_skew_ms is not None:
            if self.delay_ms is not None and self.delay_ms < self.max_skew_ms:
                name = self.OPTIONS["max_skew_ms"].name
                raise self.refusal(
                    "delay_ms", f"must not be less than {name}: rows that far apart in time would be late"
                )
            return
        for field in ("delay_ms", "idle_timeout_ms", "on_late_split", "column"):
            if getattr(self, field) != self.OPTIONS[field].default:
                raise self.refusal(field, f"requires option {self.OPTIONS['max_skew_ms'].name!r}")


EVENT_TIME_OPTIONS: Final = AlignmentOptions.options()[:-1]
"""Of all these sources."""

IDLE_TIMEOUT: Final = AlignmentOptions.OPTIONS["idle_timeout_ms"]


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
    alignment = options.of(AlignmentOptions)
    delay_ms = alignment.max_skew_ms if alignment.delay_ms is None else alignment.delay_ms
    return None if alignment.column is None or delay_ms is None else WatchedColumn(alignment.column, delay_ms)


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
    alignment = options.of(AlignmentOptions)
    if alignment.max_skew_ms is None:
        return None
    if not limits.limits_batches:
        raise alignment.refusal(
            "max_skew_ms",
            "needs a limit for a batch: without one a batch takes all there is, in which no row is late",
        )
    require("numpy", needed_for=f"option {alignment.OPTIONS['max_skew_ms'].name}", extra="event-time")
    return AlignmentSettings(
        max_skew_ms=alignment.max_skew_ms,
        delay_ms=alignment.max_skew_ms if alignment.delay_ms is None else alignment.delay_ms,
        fail_on_late_split=alignment.on_late_split == "fail",
        idle_timeout_ms=alignment.idle_timeout_ms,
    )
