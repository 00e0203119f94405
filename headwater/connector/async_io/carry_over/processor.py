"""The operator as a stateful processor: unfinished inputs go from one micro-batch to the next.

FLIP-12 stores the inputs of its queue in every checkpoint. Here the checkpoint is the micro-batch. It waits a
while; the inputs that are then not out go into Spark's state (transformWithState, RocksDB), which is
committed with the batch. They come back in the next batch, which a timer starts if there are no new rows.
"""

from __future__ import annotations

import importlib
import logging
import weakref
from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark import TaskContext
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql.streaming.listener import (
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryListener,
)
from pyspark.sql.streaming.stateful_processor import (
    ExpiredTimerInfo,
    StatefulProcessor,
    StatefulProcessorHandle,
    TimerValues,
)

from headwater.connector.async_io.carry_over.buckets import (
    bucket_keys,
    bucket_of,
    pack,
    packed,
    unpack,
    unpacked,
)
from headwater.connector.async_io.plan import Planned, default_parallelism
from headwater.connector.async_io.task import AsyncWait
from headwater.core.errors import MissingDependencyError, OptionError

_ROUNDS = "_headwater_rounds"
_KEY = "_headwater_key"
_PROVIDER = "spark.sql.streaming.stateStore.providerClass"
_MOST_DOUBLINGS = 20


def carrying_over(df: DataFrame, planned: Planned, carry_over_ms: int) -> DataFrame:
    """Return the output of an operator on a stream that carries unfinished inputs over from batch to batch.

    Raises:
        OptionError: there is no time to wait, the session's state store is not RocksDB, or it is a Connect
            session.
        MissingDependencyError: what Spark's Python state functions need is not installed.
    """
    if carry_over_ms < 1:
        raise OptionError("must be longer than nothing: no call would ever end", option="carry_over")
    watch_triggers(df.sparkSession)
    _check_session(df)
    partitions = int(df.sparkSession.conf.get("spark.sql.shuffle.partitions") or 1)
    keys = bucket_keys(planned.tasks or default_parallelism(df), partitions)
    keyed = df.withColumn(_KEY, bucket_of(df, planned.wait.columns, keys)).mapInArrow(
        packed, "key int, rows binary"
    )
    processor = CarryOver(planned.wait, carry_over_ms / 1000)
    carried = keyed.groupBy("key").transformWithState(processor, "rows binary", "Append", "ProcessingTime")
    return carried.mapInArrow(unpacked, planned.output)


class CarryOver(StatefulProcessor):
    """One key is one bucket of rows, asked by one task.

    Made on the driver, pickled to the tasks; Spark calls it in the task's thread.

    A row that was carried over n times is waited for 2^n times as long. So a call that takes longer than the
    wait ends all the same, by its result or by its timeout, and only a row that hangs makes a batch long.

    The state of a key is the list ``unfinished``: each item is Arrow's bytes of some input rows, in the
    format of `buckets.pack`, with one more column that counts how often a row was carried over.

    Args:
        wait: the operator.
        patience_s: how long a batch waits.
    """

    def __init__(self, wait: AsyncWait, patience_s: float) -> None:
        self._wait = wait
        self._patience_s = patience_s

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._handle = handle
        self._unfinished = handle.getListState("unfinished", "rows binary")

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: TimerValues) -> Iterator[Row]:  # noqa: N802, N803
        # The timer of the batch before: it would fire in this batch too, and ask the same rows twice.
        for timer in list(self._handle.listTimers()):
            self._handle.deleteTimer(timer)
        fresh = (_with_rounds(unpack(bytes(row.rows))) for row in rows)
        yield from self._ask(fresh, timerValues.getCurrentProcessingTimeInMs())

    def handleExpiredTimer(  # noqa: N802
        self,
        key: Any,
        timerValues: TimerValues,  # noqa: N803
        expiredTimerInfo: ExpiredTimerInfo,  # noqa: N803
    ) -> Iterator[Row]:
        yield from self._ask((), timerValues.getCurrentProcessingTimeInMs())

    def close(self) -> None:
        """Nothing is left open between buckets."""

    def _ask(self, fresh: Iterable[pa.RecordBatch], now_ms: int) -> Iterator[Row]:
        carried = [unpack(bytes(rows)) for (rows,) in self._unfinished.get()]
        with self._wait.opened() as task:
            # Before the new rows: they have waited longest.
            for batch in carried:
                task.restore(batch)
            for batch in task.process(fresh, self._patience(carried)):
                for rows in pack(batch):
                    yield Row(rows=rows)
            # While the operator is open: closing cancels what is unfinished.
            unfinished = task.unfinished()
        self._store(unfinished, now_ms)

    def _patience(self, carried: list[pa.RecordBatch]) -> float | None:
        context = TaskContext.get()
        if context is not None and context.getLocalProperty(DRAINS) == "true":
            # There may be no next batch: wait until all is out.
            return None
        rounds: int = max((pc.max(batch.column(_ROUNDS)).as_py() for batch in carried), default=0)
        return float(self._patience_s * 2 ** min(rounds, _MOST_DOUBLINGS))

    def _store(self, unfinished: pa.RecordBatch | None, now_ms: int) -> None:
        if unfinished is None:
            self._unfinished.clear()
            return
        index = unfinished.schema.get_field_index(_ROUNDS)
        rounds = pc.add(unfinished.column(index), pa.scalar(1, pa.int32()))
        carried = unfinished.set_column(index, _ROUNDS, rounds)
        self._unfinished.put([(rows,) for rows in pack(carried)])
        # The earliest time there is: the next batch asks again, whether there are new rows or not.
        self._handle.registerTimer(now_ms + 1)


def _with_rounds(batch: pa.RecordBatch) -> pa.RecordBatch:
    return batch.append_column(_ROUNDS, pa.array([0] * batch.num_rows, pa.int32()))


def _check_session(df: DataFrame) -> None:
    provider = df.sparkSession.conf.get(_PROVIDER) or ""
    if "RocksDB" not in provider:
        wanted = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
        raise OptionError(
            f"needs Spark's RocksDB state store: set {_PROVIDER} to {wanted} (it is {provider})",
            option="carry_over",
        )
    for library in ("pandas", "google.protobuf"):
        try:
            importlib.import_module(library)
        except ImportError as error:
            raise MissingDependencyError(library, needed_for="carry_over", extra="carry-over") from error


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
