"""The metrics of sources: declared here, counted where things happen, joined on the way into a report.

A metric is added here, and where it is counted or measured; everything behind that knows none by its name:
reports of tasks, manifests, Spark's progress, `LagListener`, the board, Prometheus, OpenTelemetry and the
docs. Names are Flink's (FLIP-33) where they mean the same.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from headwater.core.errors import ContractError

MetricKind: TypeAlias = Literal["counter", "gauge"]
MetricValues: TypeAlias = Mapping[str, int]
"""Values by the names of metrics."""

MOST_OWN_COUNTERS: Final = 32
_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,39}")


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceMetric:
    """One metric of a source.

    Attributes:
        name: in reports.
        exported: its name for Prometheus and OpenTelemetry, without prefix, unit and suffix.
        kind: a counter grows while the query runs; a gauge is the present value, or that of the last batch.
        unit: of the values in reports; empty for counts.
        joined: what becomes of the values of several tasks, and of several sources of a query.
        description: one sentence.
    """

    name: str
    exported: str
    kind: MetricKind
    unit: Literal["", "ms", "bytes"] = ""
    joined: Literal["sum", "max"] = "sum"
    description: str


BYTES_IN: Final = "numBytesIn"
BACKLOG: Final = "isProcessingBacklog"
EMIT_LAG: Final = "currentEmitEventTimeLag"
FETCH_LAG: Final = "currentFetchEventTimeLag"
IDLE_TIME: Final = "sourceIdleTime"
LAG_TIME: Final = "lagTime"
LATE_IN_COLUMN: Final = "lateInColumn"
LEFT_OUT_PAGES: Final = "leftOutPages"
PENDING_BYTES: Final = "pendingBytes"
PENDING_RECORDS: Final = "pendingRecords"
RECORDS_IN_ERRORS: Final = "numRecordsInErrors"
RETAINED_BYTES: Final = "retainedBytes"
RETRIES: Final = "planningRetries"
SNAPSHOT_ROWS: Final = "numSnapshotRows"
SNAPSHOT_SPLITS: Final = "numSnapshotSplitsFinished"
SNAPSHOT_SPLITS_LEFT: Final = "numSnapshotSplitsRemaining"
UNASSIGNED_SPLITS: Final = "unassignedSplits"

_ALL: Final = (
    SourceMetric(
        name=BYTES_IN,
        exported="read",
        kind="counter",
        unit="bytes",
        description="Arrow data that tasks have handed to Spark, attempts that were repeated counted again.",
    ),
    SourceMetric(
        name=RECORDS_IN_ERRORS,
        exported="records_in_errors",
        kind="counter",
        description="Records that could not be decoded: kept as nulls, left out, or written to files.",
    ),
    SourceMetric(
        name=LEFT_OUT_PAGES,
        exported="left_out_pages",
        kind="counter",
        description="Pages and lists of a REST API that could not be read and were left out.",
    ),
    SourceMetric(
        name=RETRIES,
        exported="planning_retries",
        kind="counter",
        description="How often sources asked the outside again while planning.",
    ),
    SourceMetric(
        name=LATE_IN_COLUMN,
        exported="late_in_column",
        kind="counter",
        description="About how many rows were late by the column eventTimeColumn.",
    ),
    SourceMetric(
        name=PENDING_RECORDS,
        exported="pending_records",
        kind="gauge",
        description="Records that are there and that no batch has planned; in barrier mode where the outside "
        "tells it of all splits.",
    ),
    SourceMetric(
        name=PENDING_BYTES,
        exported="pending",
        kind="gauge",
        unit="bytes",
        description="Their size, as far as it can be estimated.",
    ),
    SourceMetric(
        name=LAG_TIME,
        exported="lag_time",
        kind="gauge",
        unit="ms",
        joined="max",
        description="The most that the oldest record is old which is there and which no batch has planned; 0 "
        "if there is none.",
    ),
    SourceMetric(
        name=RETAINED_BYTES,
        exported="retained",
        kind="gauge",
        unit="bytes",
        description="What a server keeps until the query is past it, such as PostgreSQL's log for a slot.",
    ),
    SourceMetric(
        name=SNAPSHOT_SPLITS,
        exported="snapshot_splits_finished",
        kind="gauge",
        description="Bounded splits that are read and committed, where unbounded ones are beside or behind "
        "them.",
    ),
    SourceMetric(
        name=SNAPSHOT_SPLITS_LEFT,
        exported="snapshot_splits_remaining",
        kind="gauge",
        description="Bounded splits that are not, as far as it can be estimated.",
    ),
    SourceMetric(
        name=SNAPSHOT_ROWS,
        exported="snapshot_rows",
        kind="gauge",
        description="Rows of the bounded splits that are read and committed.",
    ),
    SourceMetric(
        name=UNASSIGNED_SPLITS,
        exported="unassigned_splits",
        kind="gauge",
        description="Splits that were found and wait for their first batch.",
    ),
    SourceMetric(
        name=BACKLOG,
        exported="processing_backlog",
        kind="gauge",
        joined="max",
        description="1 while a source works through a backlog: its last batch took a part of what was there.",
    ),
    SourceMetric(
        name=IDLE_TIME,
        exported="source_idle",
        kind="gauge",
        unit="ms",
        joined="max",
        description="How long a source has brought nothing; 0 while it brings something.",
    ),
    SourceMetric(
        name=FETCH_LAG,
        exported="fetch_event_time_lag",
        kind="gauge",
        unit="ms",
        joined="max",
        description="How old a record was when it was fetched: the last one of each task of the last batch, "
        "by its event time.",
    ),
    SourceMetric(
        name=EMIT_LAG,
        exported="emit_event_time_lag",
        kind="gauge",
        unit="ms",
        joined="max",
        description="The same when it was handed over.",
    ),
)

SOURCE_METRICS: Final[Mapping[str, SourceMetric]] = {metric.name: metric for metric in _ALL}
"""By name. A name that is not here is a counter of a plugin (`count`)."""


def is_counter(name: str) -> bool:
    """Whether the values of a metric only grow."""
    return name not in SOURCE_METRICS or SOURCE_METRICS[name].kind == "counter"


def checked_gauges(values: MetricValues) -> MetricValues:
    """Return the gauges of an enumerator.

    Raises:
        ContractError: a name is none of a gauge.
    """
    for name in values:
        if is_counter(name):
            raise ContractError(f"PlannedSplitEnumerator.gauges: {name!r} is no gauge that is declared")
    return values


def joined(parts: Iterable[MetricValues]) -> dict[str, int]:
    """Return the values of several tasks, or of several sources, as one."""
    values: dict[str, int] = {}
    for part in parts:
        for name, value in part.items():
            if name not in values:
                values[name] = value
            elif name in SOURCE_METRICS and SOURCE_METRICS[name].joined == "max":
                values[name] = max(values[name], value)
            else:
                values[name] += value
    return values


class Counters:
    """Counts of one process until they are taken. Any thread may call."""

    def __init__(self) -> None:
        # Fetchers, calls and the task count at once, and adding is a read and a write.
        self._lock = threading.Lock()
        self._counts: dict[str, int] = {}

    def add(self, name: str, by: int) -> None:
        """Add to a counter.

        Raises:
            ContractError: the name is none that a counter can have, or there are too many.
        """
        with self._lock:
            if name not in self._counts:
                self._check(name)
            self._counts[name] = self._counts.get(name, 0) + by

    def take(self) -> dict[str, int]:
        """Return the counts since they were last taken."""
        with self._lock:
            counts, self._counts = self._counts, {}
            return counts

    def _check(self, name: str) -> None:
        if not is_counter(name):
            raise ContractError(f"hw.count: {name!r} is measured by headwater, and cannot be counted")
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise ContractError(
                f"hw.count: {name!r} is no name of a counter: a letter, then letters, digits or _, 40 at most"
            )
        if len(self._counts) >= MOST_OWN_COUNTERS:
            raise ContractError(
                f"hw.count: {name!r} is one name too many: a task counts {MOST_OWN_COUNTERS} things at most, "
                "and each is a time series. Is there a value in the name?"
            )


COUNTERS: Final = Counters()
"""Those of this process: Spark runs one task at a time in a worker, and one query in a source runner."""


def count(name: str, by: int = 1) -> None:
    """Count something in a source, for its metrics: ``hw.count("skippedTombstones", len(tombstones))``.

    It shows in `hw.LagListener`, on the board, and in ``hw.export_metrics`` as
    ``headwater_source_counter_total``. In any method of a source, on the driver or in a task; any thread may
    call. Costs less than a microsecond: call it for a batch or a page, not for a row.

    Counts are for people: in planned mode a task that is run again counts again, and the counts of one that
    fails are dropped. In a batch read nothing is counted.

    Args:
        name: of the counter, with letters, digits and ``_``. ``numRecordsInErrors``, for records that cannot
            be used, is the one that headwater's own sources count, too.
        by: how much to add.

    Raises:
        ContractError: the name is none that a counter can have, or a task counts more than 32 things.
    """
    COUNTERS.add(name, by)


class ReportedMetrics:
    """The metrics of a source as its coordinator reports them. Any thread may call.

    Counters count since this object was made; gauges of tasks are those of the last batch that had any.
    """

    def __init__(self) -> None:
        # Reports of tasks come on a thread of their own.
        self._lock = threading.Lock()
        self._counters: dict[str, int] = {}
        self._gauges: dict[str, int] = {}
        self._is_new_batch = False

    def begin_batch(self) -> None:
        """The tasks that report from now on are those of another batch."""
        with self._lock:
            self._is_new_batch = True

    def add(self, values: MetricValues) -> None:
        """Take the values of a task."""
        with self._lock:
            counts = {name: value for name, value in values.items() if is_counter(name)}
            gauges = {name: value for name, value in values.items() if not is_counter(name)}
            if gauges and self._is_new_batch:
                self._is_new_batch = False
                self._gauges = {}
            self._counters = joined([self._counters, counts])
            self._gauges = joined([self._gauges, gauges])

    def report(self, values: MetricValues) -> dict[str, int]:
        """Return all values by now, with the coordinator's own, and what this process has counted."""
        with self._lock:
            self._counters = joined([self._counters, COUNTERS.take()])
            return {**self._counters, **self._gauges, **values}
