"""The columns of Spark's Kafka source as Spark's types, and the options that choose among them.

`headwater.readers.kafka.columns` has the same as Arrow types. With these a query is analysed without pyarrow
and numpy, which take longer to load than everything else that this step needs.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
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

from headwater.connector.formats.settings import PartSettings
from headwater.connector.options import ParsedOptions
from headwater.core.errors import OptionError
from headwater.core.options import Option, boolean, names
from headwater.readers.formats.format import is_spread, part_of

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
    "Only these columns, in this order: what is not asked for is not decoded, copied or handed over. With "
    "`valueFormat` or `keyFormat`, `value.*` and `key.*` are all columns of the value and the key.",
    shown_default="all",
)
_INCLUDE_HEADERS: Final = Option("includeHeaders", boolean, False, "Whether there is a column `headers`.")

COLUMN_OPTIONS: Final = (_COLUMNS, _INCLUDE_HEADERS)


def chosen_columns(options: ParsedOptions, decoded: Collection[str]) -> tuple[str, ...]:
    """Return the names of the columns as Spark spells them, in the order that was asked for.

    Args:
        options: the user's.
        decoded: ``key``, ``value`` or both, if a format decodes them: ``key.*`` and ``value.*`` stand for all
            of their columns then.

    Raises:
        OptionError: there is no such column, or one comes twice.
    """
    every = KAFKA_TYPE.names
    columns = options[_COLUMNS]
    if columns is None:
        return tuple(every if options[_INCLUDE_HEADERS] else every[:-1])
    by_lower = {name.lower(): name for name in [*every, *(f"{part}.*" for part in decoded)]}
    if unknown := [name for name in columns if name.lower() not in by_lower]:
        part = part_of(unknown[0].lower())
        needs = f" without option '{part}Format'" if part in {"key", "value"} else ""
        raise OptionError(
            f"{unknown[0]!r} is not a column of the kafka source{needs}; there are "
            f"{', '.join(by_lower.values())}",
            option=_COLUMNS.name,
        )
    names = tuple(by_lower[name.lower()] for name in columns)
    if twice := [name for at, name in enumerate(names) if name in names[:at]]:
        raise OptionError(f"{twice[0]!r} comes twice", option=_COLUMNS.name)
    return names


def row_type(columns: Sequence[str], parts: Mapping[str, PartSettings]) -> StructType:
    """Return the schema of a row: that of `headwater.readers.kafka.columns.row_schema`, for Spark.

    Raises:
        OptionError: two columns have one name, or a prefix counts for nothing.
    """
    for part, settings in parts.items():
        if settings.prefix and f"{part}.*" not in columns:
            raise OptionError(f"requires '{part}.*' in option 'columns'", option=f"{part}Prefix")
    fields: list[tuple[StructField, str]] = []
    for name in columns:
        part = part_of(name)
        fields += [(field, part) for field in _fields(name, parts.get(part))]
    owners: dict[str, str] = {}
    for field, part in fields:
        lower = field.name.lower()
        if lower in owners:
            raise OptionError(
                f"two columns are called {field.name!r}, one of {owners[lower]!r} and one of {part!r}: set a "
                "prefix that tells them apart",
                option=f"{part if f'{part}.*' in columns else owners[lower]}Prefix",
            )
        owners[lower] = part
    return StructType([field for field, _ in fields])


def _fields(column: str, part: PartSettings | None) -> Sequence[StructField]:
    if part is None:
        return [KAFKA_TYPE[column]]
    if is_spread(column):
        return [StructField(part.prefix + field.name, field.dataType) for field in part.columns.fields]
    return [StructField(column, part.columns.fields[0].dataType if part.is_single_value else part.columns)]
