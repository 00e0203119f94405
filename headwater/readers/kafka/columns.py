"""The columns of Spark's Kafka source: Arrow types that Spark takes without a cast, and arrays of them.

Arrays are made of filled buffers without a copy, and keep their memory alive.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from headwater.readers.formats.format import DecodedPart, is_spread, part_of
from headwater.readers.kafka.layout import BinaryBuffers, HeadersBuffers
from headwater.readers.kernels.arrays import ByteArray

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

_HALF_PAIR = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]?")
_REPLACEMENT = "\ufffd".encode()
_MOST_TOPICS = 4
_MOST_REPEATED_ROWS = 1 << 16

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
    schema = part.format.schema()
    if is_spread(column):
        return [field.with_name(part.prefix + field.name) for field in schema]
    if part.format.is_single_value:
        return [schema.field(0).with_name(column)]
    return [pa.field(column, pa.struct(list(schema)))]


def fixed(kind: pa.DataType, values: npt.NDArray[Any]) -> pa.Array[Any]:
    """Return an array of numbers or times without nulls."""
    return pa.Array.from_buffers(kind, len(values), [None, pa.py_buffer(values.data)], 0)


def binary(kind: pa.DataType, rows: int, buffers: BinaryBuffers, nulls: int) -> pa.Array[Any]:
    """Return an array of bytes or strings; it has no validity buffer if it has no nulls."""
    offsets = buffers.offsets[: rows + 1]
    values = buffers.data[: buffers.offsets[rows]]
    parts = [_validity(buffers.validity, rows, nulls), pa.py_buffer(offsets.data), pa.py_buffer(values.data)]
    return pa.Array.from_buffers(kind, rows, parts, nulls)


def headers(rows: int, buffers: HeadersBuffers, headerless: int, null_values: int) -> pa.Array[Any]:
    """Return the lists of headers; a record without headers has null, as in Spark."""
    count = int(buffers.offsets[rows])
    keys = _utf8(binary(pa.string(), count, buffers.key, 0))
    entries = pa.Array.from_buffers(
        HEADERS_TYPE.value_type,
        count,
        [None],
        0,
        children=[keys, binary(pa.binary(), count, buffers.value, null_values)],
    )
    parts = [_validity(buffers.validity, rows, headerless), pa.py_buffer(buffers.offsets[: rows + 1].data)]
    return pa.Array.from_buffers(HEADERS_TYPE, rows, parts, headerless, children=[entries])


def _validity(bits: ByteArray, rows: int, nulls: int) -> pa.Buffer | None:
    return pa.py_buffer(bits[: (rows + 7) >> 3].data) if nulls else None


def _utf8(keys: pa.Array[Any]) -> pa.Array[Any]:
    """Return header keys with U+FFFD in the place of bytes that are not UTF-8, as in Java's client.

    Spark relies on strings being valid.
    """
    try:
        keys.validate(full=True)
    except pa.ArrowInvalid:
        return pa.array(
            [_as_java_decodes(key or b"") for key in keys.cast(pa.binary()).to_pylist()], pa.string()
        )
    return keys


def _as_java_decodes(key: bytes) -> str:
    """Java and Python put as many U+FFFD, but for half a surrogate pair: one in Java, two or three here."""
    return _HALF_PAIR.sub(_REPLACEMENT, key).decode("utf-8", "replace")


class TopicColumn:
    """Makes the column ``topic``: the topic's name in each row.

    A few topics are remembered with their names repeated, and each batch takes a slice of that.
    """

    def __init__(self) -> None:
        self._repeated: dict[str, pa.Array[Any]] = {}

    def column(self, topics: Sequence[str], rows: Sequence[int]) -> pa.Array[Any]:
        """Return each of these topics as many times as it has rows, in this order."""
        if len(set(topics)) == 1:
            return self._one(topics[0], sum(rows))
        return pa.concat_arrays([self._one(topic, count) for topic, count in zip(topics, rows, strict=True)])

    def _one(self, topic: str, rows: int) -> pa.Array[Any]:
        # Taken out and put in again at the end: the topic that was used longest ago is the first.
        repeated = self._repeated.pop(topic, None)
        if repeated is None or len(repeated) < rows:
            repeated = _repeated(topic, 1 << (rows - 1).bit_length())
        if len(repeated) <= _MOST_REPEATED_ROWS:
            self._repeated[topic] = repeated
        if len(self._repeated) > _MOST_TOPICS:
            del self._repeated[next(iter(self._repeated))]
        return repeated.slice(0, rows)


def _repeated(text: str, times: int) -> pa.Array[Any]:
    """Return an array of the same string, this many times.

    ``pa.repeat`` would import pandas to make a scalar: a tenth of a second in each new worker.
    """
    encoded = text.encode()
    ends = np.arange(0, times * len(encoded) + 1, len(encoded), dtype=np.int32)
    return pa.Array.from_buffers(
        pa.string(), times, [None, pa.py_buffer(ends.data), pa.py_buffer(encoded * times)], 0
    )
