"""What a user said about an operator, checked on the driver, and what is sent to the tasks."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from headwater.connector.async_io.limits import TaskLimits, default_parallelism, divided_limits
from headwater.connector.async_io.options import AsyncOptions
from headwater.connector.async_io.pickling import check_picklable
from headwater.connector.async_io.schemas import (
    arrow_schema,
    check_columns,
    is_hashable,
    output_schema,
    result_schema,
)
from headwater.connector.async_io.task import AsyncWait
from headwater.connector.options import duration_ms
from headwater.core.errors import OptionError, nearest
from headwater.readers.async_io.async_wait_operator import AsyncWaitOperator
from headwater.readers.async_io.given_function import as_function, function_name
from headwater.readers.async_io.settings import (
    AsyncSettings,
    CacheSettings,
    OnFailure,
    OutputMode,
    whole_row,
)


@dataclass(frozen=True, kw_only=True)
class Planned:
    """An operator, ready to be put into Spark's plan.

    Attributes:
        wait: what is sent to the tasks.
        output: the columns of the output.
        tasks: partitions at most; None if nothing is limited.
    """

    wait: AsyncWait
    output: StructType
    tasks: int | None


def plan(
    df: DataFrame,
    function: Any,
    mode: OutputMode,
    *,
    schema: str | StructType,
    timeout: str | None,
    capacity: int,
    options: AsyncOptions,
) -> Planned:
    """Check everything that can be checked on the driver.

    Raises:
        OptionError: something does not fit; the message names the option.
    """
    _check_names(options)
    function = as_function(function)
    columns, key_columns = _columns(df, mode, options)
    on_failure = _on_failure(options.get("on_failure", "fail"))
    error_column = options.get("error_column", "error") if on_failure is OnFailure.ERROR_COLUMN else None
    result = result_schema(schema, error_column)
    keep_input = options.get("keep_input", True)
    limits = _task_limits(df, capacity, options)
    settings = AsyncSettings(
        mode=mode,
        key=itemgetter(*map(columns.index, key_columns)) if mode is OutputMode.KEYED else None,
        capacity=limits.capacity,
        queue_size=options.get("queue_size"),
        timeout_ms=milliseconds(timeout, "timeout") if timeout is not None else None,
        retry=options.get("retry"),
        on_failure=on_failure,
        batching=options.get("batching"),
        rate_limit=limits.rate_limit,
        circuit_breaker=options.get("circuit_breaker"),
        cache=_cache(df, columns, options.get("cache")),
        block_warning_ms=milliseconds(options.get("block_warning", "1s"), "block_warning"),
    )
    wait = AsyncWait(
        function=function,
        settings=settings,
        share_id=str(uuid.uuid4()),
        columns=columns,
        key_columns=key_columns,
        kept=df.columns if keep_input else (),
        result_schema=arrow_schema(result),
        error_column=error_column,
        metrics=options.get("metrics"),
    )
    _check_sendable(wait)
    output = output_schema(df, result, error_column, keep_input=keep_input)
    return Planned(wait=wait, output=output, tasks=limits.tasks)


def milliseconds(value: str, option: str) -> int:
    """Return a duration such as ``500ms`` or ``5s`` in milliseconds.

    Raises:
        OptionError: it is none.
    """
    try:
        return duration_ms(value)
    except (ValueError, AttributeError) as error:
        raise OptionError(
            f"must be a duration such as '500ms' or '5s', and is {value!r}", option=option
        ) from error


def _columns(df: DataFrame, mode: OutputMode, options: AsyncOptions) -> tuple[list[str], list[str]]:
    """Return the columns that the function gets, and those that name a row."""
    columns = check_columns(df, options.get("columns", df.columns), "columns")
    if not columns:
        raise OptionError("must name at least one column", option="columns")
    key_columns = check_columns(df, options.get("key_columns", ()), "key_columns")
    if mode is OutputMode.KEYED and not set(key_columns) <= set(columns):
        raise OptionError("must be among the columns that the function gets", option="keys")
    return columns, key_columns


def _check_sendable(wait: AsyncWait) -> None:
    """Prove that function and settings fit together, and can be pickled."""
    AsyncWaitOperator(wait.function, wait.settings, share_id=wait.share_id)  # opens nothing
    check_picklable(wait.function, function_name(wait.function))
    check_picklable(wait.settings, "a setting")


def _check_names(names: Iterable[str]) -> None:
    known = list(AsyncOptions.__annotations__)
    for name in names:
        if name not in known:
            near = nearest(name, known)
            hint = f"did you mean {near!r}?" if near else ", ".join(known)
            raise OptionError(f"is not known; {hint}", option=name)


def _on_failure(value: str) -> OnFailure:
    try:
        return OnFailure(value)
    except ValueError:
        known = ", ".join(each.value for each in OnFailure)
        raise OptionError(f"must be one of {known}, and is {value!r}", option="on_failure") from None


def _task_limits(df: DataFrame, capacity: int, options: AsyncOptions) -> TaskLimits:
    limit = options.get("max_concurrent_requests")
    rate_limit = options.get("rate_limit")
    parallelism = options.get("parallelism")
    if parallelism is None:
        # Spark is asked only where it matters: Spark Connect does not know.
        parallelism = default_parallelism(df) if limit is not None or rate_limit is not None else 1
    return divided_limits(
        capacity=capacity, max_concurrent_requests=limit, rate_limit=rate_limit, parallelism=parallelism
    )


def _cache(df: DataFrame, columns: Sequence[str], cache: CacheSettings | None) -> CacheSettings | None:
    unhashable = [name for name in columns if not is_hashable(df.schema[name].dataType)]
    if cache is not None and cache.key is whole_row and unhashable:
        names = ", ".join(map(repr, unhashable))
        raise OptionError(f"needs a key of its own: {names} cannot be part of one", option="cache")
    return cache
