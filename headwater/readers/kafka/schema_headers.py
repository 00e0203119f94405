"""Records that name the schema of their key or value in a header, as newer serializers of Confluent can.

Such a key or value has no id in front. Its first bytes may look like one all the same, so each record is
looked at: all records of a run at once, one header of each after the other. Most have none, which one byte of
each tells.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

import numpy as np

from headwater.readers.formats.format import Spans
from headwater.readers.kernels.arrays import ByteArray, Int64Array

_NAMES: Final[Mapping[str, bytes]] = {"key": b"__key_schema_id", "value": b"__value_schema_id"}
_MOST_VARINT_BYTES: Final = 5
_MOST_HEADERS: Final = 10_000


class SchemaHeader(NamedTuple):
    """The first record of a run that has such a header."""

    row: int
    name: str


def schema_header(part: str, spans: Spans) -> SchemaHeader | None:
    """Return the first record whose header names the schema of its key or value; None if there is none.

    Args:
        part: ``key`` or ``value``.
        spans: where the keys or values lie in records of format v2, whose headers are behind the value. What
            is null is passed over.
    """
    data = spans.data
    rows = np.flatnonzero(spans.sizes >= 0)
    at = spans.starts[rows] + spans.sizes[rows]
    if part == "key":
        sizes, at = _varints(data, at)
        at += np.maximum(sizes, 0)
    some = data[_inside(data, at)] != 0
    rows, at = rows[some], at[some]
    left, at = _varints(data, at)
    name = np.frombuffer(_NAMES[part], np.uint8)
    found = []
    for _ in range(_MOST_HEADERS):
        open_ = (left > 0) & (at < len(data))
        rows, at, left = rows[open_], at[open_], left[open_] - 1
        if not len(rows):
            break
        sizes, at = _varints(data, at)
        same = np.flatnonzero(sizes == len(name))
        if len(same):
            places = at[same][:, None] + np.arange(len(name))
            same = same[(data[_inside(data, places)] == name).all(axis=1)]
            found += rows[same[:1]].tolist()
        at += np.maximum(sizes, 0)
        sizes, at = _varints(data, at)
        at += np.maximum(sizes, 0)
    return SchemaHeader(min(found), _NAMES[part].decode()) if found else None


def _varints(data: ByteArray, at: Int64Array) -> tuple[Int64Array, Int64Array]:
    """Return the zigzag varints at these places, and where they end."""
    byte = data[_inside(data, at)].astype(np.int64)
    raw = byte & 0x7F
    ends = at + 1
    for shift in range(7, 7 * _MOST_VARINT_BYTES, 7):
        more = np.flatnonzero(byte & 0x80)
        if not len(more):
            break
        byte = np.zeros_like(byte)
        byte[more] = data[_inside(data, ends[more])]
        raw[more] |= (byte[more] & 0x7F) << shift
        ends[more] += 1
    return (raw >> 1) ^ -(raw & 1), ends


def _inside(data: ByteArray, at: Int64Array) -> Int64Array:
    """Return places inside of the data: broken headers, which nobody has checked, may lead anywhere."""
    return np.minimum(np.maximum(at, 0), len(data) - 1)
