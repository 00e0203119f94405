"""The user's options of an operator, checked on the driver, and its description for the tasks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from operator import itemgetter
from typing import Any, TypeVar

from pyspark.sql import DataFrame
from pyspark.sql.types import ArrayType, MapType, StructType

from headwater.connector.async_io.limits import check_positive, task_limits
from headwater.connector.async_io.metrics import AsyncMetrics
from headwater.connector.async_io.options import AsyncOptions
from headwater.connector.async_io.pickling import check_picklable, derived_id
from headwater.connector.async_io.results import ResultFields, ResultFormat
from headwater.connector.async_io.schemas import (
    arrow_schema,
    check_columns,
    output_schema,
    result_schema,
)
from headwater.connector.async_io.task import QUEUE_BYTES, AsyncWait
from headwater.core.errors import OptionError, nearest
from headwater.core.options import duration_ms
from headwater.readers.async_io.async_wait_operator import AsyncWaitOperator
from headwater.readers.async_io.function_calls import as_function, function_name
from headwater.readers.async_io.settings import (
    AsyncSettings,
    Batching,
    CacheSettings,
    CircuitBreakerSettings,
    OnFailure,
    OutputMode,
    RateLimit,
    RetryPolicy,
    whole_row,
)

_CARRIED_BYTES = 64 << 20
_NO_KEYS = (ArrayType, MapType, StructType)
ChoiceT = TypeVar("ChoiceT", bound=Enum)


@dataclass(frozen=True, kw_only=True)
class Planned:
    """An operator, ready to be put into Spark's plan.

    Attributes:
        wait: is sent to the tasks.
        output: the columns of the output.
        tasks: partitions at most; None if nothing is limited.
        carried_bytes: bytes of input rows that a task carries over at most.
    """

    wait: AsyncWait
    output: StructType
    tasks: int | None
    carried_bytes: int


def plan(
    df: DataFrame,
    function: Any,
    mode: OutputMode,
    *,
    schema: str | StructType,
    timeout: str | None,
    capacity: int,
    options: AsyncOptions,
    most_tasks: int | None = None,
) -> Planned:
    """Check everything that can be checked on the driver.

    Args:
        df: the input.
        function: of the user.
        mode: in which order results come out.
        schema: of the results.
        timeout: of a row.
        capacity: of a task.
        options: all others.
        most_tasks: as in `task_limits`.

    Raises:
        OptionError: something does not fit; the message names the option.
    """
    _check_names(options)
    _check_types(capacity, options)
    _check_uses(options)
    function = as_function(function)
    columns, key_columns = _columns(df, mode, options)
    on_failure = _choice(OnFailure, options.get("on_failure", "fail"), "on_failure")
    error_column = options.get("error_column", "error") if on_failure is OnFailure.ERROR_COLUMN else None
    fields = _choice(ResultFields, options.get("result_fields", "exact"), "result_fields")
    rescue_column = options.get("rescue_column", "rescued") if fields is ResultFields.RESCUE else None
    extra = [name for name in (rescue_column, error_column) if name is not None]
    result = result_schema(schema, extra)
    keep_input = options.get("keep_input", True)
    limits = task_limits(df, capacity, options, most_tasks)
    queue_bytes = options.get("queue_bytes", QUEUE_BYTES)
    check_positive(queue_bytes, "queue_bytes")
    timeout_ms = milliseconds(timeout, "timeout") if timeout is not None else None
    check_positive(timeout_ms, "timeout")
    settings = AsyncSettings(
        mode=mode,
        key=itemgetter(*map(columns.index, key_columns)) if mode is OutputMode.KEYED else None,
        capacity=limits.capacity,
        queue_size=options.get("queue_size"),
        timeout_ms=timeout_ms,
        retry=options.get("retry"),
        on_failure=on_failure,
        batching=options.get("batching"),
        rate_limit=limits.rate_limit,
        circuit_breaker=options.get("circuit_breaker"),
        cache=_cache(df, columns, options.get("cache")),
        block_warning_ms=milliseconds(options.get("block_warning", "1s"), "block_warning"),
        close_timeout_ms=milliseconds(options.get("close_timeout", "10s"), "close_timeout"),
    )
    check_picklable(function, function_name(function))
    check_picklable(settings, "a setting")
    wait = AsyncWait(
        function=function,
        settings=settings,
        share_id=options.get("share_id") or derived_id(function, settings, columns),
        columns=columns,
        key_columns=key_columns,
        kept_columns=df.columns if keep_input else (),
        results=ResultFormat(
            schema=arrow_schema(result),
            fields=fields,
            rescue_column=rescue_column,
            error_column=error_column,
            on_failure=on_failure,
            time_zone=str(df.sparkSession.conf.get("spark.sql.session.timeZone")),
        ),
        queue_bytes=queue_bytes,
        metrics=options.get("metrics"),
    )
    # Proves that function and settings fit together; opens nothing.
    AsyncWaitOperator(function, settings, share_id=wait.share_id)
    output = output_schema(df, result, rescue_column, error_column, keep_input=keep_input)
    carried_bytes = options.get("carried_bytes", _CARRIED_BYTES)
    check_positive(carried_bytes, "carried_bytes")
    return Planned(wait=wait, output=output, tasks=limits.tasks, carried_bytes=carried_bytes)


def milliseconds(value: str, option: str) -> int:
    """Return a duration such as ``500ms`` or ``5s`` in milliseconds.

    Raises:
        OptionError: it has another type.
    """
    try:
        return duration_ms(value)
    except (ValueError, AttributeError) as error:
        raise OptionError(
            f"must be a duration such as '500ms' or '5s', and is {value!r}", option=option
        ) from error


def _columns(df: DataFrame, mode: OutputMode, options: AsyncOptions) -> tuple[list[str], list[str]]:
    """Return the columns that the function gets, and the columns that name a row."""
    columns = check_columns(df, options.get("columns", df.columns), "columns")
    if not columns:
        raise OptionError("must name at least one column", option="columns")
    key_columns = check_columns(df, options.get("key_columns", ()), "key_columns")
    unhashable = [name for name in key_columns if isinstance(df.schema[name].dataType, _NO_KEYS)]
    if mode is OutputMode.KEYED and unhashable:
        raise OptionError(f"{unhashable[0]!r} cannot be a key: it is nested; name its members", option="keys")
    if mode is OutputMode.KEYED and not set(key_columns) <= set(columns):
        raise OptionError("must be among the columns that the function gets", option="keys")
    return columns, key_columns


def _check_names(names: Iterable[str]) -> None:
    settings = list(AsyncOptions.__annotations__)
    for name in names:
        if name not in settings:
            near = nearest(name, settings)
            hint = f"did you mean {near!r}?" if near else ", ".join(settings)
            raise OptionError(f"is not known; {hint}", option=name)


def _check_types(capacity: int, options: AsyncOptions) -> None:
    """Check the types of options, as Python's type checkers would."""
    types: dict[str, type] = {
        "retry": RetryPolicy,
        "batching": Batching,
        "rate_limit": RateLimit,
        "circuit_breaker": CircuitBreakerSettings,
        "cache": CacheSettings,
        "metrics": AsyncMetrics,
        "max_concurrent_requests": int,
        "parallelism": int,
        "queue_size": int,
        "queue_bytes": int,
        "carried_bytes": int,
        "keep_input": bool,
        "error_column": str,
        "rescue_column": str,
        "share_id": str,
    }
    settings: dict[str, Any] = {"capacity": capacity, **options}
    for option, kind in {"capacity": int, **types}.items():
        value = settings.get(option)
        is_flag_for_number = kind is int and isinstance(value, bool)
        if value is not None and (not isinstance(value, kind) or is_flag_for_number):
            raise OptionError(f"must be of type {kind.__name__}, and is {value!r}", option=option)


def _check_uses(options: AsyncOptions) -> None:
    """Check that no option is given that means nothing beside the others."""
    if "error_column" in options and options.get("on_failure") != "error_column":
        raise OptionError("means nothing without on_failure='error_column'", option="error_column")
    if "rescue_column" in options and options.get("result_fields") != "rescue":
        raise OptionError("means nothing without result_fields='rescue'", option="rescue_column")


def _choice(choices: type[ChoiceT], value: str, option: str) -> ChoiceT:
    try:
        return choices(value)
    except ValueError:
        names = ", ".join(str(each.value) for each in choices)
        raise OptionError(f"must be one of {names}, and is {value!r}", option=option) from None


def _cache(df: DataFrame, columns: Sequence[str], cache: CacheSettings | None) -> CacheSettings | None:
    unhashable = [name for name in columns if isinstance(df.schema[name].dataType, _NO_KEYS)]
    if cache is not None and cache.key is whole_row and unhashable:
        names = ", ".join(map(repr, unhashable))
        raise OptionError(f"needs a key of its own: {names} cannot be part of one", option="cache")
    return cache
