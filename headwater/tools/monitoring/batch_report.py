"""One micro-batch, as a query's progress reports it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

from headwater.connector.spark.lag import QueryLag, query_lag
from headwater.connector.spark.reported_offsets import positions_by_split, reported_offset

_WHOLE: Final = "triggerExecution"
"""The name that Spark gives to the duration of the whole batch."""

_OF_JAVA: Final = re.compile(r"\b(?:[a-z]\w*\.)+(?=[A-Z])|\$?@[0-9a-f]+\b")
_CARRIED: Final = "transformWithStateInPandas"
"""The operator in whose state asynchronous I/O keeps calls in flight between batches (``carry_over``)."""


@dataclass(frozen=True, slots=True)
class SplitReport:
    """One split at the end of a batch.

    Attributes:
        position: the next record to read; in barrier mode the one before the epoch.
        lag: how many positions lie between it and the head; None where that is not known.
        moved: how many positions the batch has read; None where positions are no numbers.
        front_ms: up to which event time it is read, in ms since 1970; None where that is not known.
        kept: whether the split is out of sight, and its position kept for when it is back.
    """

    position: Any
    lag: int | None = None
    moved: int | None = None
    front_ms: int | None = None
    kept: bool = False


@dataclass(frozen=True, slots=True)
class BatchReport:
    """One batch of a query.

    Attributes:
        batch_id: its id.
        started_ms: when it began, in ms since 1970.
        duration_ms: how long it took; None if it is not over, or not known.
        phases_ms: the part of each step, by Spark's names (``addBatch``, ``walCommit``, ...).
        rows: how many rows it read; None where that is not known.
        written: how many rows went to its sink; None where the sink does not say it.
        splits: by their ids.
        lag: as `LagListener` shows it; None if the query reads from no source of headwater.
        watermark_ms: in ms since 1970; None if there is none.
        calls_carried: calls of asynchronous I/O that are in flight at its end, in Spark's state.
        epochs: of each source in barrier mode, the statistics of its last complete checkpoint.
        committed: whether it is done.
        sources: each with what it reads, for people.
        sink: the same.
    """

    batch_id: int
    started_ms: int
    duration_ms: int | None = None
    phases_ms: Mapping[str, int] = field(default_factory=dict)
    rows: int | None = None
    written: int | None = None
    splits: Mapping[str, SplitReport] = field(default_factory=dict)
    lag: QueryLag | None = None
    watermark_ms: int | None = None
    calls_carried: int = 0
    epochs: Sequence[Mapping[str, Any]] = ()
    committed: bool = True
    sources: Sequence[str] = ()
    sink: str = ""

    @property
    def total_lag(self) -> int | None:
        """The lag of all splits together; None where that of no split is known."""
        lags = [split.lag for split in self.splits.values() if split.lag is not None]
        return sum(lags) if lags else None

    @property
    def metrics(self) -> Mapping[str, int]:
        """Those of its sources, by the names of `headwater.core.metrics`."""
        return self.lag.metrics if self.lag else {}

    @property
    def front_ms(self) -> int | None:
        """The event time up to which every split was read: the earliest of their fronts."""
        return min(
            (each.front_ms for each in self.splits.values() if each.front_ms is not None), default=None
        )


def batch_report(progress: Any) -> BatchReport:
    """Return the report of a batch.

    Args:
        progress: a `StreamingQueryProgress`, of a classic session or of Spark Connect.
    """
    durations = dict(progress.durationMs or {})
    lag = query_lag(progress)
    latest = [reported_offset(source.latestOffset) or {} for source in progress.sources]
    return BatchReport(
        progress.batchId,
        milliseconds(progress.timestamp) or 0,
        durations.pop(_WHOLE, progress.batchDuration),
        durations,
        progress.numInputRows,
        # Spark says -1 of sinks that do not tell it.
        progress.sink.numOutputRows if progress.sink.numOutputRows >= 0 else None,
        _splits(progress, lag),
        lag,
        milliseconds((progress.eventTime or {}).get("watermark")),
        sum(each.numRowsTotal for each in progress.stateOperators if each.operatorName == _CARRIED),
        [offset["checkpoint"] for offset in latest if "checkpoint" in offset],
        sources=[_named(source) for source in progress.sources],
        sink=_short(progress.sink.description),
    )


def split_reports(
    starts: Mapping[str, Any],
    ends: Mapping[str, Any],
    lags: Mapping[str, int],
    fronts_ms: Mapping[str, int],
    unavailable: frozenset[str] = frozenset(),
) -> dict[str, SplitReport]:
    """Return the reports of splits after a batch.

    Args:
        starts: the position of each split before it.
        ends: the same after it.
        lags: as far as they are known.
        fronts_ms: the same.
        unavailable: the splits that are out of sight.
    """
    return {
        split: SplitReport(
            position,
            lags.get(split),
            _moved(starts.get(split), position),
            fronts_ms.get(split),
            split in unavailable,
        )
        for split, position in ends.items()
    }


def milliseconds(time: str | None) -> int | None:
    """Return a time of a progress report in ms since 1970; None for none, and for Spark's time zero."""
    if not time:
        return None
    moment = datetime.fromisoformat(time)
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return round(moment.timestamp() * 1000) or None


def _splits(progress: Any, lag: QueryLag | None) -> dict[str, SplitReport]:
    reports: dict[str, SplitReport] = {}
    for source in progress.sources:
        starts = positions_by_split(reported_offset(source.startOffset))
        ends = positions_by_split(reported_offset(source.endOffset))
        reports |= split_reports(starts, ends, lag.splits if lag else {}, lag.fronts_ms if lag else {})
    return reports


def _named(source: Any) -> str:
    """Return the name of a source, with what it reads."""
    offset = reported_offset(source.latestOffset) or reported_offset(source.endOffset)
    if offset is None:
        return _short(source.description)
    return f"{offset['source']} {offset.get('reads', '')}".strip()


def _short(description: str) -> str:
    """Return Spark's name of a source or a sink, without the package of its class and the address."""
    return _OF_JAVA.sub("", description)


def _moved(start: Any, end: Any) -> int | None:
    return end - start if isinstance(start, int) and isinstance(end, int) else None
