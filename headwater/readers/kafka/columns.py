"""The columns of Spark's Kafka source, as Arrow types that Spark takes without a cast."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

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
