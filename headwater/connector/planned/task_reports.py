"""What the tasks of a query have told its coordinator: losses, the time that splits took, metrics, ends.

The readers' runtime is loaded with the first batch of a stream, and not by a batch read.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from headwater.connector.coordination.dealing import SplitTimes
from headwater.connector.planned.split_ends import SplitEnds
from headwater.core.jsons import JsonObject
from headwater.core.losses import LostRange
from headwater.core.metrics import LATE_IN_COLUMN, MetricValues, ReportedMetrics
from headwater.core.planned_source import PlannedSource
from headwater.core.source import Boundedness
from headwater.core.split import SplitPath, SplitRange

if TYPE_CHECKING:
    from headwater.connector.planned.event_time_options import WatchedColumn
    from headwater.connector.planned.report_listener import ColumnTimes, ReportListener
    from headwater.readers.runtime.loss_reports import LossReport
    from headwater.readers.runtime.task_reports import ReadReport, ReportAddress


class TaskLosses:
    """Holds the losses that tasks reported until an offset that counts them is committed.

    In memory only: a loss that is not logged when the driver dies is not counted.
    """

    def __init__(self) -> None:
        # Guards both fields: reports come on a thread of their own, plans on the coordinator's callers'.
        self._lock = threading.Lock()
        self._waiting: list[LostRange] = []
        self._planned: tuple[JsonObject, int] | None = None

    def add(self, losses: Iterable[LostRange]) -> None:
        """Take a report. Any thread."""
        with self._lock:
            self._waiting += losses

    def waiting(self, start: JsonObject) -> list[LostRange]:
        """Return the losses that no committed offset counts yet.

        Args:
            start: the committed offset. If it is the one that was planned last, its losses are dropped here;
                otherwise that plan was given up, and its losses are counted again.
        """
        with self._lock:
            if self._planned is not None and self._planned[0] == start:
                del self._waiting[: self._planned[1]]
            self._planned = None
            return list(self._waiting)

    def planned(self, end: JsonObject, count: int) -> None:
        """Note that an offset counts the first ``count`` losses that wait."""
        with self._lock:
            self._planned = (end, count)


class TaskReports:
    """Listens to the tasks of a query, and holds what they tell.

    Spark's thread calls, but for what comes from the listener, on a thread of its own.

    Args:
        source: of the query.
        ends: takes the splits that ended at a record.
        watched: the column of the query's watermark; None if it is not watched.
        wall_ms: the wall-clock time in ms since 1970.

    Attributes:
        losses: those that no offset counts yet.
        times: how long the tasks took with each split.
    """

    def __init__(
        self,
        source: PlannedSource[Any, Any, Any],
        ends: SplitEnds[Any, Any],
        watched: WatchedColumn | None,
        wall_ms: Callable[[], int],
    ) -> None:
        self.losses = TaskLosses()
        self.times = SplitTimes()
        self._source = source
        self._ends = ends
        self._watched = watched
        self._wall_ms = wall_ms
        self._metrics = ReportedMetrics()
        self._listener: ReportListener | None = None
        self._column_times: ColumnTimes | None = None
        # Of the last batch, by split: what the times of its tasks are divided by.
        self._planned_bytes: Mapping[SplitPath, int] = {}

    def begin_batch(self, ranges: Sequence[SplitRange[Any, Any]], row_bytes: Sequence[int]) -> None:
        """The tasks that report from now on read these ranges, of rows of these sizes."""
        self._planned_bytes = {
            part.split.path: 1 + size * self._source.rows_between(part.start, part.stop)
            for part, size in zip(ranges, row_bytes, strict=True)
        }
        self._metrics.begin_batch()

    def address(self) -> ReportAddress | None:
        """Return where tasks report; the first call begins to listen.

        None in a batch read: there is no later offset that could count.
        """
        if self._source.boundedness is Boundedness.BOUNDED:
            return None
        if self._listener is None:
            from headwater.connector.planned.report_listener import ColumnTimes, ReportListener

            if self._watched is not None:
                self._column_times = ColumnTimes(self._watched, self._source.name)
            self._listener = ReportListener(self._take_loss, self._take_read, self._ends.add)
        address = self._listener.address
        if address is None or self._column_times is None:
            return address
        return replace(address, times=self._column_times.ask())

    def metrics(self, values: MetricValues) -> dict[str, int]:
        """Return what the tasks have counted and measured, with values of the coordinator."""
        late = {} if self._column_times is None else {LATE_IN_COLUMN: self._column_times.late_rows}
        return self._metrics.report({**values, **late})

    def close(self) -> None:
        """Stop listening. Idempotent."""
        if self._listener is not None:
            self._listener.close()

    def _take_loss(self, report: LossReport) -> None:
        """Take the report of a loss. On the listener's thread."""
        lost = LostRange(report.split, report.first, report.until, "task", self._wall_ms())
        self.losses.add([lost])

    def _take_read(self, report: ReadReport) -> None:
        """Take the report of a task on its rows. On the listener's thread."""
        planned = self._planned_bytes
        took = ((tuple(path), took_ms) for path, took_ms in report.took_ms)
        self.times.add((path, took_ms / planned[path]) for path, took_ms in took if path in planned)
        self._metrics.add(report.metrics)
        if self._column_times is not None:
            self._column_times.add(report)
