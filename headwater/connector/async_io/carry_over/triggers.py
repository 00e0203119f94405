"""Whether a query ends by itself, told to its tasks, which Spark does not tell."""

from __future__ import annotations

import logging
import weakref
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.streaming.listener import (
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryListener,
)

from headwater.core.errors import OptionError

DRAINS = "spark.sql.headwater.asyncIO.drains"
"""A local property, ``true`` in the tasks of queries that end by themselves."""

log = logging.getLogger(__name__)
_watched: weakref.WeakSet[SparkSession] = weakref.WeakSet()


def watch_triggers(spark: SparkSession) -> None:
    """From now on tell the tasks of this session's queries whether their query ends (AvailableNow, Once).

    Idempotent.

    Raises:
        OptionError: it is a Connect session, which does not show a query's trigger.
    """
    if not hasattr(spark, "_jsparkSession"):
        raise OptionError(
            "needs a classic session: Spark Connect does not show a query's trigger", option="carry_over"
        )
    if spark not in _watched:
        spark.streams.addListener(_TriggerListener(spark))
        _watched.add(spark)


class _TriggerListener(StreamingQueryListener):
    """Sets what the tasks see in the SQL settings of a query's session.

    Spark calls `onQueryStarted` in the query's thread before its first batch, and waits for it. Each query
    has a session of its own, whose SQL settings Spark hands to the tasks.
    """

    def __init__(self, spark: SparkSession) -> None:
        self._streams = spark._jsparkSession.streams()  # noqa: SLF001 - the only way to a query's trigger

    def onQueryStarted(self, event: QueryStartedEvent) -> None:  # noqa: N802 - Spark's name
        """Mark the query if it ends by itself."""
        try:
            query = self._streams.get(str(event.id)).streamingQuery()
            if query.trigger().getClass().getSimpleName().startswith(("AvailableNow", "OneTime")):
                conf = query.sparkSessionForStream().conf()
                conf.set(DRAINS, "true")
                # Else Spark runs empty batches for ever, as long as there may be timers.
                conf.set("spark.sql.streaming.noDataMicroBatches.enabled", "false")
        except Exception:
            log.exception(
                "the trigger of query %s is unknown: its inputs are carried over even if it ends by itself",
                event.id,
            )

    def onQueryProgress(self, event: QueryProgressEvent) -> None:  # noqa: N802 - Spark's name
        """Nothing to do."""

    def onQueryIdle(self, event: Any) -> None:  # noqa: N802 - Spark's name
        """Nothing to do."""

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:  # noqa: N802 - Spark's name
        """Nothing to do."""
