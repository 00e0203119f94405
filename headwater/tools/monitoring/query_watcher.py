"""Watches the queries of a session."""

from __future__ import annotations

from typing import Any

from pyspark.sql.streaming.listener import (
    QueryIdleEvent,
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
)

from headwater.connector.readable import said_in
from headwater.connector.spark.session_listener import SessionListener
from headwater.tools.monitoring.batch_report import batch_report, milliseconds
from headwater.tools.monitoring.query_history import QueryHistories


class QueryWatcher(SessionListener):
    """Keeps histories of all queries of a session, of headwater and others.

    Spark calls it on one thread, for each query in order; over Spark Connect on a thread of the client.

    Args:
        histories: where it writes; it is the only one who does.
    """

    def __init__(self, histories: QueryHistories) -> None:
        self._histories = histories

    def onQueryStarted(self, event: QueryStartedEvent) -> None:  # noqa: N802 - Spark's name
        """Begin a history, or go on with it: a query that is started again has the same id."""
        with self._histories.changing(str(event.id), event.name) as history:
            history.begin_run(str(event.runId))
            history.started_ms = milliseconds(event.timestamp)

    def onQueryProgress(self, event: QueryProgressEvent) -> None:  # noqa: N802 - Spark's name
        """Take a report."""
        progress: Any = event.progress
        batch = batch_report(progress)
        with self._histories.changing(str(progress.id), progress.name) as history:
            history.begin_run(str(progress.runId))
            history.state = "running" if batch.rows else "idle"
            history.add(batch)
            history.totals.add(batch)

    def onQueryIdle(self, event: QueryIdleEvent) -> None:  # noqa: N802 - Spark's name
        """Note that the query lives, and has nothing to do."""
        with self._histories.changing(str(event.id), None) as history:
            history.begin_run(str(event.runId))
            history.state = "idle"

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:  # noqa: N802 - Spark's name
        """Note how the query ended."""
        with self._histories.changing(str(event.id), None) as history:
            history.state = "failed" if event.exception else "stopped"
            if event.exception:
                history.failures += 1
                self._histories.failed(history, _one_line(event.exception))


def _one_line(error: str) -> str:
    """Return headwater's message of an error; else its first line."""
    return said_in(error) or error.strip().partition("\n")[0]
