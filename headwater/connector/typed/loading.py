"""What typed readers do: write their arguments as options, and load."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from headwater.connector.readable import readable
from headwater.connector.typed.arguments import Argument, arguments_of
from headwater.core.source import Boundedness

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@readable
def load_batch(source: str, given: Mapping[str, Any]) -> DataFrame:
    """Return the frame of ``spark.read``.

    Args:
        source: as ``option("source", ...)`` has it.
        given: the session as ``spark``, ``schema``, and a value for each argument: None if it was not given.

    Raises:
        OptionError: a value is of another type than its argument.
    """
    spark: SparkSession = given["spark"]
    reader = spark.read.format("headwater")
    reader = reader.options(**_options(source, Boundedness.BOUNDED, given))
    return reader.load() if given["schema"] is None else reader.schema(given["schema"]).load()


@readable
def load_stream(source: str, given: Mapping[str, Any]) -> DataFrame:
    """Return the frame of ``spark.readStream``. As `load_batch` otherwise."""
    spark: SparkSession = given["spark"]
    reader = spark.readStream.format("headwater")
    reader = reader.options(**_options(source, Boundedness.CONTINUOUS_UNBOUNDED, given))
    return reader.load() if given["schema"] is None else reader.schema(given["schema"]).load()


def _options(source: str, boundedness: Boundedness, given: Mapping[str, Any]) -> dict[str, str]:
    options = {"source": source}
    for argument in arguments_of(source, boundedness):
        options.update(_written(argument, given[argument.name]))
    return options


def _written(argument: Argument, value: Any) -> Iterator[tuple[str, str]]:
    """Yield the options that an argument sets: none if it was not given."""
    if value is None:
        return
    if argument.option and not argument.option.endswith("."):
        yield argument.option, argument.kind.text(value, argument.name)
        return
    for rest, each in value.items():
        yield f"{argument.option}{rest}", argument.kind.text(each, f"{argument.name}.{rest}")
