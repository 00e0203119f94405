"""The event times of a payload's column: whether reading in the order of the records' times keeps them."""

from __future__ import annotations

import logging
import threading

from headwater.connector.planned.event_time_options import WatchedColumn
from headwater.readers.runtime.task_reports import ReadReport, TimesAsked

log = logging.getLogger(__name__)


class ColumnTimes:
    """Knows how far a query has come in the times of a column, and counts rows that came too late.

    Tasks report their latest time, and how many of their rows are older than what the batches before have
    read by more than the delay. What it knows is in memory: a restart begins anew, a report may not arrive,
    and a task may run twice. So a count is a hint, and what a batch reads never depends on it.

    Args:
        watched: the column.
        source: its name, for messages.
    """

    def __init__(self, watched: WatchedColumn, source: str) -> None:
        self._watched = watched
        self._source = source
        # Spark's thread asks, the listener's adds.
        self._lock = threading.Lock()
        self._last_ms: int | None = None
        self._late_rows = 0

    @property
    def late_rows(self) -> int:
        """About how many rows came too late in this run."""
        return self._late_rows

    def ask(self) -> TimesAsked:
        """Return what the tasks of the next batch are asked."""
        with self._lock:
            late_ms = None if self._last_ms is None else self._last_ms - self._watched.delay_ms
            return TimesAsked(self._watched.name, late_ms)

    def add(self, report: ReadReport) -> None:
        """Take what a task reports."""
        with self._lock:
            if report.last_ms is not None:
                self._last_ms = max(report.last_ms, self._last_ms or report.last_ms)
            self._late_rows += report.late_rows
        if report.late_rows:
            log.warning(
                "source %s: %d rows of a task are older in %r than what the query had read by more than "
                "eventTimeDelay (%d ms): a watermark with that delay drops them. The times of this column "
                "and those of the records, by which batches are aligned, are too far apart",
                self._source,
                report.late_rows,
                self._watched.name,
                self._watched.delay_ms,
            )
