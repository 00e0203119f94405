"""How far a query is behind, and its losses. Spark has no metrics of Python sources: offsets tell both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from headwater.connector.spark.reported_offsets import Reported, leaves, positions_by_split, reported_offset
from headwater.core.losses import LOSSES
from headwater.core.metrics import (
    IDLE_TIME,
    LAG_TIME,
    LATE_IN_COLUMN,
    RECORDS_IN_ERRORS,
    RETAINED_BYTES,
    SNAPSHOT_ROWS,
    SNAPSHOT_SPLITS,
    SNAPSHOT_SPLITS_LEFT,
    joined,
)


@dataclass(frozen=True, slots=True)
class SnapshotProgress:
    """How far a query is with the bounded splits that it reads beside or before unbounded ones.

    Attributes:
        finished: splits that are read and committed.
        left: those that are not, as far as it can be estimated.
        rows: of the finished ones.
    """

    finished: int
    left: int
    rows: int

    def __str__(self) -> str:
        return f"snapshot {self.finished:,} of about {self.finished + self.left:,} splits, {self.rows:,} rows"


@dataclass(frozen=True)
class QueryLag:
    """One query at its last progress report.

    Attributes:
        query: its name, or its id if it has none.
        batch_id: the micro-batch reported on.
        rows_per_second: how fast that batch was processed.
        splits: by split, how many positions lie between the position and the head at the time.
        lost_rows: how many records were gone when a batch was planned that should have read them, since the
            checkpoint was new. Exact in positions: where the log had gaps, fewer records were there.
        lost_at_least_rows: how many more were gone when a task came to read them. This is a lower bound: a
            task's report may not arrive, and one that has arrived counts from the next batch on.
        lost_ranges: the last 100 ranges of all: ``split``, ``first`` (the position of the first record that
            is gone), ``until`` (the position after the last one; both are None for a whole split), ``found``
            (``planning`` or ``task``) and ``time_ms`` (since 1970).
        lost_splits: how many whole splits are not read: files that came too late, sessions that an MQTT
            broker has forgotten.
        fronts_ms: by split, up to which event time it is read, in ms since 1970; of a query with
            ``maxEventTimeSkew`` that has a backlog, else empty. In barrier mode of the splits that hold
            others back.
        unread: splits of which nothing was read yet: in barrier mode the others wait for them, too.
        late_rows: how many rows of splits that were found late were older than the rows read by more than
            ``eventTimeDelay``, since the checkpoint was new.
        metrics: of all sources together in this run, by Flink's names: ``numRecordsInErrors``,
            ``pendingRecords``, ``isProcessingBacklog`` and so on (docs/operations.md), and the counters of
            plugins (``hw.count``).
        has_ended: whether a record has ended every split (``stopAtRecord``, ``is_end``): until new splits are
            found, nothing more will come. Of sources in planned mode.
        unit: ``bytes`` if all positions count bytes, as those of files and of PostgreSQL's log; else empty.
    """

    query: str
    batch_id: int
    rows_per_second: float
    splits: dict[str, int] = field(default_factory=dict)
    lost_rows: int = 0
    lost_at_least_rows: int = 0
    lost_ranges: tuple[dict[str, Any], ...] = ()
    lost_splits: int = 0
    fronts_ms: dict[str, int] = field(default_factory=dict)
    unread: tuple[str, ...] = ()
    late_rows: int = 0
    metrics: Mapping[str, int] = field(default_factory=dict)
    has_ended: bool = False
    unit: str = ""

    @property
    def snapshot(self) -> SnapshotProgress | None:
        """How far the query is with bounded splits that are beside or behind unbounded ones; None without."""
        finished, left = (self.metrics.get(name, 0) for name in (SNAPSHOT_SPLITS, SNAPSHOT_SPLITS_LEFT))
        if not finished + left:
            return None
        return SnapshotProgress(finished, left, self.metrics.get(SNAPSHOT_ROWS, 0))

    @property
    def total(self) -> int:
        """The lag of all splits together."""
        return sum(self.splits.values())

    @property
    def late_in_column(self) -> int:
        """About how many rows were late by the column ``eventTimeColumn`` in this run.

        Sources in planned mode are aligned by the times of records.
        """
        return self.metrics.get(LATE_IN_COLUMN, 0)

    @property
    def skew_ms(self) -> int:
        """How far apart in event time the splits are."""
        return max(self.fronts_ms.values()) - min(self.fronts_ms.values()) if self.fronts_ms else 0

    @property
    def held_back_by(self) -> str | None:
        """The split for which the others wait; None if no front is known.

        One that was not read yet may be behind all others. Else, of those that are furthest behind in event
        time, it is the one with the largest lag.
        """
        return min(self.unread, default=None) or min(
            self.fronts_ms,
            key=lambda split: (self.fronts_ms[split], -self.splits.get(split, 0), split),
            default=None,
        )

    def idle_for(self, idle_ms: int) -> QueryLag:
        """Return the report as it is after so much time in which nothing came."""
        if not idle_ms or IDLE_TIME not in self.metrics:
            return self
        # What was left behind the last batch has turned out to be nothing.
        age = {LAG_TIME: 0} if LAG_TIME in self.metrics else {}
        return replace(self, metrics={**self.metrics, **age, IDLE_TIME: self.metrics[IDLE_TIME] + idle_ms})

    def as_dict(self) -> dict[str, Any]:
        """Return all of it as plain values, for a metrics exporter: the attributes, and ``lag`` in total."""
        return {
            "query": self.query,
            "batch_id": self.batch_id,
            "rows_per_second": self.rows_per_second,
            "lag": self.total,
            "splits": dict(self.splits),
            "lost_rows": self.lost_rows,
            "lost_at_least_rows": self.lost_at_least_rows,
            "lost_ranges": [dict(lost) for lost in self.lost_ranges],
            "lost_splits": self.lost_splits,
            "fronts_ms": dict(self.fronts_ms),
            "unread": list(self.unread),
            "skew_ms": self.skew_ms,
            "held_back_by": self.held_back_by,
            "late_rows": self.late_rows,
            "late_in_column": self.late_in_column,
            "metrics": dict(self.metrics),
            "has_ended": self.has_ended,
            "unit": self.unit,
        }

    def __str__(self) -> str:
        worst = sorted(self.splits.items(), key=lambda item: -item[1])[:5]
        worst_text = ", ".join(f"{split} {lag:,}" for split, lag in worst if lag)
        return (
            f"{self.query}: batch {self.batch_id}, {self.rows_per_second:,.0f} rows/s, lag {self.total:,}"
            + (f" {self.unit}" if self.unit else "")
            + (f" ({worst_text})" if worst_text else "")
            + self._outside()
            + self._in_errors()
            + self._event_time()
            + self._lost()
            + (", ended" if self.has_ended else "")
        )

    def _outside(self) -> str:
        """Say what the source knows of the outside beside its positions."""
        lag_ms, retained = (self.metrics.get(name, 0) for name in (LAG_TIME, RETAINED_BYTES))
        snapshot = self.snapshot
        age = f", {lag_ms / 1_000:,.1f} s behind" if lag_ms else ""
        chunks = f", {snapshot}" if snapshot is not None and snapshot.left else ""
        return age + chunks + (f", {retained:,} bytes kept for it" if retained else "")

    def _in_errors(self) -> str:
        records = self.metrics.get(RECORDS_IN_ERRORS, 0)
        return f", {records:,} records in error" if records else ""

    def _event_time(self) -> str:
        late = f", {self.late_rows:,} rows of splits found late" if self.late_rows else ""
        late += f", {self.late_in_column:,} rows late by eventTimeColumn" if self.late_in_column else ""
        if not self.fronts_ms:
            return late
        front = datetime.fromtimestamp(min(self.fronts_ms.values()) / 1_000, UTC)
        time = front.isoformat(timespec="seconds").replace("+00:00", "Z")
        return f", read up to {time} (skew {self.skew_ms:,} ms, held back by {self.held_back_by}){late}"

    def _lost(self) -> str:
        exact = f"{self.lost_rows:,}" if self.lost_rows else ""
        at_least = f"at least {self.lost_at_least_rows:,}" if self.lost_at_least_rows else ""
        splits = f"{self.lost_splits:,} whole splits" if self.lost_splits else ""
        lost = " and ".join(filter(None, [exact, at_least, splits]))
        return f", lost {lost}" if lost else ""


def query_lag(progress: Any) -> QueryLag | None:
    """Return the lag of the sources of headwater in a progress report; None if the query reads from none.

    Args:
        progress: a `StreamingQueryProgress`, of a classic session or of Spark Connect.
    """
    return lag_of(
        progress.name or str(progress.id),
        progress.batchId,
        progress.processedRowsPerSecond or 0.0,
        [
            (reported_offset(source.endOffset), reported_offset(source.latestOffset))
            for source in progress.sources
        ],
    )


def lag_of(
    query: str, batch_id: int, rows_per_second: float, offsets: Sequence[tuple[Reported, Reported]]
) -> QueryLag | None:
    """Return the lag by the offsets of a query; None if none is of headwater.

    Args:
        query: its name.
        batch_id: the micro-batch after which they are.
        rows_per_second: how fast it was.
        offsets: of each source where the batch ended, and the heads at the time; None where not known.
    """
    splits: dict[str, int] = {}
    fronts_ms: dict[str, int | None] = {}
    ends = [end for end, _ in offsets if end is not None]
    for end, latest in offsets:
        if end is not None and latest is not None:
            splits.update(_lags(end, latest))
            fronts_ms.update(leaves(latest.get("fronts_ms", {})))
    if not ends:
        return None
    losses = [lost for end in ends for lost in _losses(end)]
    return QueryLag(
        query,
        batch_id,
        rows_per_second,
        splits,
        lost_rows=sum(lost["rows"] for lost in losses),
        lost_at_least_rows=sum(lost["at_least_rows"] for lost in losses),
        lost_ranges=tuple(each for lost in losses for each in lost["ranges"]),
        lost_splits=sum(lost.get("splits", 0) for lost in losses),
        fronts_ms={split: front_ms for split, front_ms in fronts_ms.items() if front_ms is not None},
        unread=tuple(split for split, front_ms in fronts_ms.items() if front_ms is None),
        late_rows=sum(map(_late_rows, ends)),
        metrics=joined(latest.get("metrics", {}) for _, latest in offsets if latest is not None),
        has_ended=all(map(_has_ended, ends)),
        unit=_unit([latest for _, latest in offsets if latest is not None]),
    )


def _unit(reports: Sequence[dict[str, Any]]) -> str:
    """Return the unit of the lag of all sources; empty where they differ, or count records."""
    units = {report.get("unit", "") for report in reports}
    return units.pop() if len(units) == 1 else ""


def _has_ended(end: dict[str, Any]) -> bool:
    ended = dict(leaves(end.get("ends", {}).get("splits", {})))
    return bool(ended) and ended.keys() == positions_by_split(end).keys()


def _lags(end: dict[str, Any], latest: dict[str, Any]) -> dict[str, int]:
    if "lags" in latest:  # barrier mode, as far as the outside tells it
        return dict(leaves(latest["lags"]))
    if "positions" not in end or "positions" not in latest:
        return {}
    reached = positions_by_split(end)
    return {
        split: max(0, _count(head) - _count(reached[split]))
        for split, head in positions_by_split(latest).items()
        if isinstance(head, int | list) and isinstance(reached.get(split), int | list)
    }


def _losses(end: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the losses of an offset: its own, or in barrier mode those of the enumerator's state."""
    state = end.get("state")
    places = [end, state] if isinstance(state, dict) else [end]
    return [place[LOSSES] for place in places if LOSSES in place]


def _late_rows(end: dict[str, Any]) -> int:
    state = end.get("state")
    event_time = state.get("event_time", {}) if isinstance(state, dict) else {}
    return int(event_time.get("late_rows", 0))


def _count(position: Any) -> int:
    """Return the number that a position is, or begins with (`headwater.core.abilities.ReadsAhead`)."""
    return int(position[0] if isinstance(position, list) else position)
