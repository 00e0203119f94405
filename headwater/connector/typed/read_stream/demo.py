"""``hw.read_stream.demo``. Written by ``python -m headwater.connector.typed.writing``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from headwater.connector.typed.loading import load_stream, typed_reader

if TYPE_CHECKING:
    from datetime import datetime, timedelta

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType


@typed_reader
def demo(
    spark: SparkSession,
    *,
    rows_per_second: int | None = None,
    rows: int | None = None,
    splits: int | None = None,
    disorder: str | int | timedelta | None = None,
    seed: int | None = None,
    starting_timestamp: str | datetime | None = None,
    read_timeout: str | int | timedelta | None = None,
    retry_deadline: str | int | timedelta | None = None,
    max_rows_per_trigger: int | None = None,
    max_bytes_per_trigger: int | None = None,
    target_batch_duration: str | int | timedelta | None = None,
    checkpoint_location: str | None = None,
    trigger_interval: str | int | timedelta | None = None,
    min_rows_per_trigger: int | None = None,
    max_trigger_delay: str | int | timedelta | None = None,
    min_partitions: int | None = None,
    max_rows_per_partition: int | None = None,
    parallelism: int | None = None,
    max_event_time_skew: str | int | timedelta | None = None,
    event_time_delay: str | int | timedelta | None = None,
    on_late_split: Literal["read", "fail"] | None = None,
    event_time_column: str | None = None,
    schema: str | StructType | None = None,
) -> DataFrame:
    """Read orders that are made up as a stream.

    The same as ``spark.readStream.format("headwater").option("source", "demo")`` with the
    options that the arguments are named after, and ``load()``. See docs/demo.md.

    Args:
        spark: the session.
        rows_per_second: How many orders become visible in a second, in all splits together. Default:
            `1000`. (``rowsPerSecond``)
        rows: How many orders are there at the beginning: a batch read has just these, a new stream begins
            with them. Default: `1000`.
        splits: How many splits the orders are dealt out to, in turn. Default: `4`.
        disorder: How long it takes at the most from `ordered_at` until an order is visible: a watermark
            with this delay drops none. Default: `0s`.
        seed: Another seed, other orders. Default: `0`.
        starting_timestamp: Where a new query begins: a time such as `2024-05-01T12:00:00Z`, or ms since
            1970. (``startingTimestamp``)
        read_timeout: How long the source may take for a page before it counts as hung. Default: `5m`.
            (``readTimeout``)
        retry_deadline: How long to go on asking an outside that is away or overloaded. Default: `2m`.
            (``retryDeadline``)
        max_rows_per_trigger: No batch is planned for more rows than this. (``maxRowsPerTrigger``)
        max_bytes_per_trigger: Nor for more bytes, as far as they can be estimated.
            (``maxBytesPerTrigger``)
        target_batch_duration: How long a batch should take: batches become as large as the query manages
            in this time, within the other limits; needs one of the next two: see batch-duration.md.
            (``targetBatchDuration``)
        checkpoint_location: The same as that of the query: Spark's log there shows how long a batch took,
            without the wait for a trigger. (``checkpointLocation``)
        trigger_interval: Instead of that: the interval of the query's trigger, `0s` if it has none.
            (``triggerInterval``)
        min_rows_per_trigger: A batch waits until this many rows are there ... (``minRowsPerTrigger``)
        max_trigger_delay: ... or until this much time has passed since the last one. Default: `15m`.
            (``maxTriggerDelay``)
        min_partitions: Cut large splits until a batch has about so many tasks. (``minPartitions``)
        max_rows_per_partition: No task is planned for more rows than this. (``maxRowsPerPartition``)
        parallelism: How many tasks the cluster runs at once: a batch has no more, unless its bytes or
            `minPartitions` ask for more. Where it is not known there may be one for each split. Default:
            `HEADWATER_PARALLELISM`.
        max_event_time_skew: Where a batch cannot take all there is, let it end at the same event time in
            all splits, give or take this much, so that no split's rows are late because it lags; needs a
            limit of rows or bytes: see event-time.md. (``maxEventTimeSkew``)
        event_time_delay: The delay of the query's watermark: rows of a split that is found late, or is
            back, count as late if they are older than what was read by more than this. Default:
            `maxEventTimeSkew`. (``eventTimeDelay``)
        on_late_split: What to do about such rows: `read` them, with a warning and a count, or `fail`.
            Default: `read`. (``onLateSplit``)
        event_time_column: The column that the query's watermark is on, if it is not the time of the
            record. Batches are aligned by the times of records all the same; rows that are late by this
            column are counted, with a warning. (``eventTimeColumn``)
        schema: the whole frame's, where the source takes one (``.schema(...)``).

    Raises:
        OptionError: an argument is missing, is none of this function, or is of another type.
    """
    return load_stream("demo", locals())
