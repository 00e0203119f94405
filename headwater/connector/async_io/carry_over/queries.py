"""Facts about a query at its start, for its tasks: whether it ends by itself, the plan behind the calls."""

from __future__ import annotations

import weakref
from typing import Any

from pyspark import TaskContext
from pyspark.sql import SparkSession
from pyspark.sql.streaming.listener import (
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryListener,
)

from headwater.core.errors import OptionError
from headwater.core.redaction import logger_of

DRAINS = "spark.sql.headwater.asyncIO.drains"
"""A local property, ``true`` in the tasks of queries that end by themselves, else ``false``."""

_REFUSED = "spark.sql.headwater.asyncIO.refused"

CARRIED_ROWS = "_headwater_rows"
"""The output column of an operator that carries rows over: its mark in a query's plan."""

UNTIMED_ROWS = "_headwater_untimed_rows"
"""The same, where the operator does not know the event time of the rows."""

log = logger_of(__name__)
_watched: weakref.WeakSet[SparkSession] = weakref.WeakSet()


def watch_queries(spark: SparkSession) -> None:
    """From now on give the tasks of this session's queries the facts about their query.

    Idempotent.

    Raises:
        OptionError: it is a Connect session, which does not show a query's trigger.
    """
    if not hasattr(spark, "_jsparkSession"):
        raise OptionError(
            "needs a classic session: Spark Connect does not show a query's trigger", option="carry_over"
        )
    if spark not in _watched:
        spark.streams.addListener(_QueryListener(spark))
        _watched.add(spark)


def drains() -> bool:
    """Return whether the query of this task ends by itself. In a task."""
    return _property(DRAINS) == "true"


def is_first_batch() -> bool:
    """Return whether the query of this task has committed no batch yet. In a task."""
    return _property("streaming.sql.batchId") in (None, "0")


def check_query() -> None:
    """Refuse a query that would lose rows. In a task, before any row is asked.

    Raises:
        OptionError: a watermark is set behind the operator, or the plan behind it is unknown.
    """
    if column := _property(_REFUSED):
        raise OptionError(
            f"a watermark (of {column}) is set behind an operator that carries rows over: they would be "
            "dropped as late. Give the operator event_time= and delay= instead, and set no watermark behind "
            "it",
            option="carry_over",
        )
    if TaskContext.get() is not None and _property(DRAINS) is None:
        raise OptionError(
            "nothing is known of this query: headwater's listener saw it not start, or failed, which is in "
            "the log of the driver",
            option="carry_over",
        )


def _property(name: str) -> str | None:
    context = TaskContext.get()
    return None if context is None else context.getLocalProperty(name)


class _QueryListener(StreamingQueryListener):
    """Sets the SQL settings of a query's session, which the tasks see.

    Spark calls `onQueryStarted` in the query's thread before its first batch, and waits for it. Each query
    has a session of its own, whose SQL settings Spark hands to the tasks.
    """

    def __init__(self, spark: SparkSession) -> None:
        self._streams = spark._jsparkSession.streams()  # noqa: SLF001 - the only way to a query's trigger

    def onQueryStarted(self, event: QueryStartedEvent) -> None:  # noqa: N802 - Spark's name
        """Mark the query if it ends by itself, or would lose rows."""
        try:
            query = self._streams.get(str(event.id)).streamingQuery()
            if not _has_column(query.analyzedPlan(), CARRIED_ROWS, UNTIMED_ROWS):
                return
            conf = query.sparkSessionForStream().conf()
            if query.trigger().getClass().getSimpleName().startswith(("AvailableNow", "OneTime")):
                conf.set(DRAINS, "true")
                # Else Spark runs empty batches for ever, as long as there may be timers.
                conf.set("spark.sql.streaming.noDataMicroBatches.enabled", "false")
                return
            if (column := _watermark_behind(query.analyzedPlan())) is not None:
                conf.set(_REFUSED, column)
            conf.set(DRAINS, "false")
        except Exception:
            # Its tasks find nothing, and refuse to run.
            log.exception("the trigger of query %s is unknown, and so is the plan behind its calls", event.id)

    def onQueryProgress(self, event: QueryProgressEvent) -> None:  # noqa: N802 - Spark's name
        """Nothing to do."""

    def onQueryIdle(self, event: Any) -> None:  # noqa: N802 - Spark's name
        """Nothing to do."""

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:  # noqa: N802 - Spark's name
        """Nothing to do."""


def _watermark_behind(plan: Any) -> str | None:
    """Return the column of a watermark that is not the operator's own, behind one that carries rows over.

    None: there is none.
    """
    is_watermark = plan.getClass().getSimpleName() == "EventTimeWatermark"
    if is_watermark and not _is_own(plan) and _has_column(plan, CARRIED_ROWS, UNTIMED_ROWS):
        return str(plan.eventTime().name())
    columns = map(_watermark_behind, _children(plan))
    return next((column for column in columns if column is not None), None)


def _is_own(watermark: Any) -> bool:
    """Return whether a watermark is that of an operator with ``event_time``: directly behind it."""
    [unpacking] = _children(watermark)
    return any(_is_column(child, CARRIED_ROWS) for child in _children(unpacking))


def _has_column(plan: Any, *names: str) -> bool:
    """Return whether a node of a plan has a column of one of these names, and no other."""
    return _is_column(plan, *names) or any(_has_column(child, *names) for child in _children(plan))


def _is_column(plan: Any, *names: str) -> bool:
    columns = plan.output()
    # The number first: each question to the JVM takes time, and plans have many columns.
    return columns.size() == 1 and columns.apply(0).name() in names


def _children(plan: Any) -> list[Any]:
    return [plan.children().apply(index) for index in range(plan.children().size())]
