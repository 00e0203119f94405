"""``hw.read_stream.hybrid``. Written by ``python -m headwater.connector.typed.writing``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headwater.connector.typed.loading import load_stream, typed_reader

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime, timedelta

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType


@typed_reader
def hybrid(
    spark: SparkSession,
    *,
    parts: Mapping[str, str],
    sources: str | Sequence[str],
    seam_column: str | None = None,
    seam_time: str | datetime | None = None,
    seam_disorder: str | int | timedelta | None = None,
    seam_offsets: str | Mapping[str, Any] | None = None,
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
    schema: str | StructType | None = None,
) -> DataFrame:
    """Read a chain of sources as a stream.

    The same as ``spark.readStream.format("headwater").option("source", "hybrid")`` with the
    options that the arguments are named after, and ``load()``. See docs/hybrid.md.

    Args:
        spark: the session.
        parts: Options of the parts, by their whole names: `{'history.source': 'files', 'live.subscribe':
            'orders'}`.
        sources: The names of the parts, in the order in which they are read, such as `history,live`. Each
            has the options of its source with the name before them: `history.source=files`,
            `history.path`, `live.subscribe`.
        seam_column: The column of the type timestamp that decides, row by row, which part a row belongs
            to. (``seamColumn``)
        seam_time: Rows before this time come from the parts before the last one, all others from the last
            one: a time such as `2024-05-01T12:00:00Z`; without a zone it is in UTC. (``seamTime``)
        seam_disorder: With `seamTime`: Kafka is read from so much before it on. No row at or after it may
            be in a record whose own timestamp is earlier by more. Default: `1h`. (``seamDisorder``)
        seam_offsets: Instead of a time: where Kafka begins, as JSON such as `{"orders": {"0": 1200}}`; or
            `end`: where the parts before end, by the footers of their Parquet files. (``seamOffsets``)
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
        schema: the whole frame's, where the source takes one (``.schema(...)``).

    Raises:
        OptionError: an argument is missing, is none of this function, or is of another type.
    """
    return load_stream("hybrid", locals())
