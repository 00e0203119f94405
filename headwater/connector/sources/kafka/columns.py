"""The columns of Spark's Kafka source as Spark's types, and the options that choose among them.

`headwater.readers.kafka.columns` has the same as Arrow types. With these a query is analysed without pyarrow
and numpy, which take longer to load than everything else that this step needs.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from headwater.connector.options import Option, ParsedOptions, boolean, names
from headwater.core.errors import OptionError

KAFKA_TYPE: Final = StructType(
    [
        StructField("key", BinaryType()),
        StructField("value", BinaryType()),
        StructField("topic", StringType()),
        StructField("partition", IntegerType()),
        StructField("offset", LongType()),
        StructField("timestamp", TimestampType()),
        StructField("timestampType", IntegerType()),
        StructField(
            "headers",
            ArrayType(StructType([StructField("key", StringType()), StructField("value", BinaryType())])),
        ),
    ]
)
"""All columns in Spark's order; ``headers`` comes last, and only where it is asked for."""

_COLUMNS: Final = Option(
    "columns",
    names,
    None,
    "Only these columns, in this order: what is not asked for is not decoded, copied or handed over.",
    shown_default="all",
)
_INCLUDE_HEADERS: Final = Option("includeHeaders", boolean, False, "Whether there is a column `headers`.")

COLUMN_OPTIONS: Final = (_COLUMNS, _INCLUDE_HEADERS)


def chosen_columns(options: ParsedOptions) -> tuple[str, ...]:
    """Return the names of the columns as Spark spells them, in the order that was asked for.

    Raises:
        OptionError: there is no such column, or one comes twice.
    """
    every = KAFKA_TYPE.names
    columns = options[_COLUMNS]
    if columns is None:
        return tuple(every if options[_INCLUDE_HEADERS] else every[:-1])
    by_lower = {name.lower(): name for name in every}
    if unknown := [name for name in columns if name.lower() not in by_lower]:
        raise OptionError(
            f"{unknown[0]!r} is not a column of the kafka source; there are {', '.join(every)}",
            option=_COLUMNS.name,
        )
    found = tuple(by_lower[name.lower()] for name in columns)
    if twice := [name for at, name in enumerate(found) if name in found[:at]]:
        raise OptionError(f"{twice[0]!r} comes twice", option=_COLUMNS.name)
    return found
