"""What typed readers do: write their arguments as options, and load."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from headwater.connector.program_arguments import checked_mapping, checked_session, misfit
from headwater.connector.readable import readable
from headwater.connector.typed.arguments import Argument, arguments_of
from headwater.connector.typed.misuse import misuse
from headwater.core.source import Boundedness

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, DataFrameReader
    from pyspark.sql.streaming.readwriter import DataStreamReader
    from pyspark.sql.types import StructType

P = ParamSpec("P")
T = TypeVar("T")


def typed_reader(function: Callable[P, T]) -> Callable[P, T]:
    """Decorate a typed reader: a slip in the names of its arguments is told with what is meant."""
    signature = inspect.signature(function)

    @readable
    @wraps(function)
    def called(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            signature.bind(*args, **kwargs)
        except TypeError:
            raise misuse(function.__module__, len(args), kwargs) from None
        return function(*args, **kwargs)

    return called


@readable
def load_batch(source: str, given: Mapping[str, Any]) -> DataFrame:
    """Return the frame of ``spark.read``.

    Args:
        source: as ``option("source", ...)`` has it.
        given: the session as ``spark``, ``schema``, and a value for each argument: None if it was not given.

    Raises:
        OptionError: a value is of another type than its argument.
    """
    reader = checked_session(given["spark"]).read.format("headwater")
    reader = reader.options(**_options(source, Boundedness.BOUNDED, given))
    return _loaded(reader, given["schema"])


@readable
def load_stream(source: str, given: Mapping[str, Any]) -> DataFrame:
    """Return the frame of ``spark.readStream``. As `load_batch` otherwise."""
    reader = checked_session(given["spark"]).readStream.format("headwater")
    reader = reader.options(**_options(source, Boundedness.CONTINUOUS_UNBOUNDED, given))
    return _loaded(reader, given["schema"])


def _loaded(reader: DataFrameReader | DataStreamReader, schema: str | StructType | None) -> DataFrame:
    if schema is None:
        return reader.load()
    if not isinstance(schema, str) and not hasattr(schema, "json"):
        raise misfit("schema", "Spark's DDL, or a StructType", schema)
    return reader.schema(schema).load()


def _options(source: str, boundedness: Boundedness, given: Mapping[str, Any]) -> dict[str, str]:
    options = {"source": source}
    for argument in arguments_of(source, boundedness):
        options.update(_written(argument, given[argument.name]))
    return options


def _written(argument: Argument, value: Any) -> Iterator[tuple[str, str]]:
    """Yield the options that an argument sets: none if it was not given."""
    if value is None:
        if argument.required:
            raise misfit(argument.name, "given", value, f": {argument.help}")
        return
    if argument.option and not argument.option.endswith("."):
        yield argument.option, argument.kind.text(value, argument.name)
        return
    for rest, each in checked_mapping(value, argument.name).items():
        yield f"{argument.option}{rest}", argument.kind.text(each, f"{argument.name}.{rest}")
