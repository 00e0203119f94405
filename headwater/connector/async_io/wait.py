"""``unordered_wait``, ``ordered_wait``, ``keyed_wait``: the operator on DataFrames; ``split_failures``."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Unpack

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit
from pyspark.sql.types import StructType

from headwater.connector.async_io.options import AsyncOptions
from headwater.connector.compat import map_in_arrow, quoted
from headwater.connector.program_arguments import checked_frame, checked_names
from headwater.connector.readable import readable
from headwater.core.errors import OptionError
from headwater.core.imports import require
from headwater.readers.async_io.settings import OutputMode

if TYPE_CHECKING:
    from headwater.connector.async_io.plan import Planned


@readable
def unordered_wait(
    df: DataFrame,
    function: Any,
    *,
    schema: str | StructType,
    timeout: str | None = "5m",
    capacity: int = 100,
    carry_over: str | None = None,
    event_time: str | None = None,
    delay: str | None = None,
    **options: Unpack[AsyncOptions],
) -> DataFrame:
    """Enrich each row by asking a slow service, many at once; results come out as they complete.

    Flink's ``AsyncDataStream.unorderedWait``.

    ::

        class LookupCustomer(hw.async_io.AsyncFunction):
            async def open(self, context):
                self.session = aiohttp.ClientSession()
            async def close(self):
                await self.session.close()
            async def async_invoke(self, row):
                async with self.session.get(f"http://crm/customers/{row.customer_id}") as answer:
                    return await answer.json()          # {"name": ..., "tier": ...}

        enriched = hw.unordered_wait(orders, LookupCustomer(), schema="name string, tier int", timeout="5s",
        capacity=100)

    Lazy, as any transformation; runs in the tasks of batches and streams. A task that is run again asks
    again: calls may be repeated, results are not.

    Args:
        df: the input, batch or stream.
        function: an `AsyncFunction`, `AsyncBatchFunction`, `AsyncArrowFunction`, `CallbackFunction` or
            `BlockingFunction`; or an ``async def`` function of a row; or a ``def`` function of a row, which
            runs on threads. A row is a `pyspark.sql.Row`, its nested values as pyarrow's ``to_pylist`` makes
            them. A result is a mapping, a tuple, a Row, a dataclass or a record; a list of these for many
            rows; None or an empty list for none.
        schema: the result columns, as DDL or StructType. All of them may be null, even where it says ``not
            null``. A value has its column's type, or one that Arrow takes without loss, or its row fails.
        timeout: from the start of a row's first attempt, over all attempts. None: no timeout.
        capacity: calls that a task makes at the same time.
        carry_over: in a stream, how long a micro-batch waits for calls when it can ask no more; rows that are
            then unfinished go into Spark's state and are asked again in the next batch, before its own rows
            and in their order, every result coming out once. Needs the RocksDB state store, and
            ``headwater[carry-over]`` installed. Queries that end by themselves (AvailableNow, Once) and batch
            frames wait until all is done. None: so does each micro-batch.
        event_time: with ``carry_over``: the timestamp column whose watermark the output is to have. No row is
            carried over that would be late when it comes out: a batch waits for it.
        delay: with ``event_time``: as in Spark's ``withWatermark``, which must not be called behind this.
        options: see `AsyncOptions`.

    Raises:
        OptionError: something does not fit: before anything runs.
        AsyncCallError: in a task: a call failed, or the function's `open`.
        ContractError: in a task: the function returned a result that does not fit the schema, or breaks its
            contract otherwise.
    """
    return _waiting(
        df,
        function,
        OutputMode.UNORDERED,
        schema=schema,
        timeout=timeout,
        capacity=capacity,
        options=options,
        carry_over=carry_over,
        event_time=event_time,
        delay=delay,
    )


@readable
def ordered_wait(
    df: DataFrame,
    function: Any,
    *,
    schema: str | StructType,
    timeout: str | None = "5m",
    capacity: int = 100,
    carry_over: str | None = None,
    event_time: str | None = None,
    delay: str | None = None,
    **options: Unpack[AsyncOptions],
) -> DataFrame:
    """Do as `unordered_wait` does, but in the order of the rows in each partition: Flink's ``orderedWait``.

    A slow call holds back others. With ``carry_over`` one task asks about all rows of a stream: partitions of
    two micro-batches have nothing in common, so an order that outlives a batch is that of all rows.
    """
    return _waiting(
        df,
        function,
        OutputMode.ORDERED,
        schema=schema,
        timeout=timeout,
        capacity=capacity,
        options=options,
        carry_over=carry_over,
        event_time=event_time,
        delay=delay,
    )


@readable
def keyed_wait(
    df: DataFrame,
    function: Any,
    *,
    keys: Sequence[str],
    schema: str | StructType,
    timeout: str | None = "5m",
    capacity: int = 100,
    carry_over: str | None = None,
    event_time: str | None = None,
    delay: str | None = None,
    **options: Unpack[AsyncOptions],
) -> DataFrame:
    """Do as `unordered_wait` does, but ask for rows of equal keys one after the other.

    Keys do not wait for each other.

    The frame is repartitioned by the keys, so that no two tasks have rows of the same key. A stream keeps the
    order of its batches; within one, Spark's shuffle decides in which order rows of different partitions
    arrive.

    Args:
        df: as there.
        function: as there.
        keys: input columns; also name a row in errors.
        schema: as there.
        timeout: as there.
        capacity: as there.
        carry_over: as there. A start with another number of state partitions is refused while rows are
            carried over: rows of a key would come to two tasks.
        event_time: as there.
        delay: as there.
        options: as there.
    """
    options["key_columns"] = checked_names(keys, "keys")
    return _waiting(
        df,
        function,
        OutputMode.KEYED,
        schema=schema,
        timeout=timeout,
        capacity=capacity,
        options=options,
        carry_over=carry_over,
        event_time=event_time,
        delay=delay,
    )


def _waiting(
    df: DataFrame,
    function: Any,
    mode: OutputMode,
    *,
    schema: str | StructType,
    timeout: str | None,
    capacity: int,
    options: AsyncOptions,
    carry_over: str | None,
    event_time: str | None,
    delay: str | None,
) -> DataFrame:
    # Imported late: it loads pyarrow, which a session that never uses this need not have.
    from headwater.connector.async_io.plan import plan

    checked_frame(df)
    planned = plan(
        df,
        function,
        mode,
        schema=schema,
        timeout=timeout,
        capacity=capacity,
        options=options,
        most_tasks=_most_tasks(df, mode) if carry_over is not None and df.isStreaming else None,
    )
    if carry_over is not None:
        from headwater.connector.async_io.carry_over.plan import carrying_over

        carried = carrying_over(df, planned, carry_over, event_time, delay)
        return _mapped(df, planned) if carried is None else carried
    if event_time is not None or delay is not None:
        raise OptionError("means nothing without carry_over: call withWatermark", option="event_time")
    if "carried_bytes" in options:
        raise OptionError("means nothing without carry_over", option="carried_bytes")
    return _mapped(df, planned)


def _most_tasks(df: DataFrame, mode: OutputMode) -> int:
    from headwater.connector.async_io.carry_over.plan import state_partitions

    return 1 if mode is OutputMode.ORDERED else state_partitions(df)


def _mapped(df: DataFrame, planned: Planned) -> DataFrame:
    # Spark's mapInArrow looks for it, and hands over Arrow alone.
    require("pandas", needed_for="asynchronous I/O", extra="async")
    if planned.wait.settings.mode is OutputMode.KEYED:
        df = df.repartition(*(df[quoted(key)] for key in planned.wait.key_columns))
    limited = df if planned.tasks is None else df.coalesce(planned.tasks)
    return map_in_arrow(limited, planned.wait.run, planned.output)


@readable
def split_failures(df: DataFrame, error_column: str = "error") -> tuple[DataFrame, DataFrame]:
    """Return the rows that have a result, without the error column, and the rows that failed, with it.

    Each of the two is a branch of its own: an action on both **makes every call twice**, unless the frame is
    cached (``df.persist()``), or written first. In a stream, do it in ``foreachBatch``::

        def write(batch: DataFrame, batch_id: int) -> None:
            batch.persist()
            good, failed = hw.split_failures(batch)
            ...
            batch.unpersist()

    Warns (`RuntimeWarning`) where that would happen: a frame that is not cached, or a stream.

    Args:
        df: the frame that `unordered_wait`, `ordered_wait` or `keyed_wait` returned with
            ``on_failure="error_column"``, or made from it.
        error_column: as it was given there.

    Raises:
        OptionError: there is no such column, or ``df`` is no frame.
    """
    checked_frame(df)
    if error_column not in df.columns:
        raise OptionError(
            f"{error_column!r} is no column of the frame; was on_failure='error_column' given?",
            option="error_column",
        )
    if df.isStreaming:
        warnings.warn(
            "both branches of a stream make all calls: split inside foreachBatch, on a persisted batch",
            RuntimeWarning,
            stacklevel=3,
        )
    elif not (df.storageLevel.useMemory or df.storageLevel.useDisk):
        warnings.warn(
            "the frame is not cached: an action on each branch makes all calls again; persist() it first",
            RuntimeWarning,
            stacklevel=3,
        )
    error = F.col(quoted(error_column))
    return df.where(error.isNull()).drop(error_column), df.where(error.isNotNull())
