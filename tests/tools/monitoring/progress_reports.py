"""Progress as Spark reports it, made up."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

from headwater.tools.monitoring.query_history import QueryHistories
from headwater.tools.monitoring.query_watcher import QueryWatcher

START_MS = 1_795_000_000_000


class ScriptedQuery:
    """A query that a test drives: it reports to a watcher as Spark would, one batch a second."""

    def __init__(self, watcher: QueryWatcher, name: str, splits: int, query_id: str = "") -> None:
        self._watcher = watcher
        self._name = name
        self._id = query_id or f"id-of-{name}"
        self._run = 0
        self._batch = -1
        self._positions = {str(number): 0 for number in range(splits)}
        self._heads = dict(self._positions)

    def start(self) -> None:
        self._run += 1
        self._watcher.onQueryStarted(self._event(name=self._name, timestamp=self._time()))

    def report(
        self,
        *,
        rows_a_split: int = 100,
        behind: int = 50,
        fronts_ms: dict[str, int] | None = None,
        metrics: dict[str, int] | None = None,
        unit: str = "",
        **fields: Any,
    ) -> None:
        """Report a batch that read so many rows of each split; split ``n`` is then ``n * behind`` behind."""
        self._batch += 1
        before = self._positions
        self._positions = {split: at + rows_a_split for split, at in before.items()}
        self._heads = {split: at + int(split) * behind for split, at in self._positions.items()}
        rows = rows_a_split * len(before)
        self._watcher.onQueryProgress(
            reported(
                name=self._name,
                id=self._id,
                runId=f"run-{self._run}",
                batchId=self._batch,
                timestamp=self._time(),
                numInputRows=rows,
                processedRowsPerSecond=float(rows),
                sources=[source(before, self._positions, self._heads, fronts_ms, metrics, unit=unit)],
                **fields,
            )
        )

    def idle(self) -> None:
        self._watcher.onQueryIdle(self._event(timestamp=self._time()))

    def end(self, exception: str | None = None) -> None:
        self._watcher.onQueryTerminated(self._event(exception=exception, errorClassOnException=None))

    def _event(self, **fields: Any) -> Any:
        return SimpleNamespace(id=self._id, runId=f"run-{self._run}", **fields)

    def _time(self) -> str:
        moment = datetime.fromtimestamp(START_MS / 1000 + self._batch, UTC)
        return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def watched() -> tuple[QueryHistories, QueryWatcher]:
    """Return histories and their watcher, at a time that stands still."""
    histories = QueryHistories(lambda: START_MS)
    return histories, QueryWatcher(histories)


def reported(**fields: Any) -> Any:
    """Return the event with which Spark reports a progress."""
    return SimpleNamespace(progress=progress(**fields))


def progress(**fields: Any) -> Any:
    """Return a report; what is not given is as in a small query."""
    return SimpleNamespace(
        **{
            "name": "orders",
            "id": "an-id",
            "runId": "a-run",
            "batchId": 7,
            "timestamp": "2026-11-18T11:06:40.000Z",
            "batchDuration": 400,
            "durationMs": {"triggerExecution": 400, "latestOffset": 20, "addBatch": 300, "walCommit": 30},
            "eventTime": {},
            "stateOperators": [],
            "numInputRows": 0,
            "processedRowsPerSecond": 0.0,
            "sources": [],
            "sink": sink(),
            **fields,
        }
    )


def sink(rows: int = -1) -> SimpleNamespace:
    """Return a sink that got so many rows; -1: it does not say it."""
    return SimpleNamespace(description="org.apache.spark.sql.execution.FooTable$@1a2b3c", numOutputRows=rows)


def source(
    before: Any,
    after: Any,
    heads: Any,
    fronts_ms: dict[str, int] | None = None,
    metrics: dict[str, int] | None = None,
    *,
    unit: str = "",
    **more: Any,
) -> SimpleNamespace:
    latest: dict[str, Any] = {} if fronts_ms is None else {"fronts_ms": {"orders": fronts_ms}}
    latest |= {"reads": "orders"} if metrics is None else {"reads": "orders", "metrics": metrics}
    latest |= {"unit": unit} if unit else {}
    return SimpleNamespace(
        description="",
        startOffset=offset(before),
        endOffset=offset(after, **more),
        latestOffset=offset(heads, **latest),
    )


def offset(positions: dict[str, int], **more: Any) -> str:
    return json.dumps({"source": "kafka", "version": 2, "positions": {"orders": positions}, **more})


def barrier_offset(**fields: Any) -> str:
    """Return an offset of barrier mode, or the report of its latest state."""
    return json.dumps({"source": "http", "version": 2, **fields})
