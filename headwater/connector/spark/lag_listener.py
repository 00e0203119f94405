"""`LagListener`: the lag and the losses of every query of a session, as its progress reports them."""

from __future__ import annotations

import html
import threading
import time
from typing import Any, Final

from pyspark.sql.streaming.listener import (
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
)

from headwater.connector.spark.lag import QueryLag, query_lag
from headwater.connector.spark.session_listener import SessionListener

_SPLITS_SHOWN: Final = 20


class LagListener(SessionListener):
    """Lag, records per second, losses and metrics of every query that reads from headwater.

    ::

        lag = hw.LagListener()
        spark.streams.addListener(lag)
        ...
        print(lag)            # one line a query
        export(lag.as_dict())

    Lag is known for sources whose positions are numbers; in barrier mode for splits that are caught up, and
    for those of which the outside tells it. Losses are those of ``failOnDataLoss=false``, and
    files that came too late (``onLateFile=warn``). They stand in the query's offsets: they outlive restarts.
    Events come on Spark's listener thread; reading is safe from any other.
    """

    def __init__(self) -> None:
        # Spark's listener thread writes, the user's threads read.
        self._lock = threading.Lock()
        self._by_run: dict[str, QueryLag] = {}
        # When each last reported, by the monotonic clock, and which have nothing to do: they report nothing.
        self._reported_s: dict[str, float] = {}
        self._idle: set[str] = set()

    def queries(self) -> list[QueryLag]:
        """Return the last report of every running query."""
        now_s = time.monotonic()
        with self._lock:
            return [
                lag.idle_for(round((now_s - self._reported_s[run]) * 1000)) if run in self._idle else lag
                for run, lag in self._by_run.items()
            ]

    def as_dict(self) -> dict[str, dict[str, Any]]:
        """Return the last report of every running query as plain values, by the query's name."""
        return {lag.query: lag.as_dict() for lag in self.queries()}

    def __str__(self) -> str:
        return "\n".join(str(lag) for lag in self.queries()) or "no query has reported yet"

    def _repr_html_(self) -> str:
        """Return the queries and their splits, those with the largest lag first, as a notebook shows them."""
        lags = self.queries()
        if not lags:
            return "<p>no query has reported yet</p>"
        return "".join(_html(lag) for lag in lags)

    def onQueryStarted(self, event: QueryStartedEvent) -> None:  # noqa: N802 - Spark's name
        """Nothing is known yet."""

    def onQueryIdle(self, event: Any) -> None:  # noqa: N802 - Spark's name
        """Note that there is nothing to do."""
        with self._lock:
            self._idle.add(str(event.runId))

    def onQueryProgress(self, event: QueryProgressEvent) -> None:  # noqa: N802 - Spark's name
        """Take a report."""
        lag = query_lag(event.progress)
        if lag is not None:
            run = str(event.progress.runId)
            with self._lock:
                self._by_run[run] = lag
                self._reported_s[run] = time.monotonic()
                self._idle.discard(run)

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:  # noqa: N802 - Spark's name
        """Forget the query."""
        with self._lock:
            self._by_run.pop(str(event.runId), None)
            self._reported_s.pop(str(event.runId), None)
            self._idle.discard(str(event.runId))


def _html(lag: QueryLag) -> str:
    most = max(lag.splits.values(), default=0)
    worst = sorted(lag.splits.items(), key=lambda item: (-item[1], item[0]))
    rows = "".join(
        f"<tr><td>{html.escape(split)}</td><td>{behind:,}</td>"
        f'<td><meter max="{most or 1}" value="{behind}"></meter></td></tr>'
        for split, behind in worst[:_SPLITS_SHOWN]
    )
    left_out = len(worst) - _SPLITS_SHOWN
    more = f"<p>and {left_out:,} splits that are less behind</p>" if left_out > 0 else ""
    head = "<tr><th>split</th><th>lag</th><th></th></tr>"
    return f"<p>{html.escape(str(lag))}</p><table>{head}{rows}</table>{more}"
