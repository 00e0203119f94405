"""The columns of Spark's Kafka source, as Arrow types that Spark takes without a cast."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from headwater.readers.formats.decoded_part import DecodedPart, is_spread, part_of

HEADERS_TYPE = pa.list_(
    pa.field("element", pa.struct([pa.field("key", pa.string()), pa.field("value", pa.binary())]))
)

_FIELDS: dict[str, pa.Field[Any]] = {
    "key": pa.field("key", pa.binary()),
    "value": pa.field("value", pa.binary()),
    "topic": pa.field("topic", pa.string()),
    "partition": pa.field("partition", pa.int32()),
    "offset": pa.field("offset", pa.int64()),
    "timestamp": pa.field("timestamp", pa.timestamp("us", tz="UTC")),
    "timestampType": pa.field("timestampType", pa.int32()),
    "headers": pa.field("headers", HEADERS_TYPE),
}

KAFKA_COLUMNS = tuple(_FIELDS)
"""All names in Spark's order. ``headers`` is last; Spark has it only with ``includeHeaders``."""


def kafka_schema(columns: Sequence[str]) -> pa.Schema:
    """Return the schema of these columns, in this order. Every column is nullable, as in Spark.

    ``timestampType`` is 0 for the producer's time and 1 for the broker's. It is -1 if the record format has
    no time (v0); the timestamp is -1 ms then. ``headers`` is null for a record without headers.

    Raises:
        KeyError: there is no such column. The options have been checked before this is called.
    """
    return pa.schema([_FIELDS[name] for name in columns])


def row_schema(columns: Sequence[str], parts: Mapping[str, DecodedPart]) -> pa.Schema:
    """Return the schema of rows in which keys or values may be decoded.

    Args:
        columns: names of Kafka's columns, in the order of the row. ``key.*`` and ``value.*`` stand for all
            columns of a decoded part, each as one of the row. ``key`` and ``value`` are one column: a struct
            of those columns, if the part is decoded and its format makes more than a single value.
        parts: ``key``, ``value`` or both, if they are decoded.
    """
    return pa.schema([field for name in columns for field in _fields(name, parts.get(part_of(name)))])


def _fields(column: str, part: DecodedPart | None) -> Sequence[pa.Field[Any]]:
    if part is None:
        return [_FIELDS[column]]
    made = part.format.schema()
    if is_spread(column):
        return [field.with_name(part.prefix + field.name) for field in made]
    if part.format.is_single_value:
        return [made.field(0).with_name(column)]
    return [pa.field(column, pa.struct(list(made)))]
