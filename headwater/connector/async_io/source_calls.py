"""The asynchronous function of a query in barrier mode: found, checked, ready to be called in its tasks."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from operator import attrgetter
from typing import Any

import pyarrow as pa
from pyspark.sql.types import StructType

from headwater.connector import compat
from headwater.connector.async_io.epoch_calls import EpochCalls
from headwater.connector.async_io.pickling import derived_id
from headwater.connector.async_io.results import ERROR_TYPE, ResultFields, ResultFormat
from headwater.connector.async_io.source_options import SourceCallOptions
from headwater.connector.async_io.task import AsyncWait
from headwater.connector.formats.ddl import schema as parsed_schema
from headwater.readers.async_io.async_wait_operator import AsyncWaitOperator
from headwater.readers.async_io.function import AsyncArrowFunction, AsyncBatchFunction, Function
from headwater.readers.async_io.function_calls import as_function
from headwater.readers.async_io.settings import AsyncSettings, Batching, OnFailure, OutputMode, RetryPolicy

_ERROR_COLUMN = "error"
_RESCUE_COLUMN = "rescued"


@dataclass(frozen=True)
class SourceCalls:
    """The settings of a query about its calls. Picklable; opens nothing.

    Attributes:
        function: the user's.
        settings: per task.
        results: the result columns, and how results become them.
        queue_bytes: input rows that a task holds at most, in bytes of Arrow.
    """

    function: Function
    settings: AsyncSettings
    results: ResultFormat
    queue_bytes: int

    def output_schema(self, source: pa.Schema) -> pa.Schema:
        """Return the columns of the query: the source's, then the results'.

        Raises:
            OptionError: a result has a column that the source has too.
        """
        source_names = {name.lower() for name in source.names}  # as Spark compares names
        own_fields = self._added()
        for field in own_fields:
            if field.name.lower() in source_names:
                raise SourceCallOptions.refusal(
                    "schema",
                    f"names the column {field.name!r}, which the source has too: rename the result's",
                )
        return pa.schema([*source, *own_fields])

    def source_schema(self, output: pa.Schema) -> pa.Schema:
        """Return the columns of the source, of those of the query."""
        own_names = {field.name for field in self._added()}
        return pa.schema([field for field in output if field.name not in own_names])

    def create(self, source: pa.Schema) -> EpochCalls:
        """Return the calls of one task (`headwater.readers.runtime.epoch.calls.CreateCalls`)."""
        wait = AsyncWait(
            function=self.function,
            settings=self.settings,
            share_id=derived_id(self.function, self.settings, source.names),
            columns=source.names,
            key_columns=(),
            kept_columns=source.names,
            results=self.results,
            queue_bytes=self.queue_bytes,
        )
        return EpochCalls(wait, source)

    def _added(self) -> list[pa.Field[Any]]:
        fields = list(self.results.schema)
        if self.results.rescue_column is not None:
            fields.append(pa.field(self.results.rescue_column, pa.string()))
        if self.results.error_column is not None:
            fields.append(pa.field(self.results.error_column, ERROR_TYPE))
        return fields


def source_calls(options: SourceCallOptions) -> SourceCalls:
    """Return the settings that the options of a query give its calls.

    Args:
        options: with a function.

    Raises:
        OptionError: it cannot be imported or made, is no function, has no schema, or an option does not fit.
    """
    name = options.require("function", "")
    target = _imported(name)
    function = _made(target, name, options.arguments)
    on_failure = OnFailure(options.on_failure)
    size = options.batch_size
    settings = AsyncSettings(
        mode=OutputMode(options.order),
        capacity=options.capacity,
        queue_size=options.queue_size,
        timeout_ms=options.timeout_ms,
        retry=RetryPolicy.exponential(options.attempts, options.retry_delay_ms),
        on_failure=on_failure,
        batching=None if size is None else Batching(size=size),
    )
    _check_batching(function, size, name)
    AsyncWaitOperator(function, settings)  # proves that they fit together; opens nothing
    fields = ResultFields(options.result_fields)
    results = ResultFormat(
        schema=compat.arrow_schema(_schema(options.schema, target, name)),
        fields=fields,
        rescue_column=_RESCUE_COLUMN if fields is ResultFields.RESCUE else None,
        error_column=_ERROR_COLUMN if on_failure is OnFailure.ERROR_COLUMN else None,
        on_failure=on_failure,
    )
    return SourceCalls(function, settings, results, options.queue_bytes)


def _imported(name: str) -> Any:
    module, colon, attribute = name.partition(":")
    if not colon:
        raise SourceCallOptions.refusal("function", f"must be package.module:Class, not {name!r}")
    try:
        return attrgetter(attribute)(import_module(module))
    except (ImportError, AttributeError, ValueError) as error:
        raise SourceCallOptions.refusal(
            "function",
            f"{name!r} cannot be imported: {error}; the module must be installed where the driver and every "
            "executor find it",
        ) from error


def _made(target: Any, name: str, arguments: Mapping[str, Any] | None) -> Function:
    """Return the function: a class made with its arguments, or the object itself."""
    if not isinstance(target, type):
        if arguments is not None:
            raise SourceCallOptions.refusal("arguments", f"{name} is no class: it takes none")
        return _as_function(target, name)
    if inspect.isabstract(target):
        missing = ", ".join(sorted(target.__abstractmethods__))  # type: ignore[attr-defined]
        raise SourceCallOptions.refusal("function", f"the class {name} lacks {missing}")
    try:
        instance = target(**(arguments or {}))
    except Exception as error:
        raise SourceCallOptions.refusal(
            "function",
            f"the class {name} cannot be made: {type(error).__name__}: {error}; `asyncArguments` has what it "
            "takes, and clients are made in `open`",
        ) from error
    return _as_function(instance, name)


def _as_function(target: Any, name: str) -> Function:
    if not callable(target) and not isinstance(target, Function):
        raise SourceCallOptions.refusal(
            "function",
            f"{name} must be an AsyncFunction, AsyncBatchFunction, AsyncArrowFunction, CallbackFunction or "
            f"BlockingFunction, or a function of a row; got {type(target).__name__}",
        )
    return as_function(target)


def _check_batching(function: Function, size: int | None, name: str) -> None:
    if size is not None and not isinstance(function, AsyncBatchFunction | AsyncArrowFunction):
        raise SourceCallOptions.refusal("batch_size", f"{name} takes one row at a time")


def _schema(schema: StructType | None, target: Any, name: str) -> StructType:
    """Return the result columns that the option says, or else the class."""
    own: Any = getattr(target, "schema", None)
    if schema is None and own is None:
        raise SourceCallOptions.refusal(
            "schema", f'is required: {name} does not say its results, as schema = "name string, tier int"'
        )
    if schema is not None:
        return schema
    try:
        return own if isinstance(own, StructType) else parsed_schema(own)
    except (ValueError, TypeError, AttributeError) as error:
        raise SourceCallOptions.refusal("schema", f"the schema of {name}, {own!r}, {error}") from error
