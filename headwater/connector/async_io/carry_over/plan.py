"""The operator that carries rows over, put into Spark's plan."""

from __future__ import annotations

import importlib
from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql.types import TimestampType

from headwater.connector.async_io.carry_over.buckets import (
    PACKED,
    Packing,
    bucket_keys,
    bucket_of,
    unpacked,
)
from headwater.connector.async_io.carry_over.event_time import (
    EventTime,
    check_watermarks,
    event_time_of,
    has_stateful_watermark,
)
from headwater.connector.async_io.carry_over.processor import CarryOver
from headwater.connector.async_io.carry_over.queries import CARRIED_ROWS, UNTIMED_ROWS, watch_queries
from headwater.connector.async_io.limits import default_parallelism
from headwater.connector.async_io.plan import Planned, milliseconds
from headwater.connector.async_io.schemas import arrow_schema
from headwater.connector.compat import map_in_arrow, quoted
from headwater.core.errors import MissingDependencyError, OptionError
from headwater.readers.async_io.settings import OutputMode

_KEY = "_headwater_key"
_PROVIDER = "spark.sql.streaming.stateStore.providerClass"
_PARTITIONS = "spark.sql.shuffle.partitions"
_POLICY = "spark.sql.streaming.multipleWatermarkPolicy"
_FEW_PARTITIONS = 16


def carrying_over(
    df: DataFrame, planned: Planned, carry_over: str, event_time: str | None, delay: str | None
) -> DataFrame | None:
    """Return the output of an operator on a stream that carries unfinished inputs over from batch to batch.

    None: there are none. A frame that is no stream waits for all its rows; so does a stream whose rows are at
    the watermark already, which then goes through by itself.

    Args:
        df: the input.
        planned: the operator.
        carry_over: how long a batch waits.
        event_time: as in `unordered_wait`.
        delay: as in `unordered_wait`.

    Raises:
        OptionError: there is no time to wait, rows would be late, the session's state store is not RocksDB,
            there are far more state partitions than tasks, or it is a Connect session.
        MissingDependencyError: a package that Spark's Python state functions need is not installed.
    """
    carry_over_ms = milliseconds(carry_over, "carry_over")
    if carry_over_ms < 1:
        raise OptionError("must be greater than 0", option="carry_over")
    if not df.isStreaming:
        return None
    watch_queries(df.sparkSession)
    times = event_time_of(df, event_time, delay)
    if times is not None:
        if times.column not in planned.wait.kept_columns:
            raise OptionError("must be in the output: with keep_input=False it is not", option="event_time")
        is_at_watermark = has_stateful_watermark(df)
        check_watermarks(df, times.column, may_be_others=is_at_watermark)
        if is_at_watermark:
            return None
        _check_times(df, times.column)
    _check_session(df)
    return _with_state(df, planned, carry_over_ms, times)


def _with_state(
    df: DataFrame, planned: Planned, carry_over_ms: int, event_time: EventTime | None
) -> DataFrame:
    partitions = state_partitions(df)
    mode = planned.wait.settings.mode
    # Ordered: partitions of two batches have nothing in common, a Kafka partition is the third in one and the
    # second in the next. The only order that goes on from batch to batch is that of all rows, in one task.
    most_tasks = 1 if mode is OutputMode.ORDERED else partitions
    tasks = min(planned.tasks or default_parallelism(df), most_tasks)
    _check_partitions(partitions, tasks)
    # With limits each partition has a bucket, so that rows which a start with more tasks has left are asked
    # by the tasks of now, one partition of a task after the other. Where rows of a key must stay together,
    # buckets must not change with the number of tasks.
    buckets = tasks if planned.tasks is None and mode is not OutputMode.KEYED else most_tasks
    keys = bucket_keys(buckets, partitions)
    columns = planned.wait.key_columns if mode is OutputMode.KEYED else df.columns
    packing = Packing(keys, event_time)
    keyed = map_in_arrow(df.withColumn(_KEY, bucket_of(df, keys, columns)), packing.packed, PACKED)
    column = CARRIED_ROWS if event_time is not None else UNTIMED_ROWS
    processor = CarryOver(
        planned.wait,
        carry_over_ms / 1000 * tasks / len(keys),
        keys=frozenset(keys),
        schema=arrow_schema(df.schema),
        most_bytes=planned.carried_bytes,
        event_time=event_time,
        column=column,
        order=_order(mode, columns, partitions),
    )
    carried = keyed.groupBy("key").transformWithState(
        processor, f"{column} binary", "Append", "ProcessingTime"
    )
    if planned.tasks is not None:
        carried = carried.coalesce(tasks)
    out = carried.mapInArrow(unpacked, planned.output)
    if event_time is None:
        return out
    return out.withWatermark(quoted(event_time.column), f"{event_time.delay_ms} milliseconds")


def _order(mode: OutputMode, columns: Sequence[str], partitions: int) -> str | None:
    """Return the order in which rows are carried over, as users know it; None if there is none."""
    if mode is OutputMode.KEYED:
        return f"by {', '.join(columns)} ({_PARTITIONS} {partitions})"
    return "in the order of all rows" if mode is OutputMode.ORDERED else None


def _check_times(df: DataFrame, column: str) -> None:
    if not isinstance(df.schema[column].dataType, TimestampType):
        raise OptionError(f"must be a timestamp, and {column!r} is not", option="event_time")
    if df.sparkSession.conf.get(_POLICY) == "max":
        raise OptionError(
            f"needs {_POLICY} to be min: with max another stream of the query may move the watermark past "
            "rows that are carried over",
            option="event_time",
        )


def _check_session(df: DataFrame) -> None:
    provider = df.sparkSession.conf.get(_PROVIDER) or ""
    if "RocksDB" not in provider:
        rocksdb = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
        raise OptionError(
            f"needs Spark's RocksDB state store: set {_PROVIDER} to {rocksdb} (it is {provider})",
            option="carry_over",
        )
    for library in ("pandas", "google.protobuf"):
        try:
            importlib.import_module(library)
        except ImportError as error:
            raise MissingDependencyError(library, needed_for="carry_over", extra="carry-over") from error


def state_partitions(df: DataFrame) -> int:
    """Return how many state partitions a new query gets.

    Spark takes the number from the session and gives an operator no way to set its own. A query that has a
    checkpoint keeps its own number.
    """
    return int(df.sparkSession.conf.get(_PARTITIONS) or 1)


def _check_partitions(partitions: int, tasks: int) -> None:
    # Each partition has a Python worker and a store in every batch, empty batches too.
    if partitions > max(_FEW_PARTITIONS, 4 * tasks):
        raise OptionError(
            f"needs fewer state partitions: {_PARTITIONS} is {partitions}, and {tasks} tasks ask a service, "
            f"so each batch, an empty one too, would start {partitions} tasks with a state store each: set "
            f"it to {tasks} (a query that has a checkpoint keeps the number it began with)",
            option="carry_over",
        )
