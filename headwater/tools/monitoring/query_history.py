"""The history of each query: its state, and its last batches."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from headwater.core.metrics import is_counter
from headwater.tools.monitoring.batch_report import BatchReport

QueryState: TypeAlias = Literal["running", "idle", "failed", "stopped", "logged"]
"""``logged``: seen from its checkpoint alone, which does not say whether the query runs."""

_MOST_BATCHES: Final = 120
_MOST_SPLIT_REPORTS: Final = 120_000
"""How many of all batches of a query are kept: with 2,000 splits those of 60 batches, some 20 MB."""

_FEWEST_BATCHES: Final = 4
_MOST_ERRORS: Final = 50
_MOST_ENDED: Final = 20
"""How many queries that have ended are shown: the last ones."""


@dataclass(frozen=True, slots=True)
class QueryFailure:
    """How a query ended.

    Attributes:
        time_ms: when, in ms since 1970.
        query: its name.
        message: one line.
    """

    time_ms: int
    query: str
    message: str


@dataclass(slots=True, eq=False)
class QueryTotals:
    """Counters, which only grow while a query is watched; a trigger that is run again counts again.

    Attributes:
        rows: that were read.
        batches: that were reported.
        steps_ms: how long each step of triggers took, by Spark's names.
    """

    rows: int = 0
    batches: int = 0
    steps_ms: dict[str, int] = field(default_factory=dict)

    def add(self, batch: BatchReport) -> None:
        """Take a report of Spark."""
        self.rows += batch.rows or 0
        self.batches += 1
        for step, ms in batch.phases_ms.items():
            self.steps_ms[step] = self.steps_ms.get(step, 0) + ms


@dataclass(slots=True, eq=False)
class RunCounter:
    """Counts of sources that begin at zero in each run of their query, over all runs.

    Attributes:
        before: of the runs before this one.
        in_run: of this run.
    """

    before: int = 0
    in_run: int = 0

    @property
    def total(self) -> int:
        """The count of all runs."""
        return self.before + self.in_run

    def begin_run(self) -> None:
        """The next count begins at zero."""
        self.before += self.in_run
        self.in_run = 0

    def take(self, count: int) -> None:
        """Take a count of this run. A report before the first look at the outside has none."""
        self.in_run = max(self.in_run, count)


@dataclass(slots=True, eq=False)
class QueryHistory:
    """One query, as long as its checkpoint lives: a restart goes on with it. Owned by a `QueryHistories`.

    Attributes:
        query_id: Spark's id of the query, or the path of its checkpoint.
        name: the query's name.
        state: its present state.
        runs: how often it was started while it was watched.
        run_id: of its last run.
        started_ms: when that began, in ms since 1970; None if that was before it was watched.
        heard_ms: when the last report came.
        rows: that were read while it was watched.
        counters: those of its sources, by the names of `headwater.core.metrics`.
        reported_ms: when the last batch was reported.
        failures: how often it ended with an error.
        message: a line about a fault, or a remark.
        batches: the last ones, the oldest first.
        totals: the counters of metrics.
    """

    query_id: str
    name: str
    state: QueryState = "running"
    runs: int = 0
    run_id: str = ""
    started_ms: int | None = None
    heard_ms: int | None = None
    rows: int = 0
    counters: dict[str, RunCounter] = field(default_factory=dict)
    reported_ms: int = 0
    failures: int = 0
    message: str = ""
    batches: deque[BatchReport] = field(default_factory=deque)
    totals: QueryTotals = field(default_factory=QueryTotals)

    @property
    def last(self) -> BatchReport | None:
        """The last batch that was reported."""
        return self.batches[-1] if self.batches else None

    def metrics(self, now_ms: int) -> dict[str, int]:
        """Return the metrics of its sources: counters over all runs, and gauges while it runs."""
        values = {name: counter.total for name, counter in self.counters.items()}
        if self.last is None or self.last.lag is None or self.state in ("failed", "stopped"):
            return values
        # Spark reports no progress while there is nothing to do.
        idle_ms = now_ms - self.reported_ms if self.state == "idle" else 0
        return {**self.last.lag.idle_for(idle_ms).metrics, **values}

    def begin_run(self, run_id: str) -> None:
        """Take note of the run that reports. Idempotent."""
        if self.run_id == run_id:
            return
        for counter in self.counters.values():
            counter.begin_run()
        self.run_id = run_id
        self.runs += 1
        self.started_ms = None
        self.state = "running"
        self.message = ""

    def add(self, batch: BatchReport) -> None:
        """Take a batch. One that was reported before is replaced: so is a progress report without a batch."""
        if self.batches and self.batches[-1].batch_id == batch.batch_id:
            previous = self.batches.pop()
            self.rows -= previous.rows or 0
        self.rows += batch.rows or 0
        self.reported_ms = self.heard_ms or 0
        for name, value in batch.metrics.items():
            if is_counter(name):
                self.counters.setdefault(name, RunCounter()).take(value)
        self.batches.append(batch)
        room = _MOST_SPLIT_REPORTS // max(1, len(batch.splits))
        while len(self.batches) > max(_FEWEST_BATCHES, min(_MOST_BATCHES, room)):
            self.batches.popleft()


class QueryHistories:
    """All queries that are watched. One thread writes, any may read.

    Args:
        wall_ms: the wall-clock time in ms since 1970.
    """

    def __init__(self, wall_ms: Callable[[], int]) -> None:
        self._wall_ms = wall_ms
        # The watcher's thread writes, threads of the server read: a history must not change under a reader.
        self._lock = threading.Lock()
        self._by_id: dict[str, QueryHistory] = {}
        self._failures: deque[QueryFailure] = deque(maxlen=_MOST_ERRORS)

    @property
    def now_ms(self) -> int:
        """The wall-clock time in ms since 1970."""
        return self._wall_ms()

    @contextmanager
    def reading(self) -> Iterator[list[QueryHistory]]:
        """Give all histories, the newest query last; they do not change meanwhile."""
        with self._lock:
            yield list(self._by_id.values())

    def failures(self) -> list[QueryFailure]:
        """Return the last failures, the oldest first."""
        with self._lock:
            return list(self._failures)

    @contextmanager
    def changing(self, query_id: str, name: str | None) -> Iterator[QueryHistory]:
        """Give the history of a query to the watcher, which may change it; a new one if there is none."""
        with self._lock:
            history = self._by_id.setdefault(query_id, QueryHistory(query_id, name or query_id))
            history.name = name or history.name
            history.heard_ms = self._wall_ms()
            yield history
            self._forget_old()

    def failed(self, history: QueryHistory, message: str) -> None:
        """Note a failure. The watcher calls this inside of `changing`."""
        history.message = message
        self._failures.append(QueryFailure(self._wall_ms(), history.name, message))

    def _forget_old(self) -> None:
        ended = [each for each in self._by_id.values() if each.state in ("failed", "stopped")]
        for each in ended[:-_MOST_ENDED]:
            del self._by_id[each.query_id]
