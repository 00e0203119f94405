"""``hw.read.demo``. Written by ``python -m headwater.connector.typed.writing``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headwater.connector.typed.loading import load_batch, typed_reader

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
    min_partitions: int | None = None,
    max_rows_per_partition: int | None = None,
    parallelism: int | None = None,
    schema: str | StructType | None = None,
) -> DataFrame:
    """Read orders that are made up in a batch.

    The same as ``spark.read.format("headwater").option("source", "demo")`` with the
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
        min_partitions: Cut large splits until a batch has about so many tasks. (``minPartitions``)
        max_rows_per_partition: No task is planned for more rows than this. (``maxRowsPerPartition``)
        parallelism: How many tasks the cluster runs at once: a batch has no more, unless its bytes or
            `minPartitions` ask for more. Where it is not known there may be one for each split. Default:
            `HEADWATER_PARALLELISM`.
        schema: the whole frame's, where the source takes one (``.schema(...)``).

    Raises:
        OptionError: an argument is missing, is none of this function, or is of another type.
    """
    return load_batch("demo", locals())
