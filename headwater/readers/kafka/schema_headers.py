"""Headers of records that name the schema of a key or value, as newer serializers of Confluent write them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

import numpy as np

from headwater.readers.formats.format import Spans
from headwater.readers.kernels.arrays import ByteArray, Int64Array

HEADER_NAMES: Final[Mapping[str, bytes]] = {"key": b"__key_schema_id", "value": b"__value_schema_id"}
_MOST_VARINT_BYTES: Final = 5
_MOST_HEADERS: Final = 10_000
_CHUNK_ROWS: Final = 4_096
"""So many values are moved at once: the places of their bytes take eight times the room of these."""


class SchemaHeaders(NamedTuple):
    """The headers that name schemas, of some records of a run.

    Attributes:
        rows: which records, ascending.
        starts: where the content of each header begins.
        sizes: how many bytes it has.
    """

    rows: Int64Array
    starts: Int64Array
    sizes: Int64Array


def schema_headers(part: str, spans: Spans) -> SchemaHeaders | None:
    """Return the headers that name the schemas of keys or values; None if there are none.

    All records of a run are searched at once, one header of each after the other. Most have none, which one
    byte of each tells. The last header of that name counts, as in Confluent's Java deserializers: a program
    that passes headers on adds its own behind them. One without content names nothing.

    Args:
        part: ``key`` or ``value``.
        spans: where the keys or values lie in records of format v2, whose headers are behind the value.
            Nulls are passed over.
    """
    data = spans.data
    rows = np.flatnonzero(spans.sizes >= 0)
    at = spans.starts[rows] + spans.sizes[rows]
    if part == "key":
        sizes, at = _varints(data, at)
        at += np.maximum(sizes, 0)
    some = data[_inside(data, at)] != 0
    rows, at = rows[some], at[some]
    remaining, at = _varints(data, at)
    name = np.frombuffer(HEADER_NAMES[part], np.uint8)
    groups: list[tuple[Int64Array, Int64Array, Int64Array]] = []
    for _ in range(_MOST_HEADERS):
        open_ = (remaining > 0) & (at < len(data))
        rows, at, remaining = rows[open_], at[open_], remaining[open_] - 1
        if not len(rows):
            break
        sizes, at = _varints(data, at)
        same = np.flatnonzero(sizes == len(name))
        if len(same):
            places = at[same][:, None] + np.arange(len(name))
            same = same[(data[_inside(data, places)] == name).all(axis=1)]
        at += np.maximum(sizes, 0)
        sizes, at = _varints(data, at)
        groups.append((rows[same], at[same], sizes[same]))
        at += np.maximum(sizes, 0)
    every = [np.concatenate(each) for each in zip(*groups, strict=True)] if groups else []
    if not every or not len(every[0]):
        return None
    rows, last = np.unique(every[0][::-1], return_index=True)
    starts, sizes = every[1][::-1][last], every[2][::-1][last]
    # Broken headers may lead behind the end.
    whole = (sizes >= 0) & (starts + sizes <= len(data))
    return SchemaHeaders(rows[whole], starts[whole], sizes[whole]) if whole.any() else None


class UnknownHeaderError(ValueError):
    """A header names no schema in a way that is known.

    Args:
        row: of which record.
    """

    def __init__(self, row: int) -> None:
        super().__init__(row)
        self.row = row


def with_prefixes(spans: Spans, headers: SchemaHeaders, prefix_of: Callable[[bytes], bytes | None]) -> Spans:
    """Return a copy of values in which those that headers name the schemas of name them in front.

    Args:
        spans: the values.
        headers: of some of them.
        prefix_of: returns the bytes in front, for the content of a header.

    Raises:
        UnknownHeaderError: it returns None.
    """
    prefixes = np.zeros(len(spans.sizes), np.int64)
    groups: list[tuple[Int64Array, bytes]] = []
    left = np.arange(len(headers.rows))
    while len(left):
        # All with the header of the first one: mostly all of a topic.
        start, size = int(headers.starts[left[0]]), int(headers.sizes[left[0]])
        content = spans.data[start : start + size]
        same = headers.sizes[left] == size
        places = headers.starts[left[same]][:, None] + np.arange(size)
        same[same] = (spans.data[places] == content).all(axis=1)
        prefix = prefix_of(content.tobytes())
        if prefix is None:
            raise UnknownHeaderError(int(headers.rows[left[0]]))
        rows = headers.rows[left[same]]
        prefixes[rows] = len(prefix)
        groups.append((rows, prefix))
        left = left[~same]
    sizes = np.where(spans.sizes < 0, -1, spans.sizes + prefixes)
    ends = np.cumsum(np.maximum(sizes, 0))
    starts = ends - np.maximum(sizes, 0)
    data = np.empty(max(1, int(ends[-1])), np.uint8)
    for rows, prefix in groups:
        data[starts[rows][:, None] + np.arange(len(prefix))] = np.frombuffer(prefix, np.uint8)
    for first in range(0, len(sizes), _CHUNK_ROWS):
        chunk = slice(first, first + _CHUNK_ROWS)
        _move(spans, chunk, data, starts[chunk] + prefixes[chunk])
    return Spans(data, starts, sizes)


def _move(spans: Spans, chunk: slice, data: ByteArray, targets: Int64Array) -> None:
    """Copy some values to other places."""
    sizes = np.maximum(spans.sizes[chunk], 0)
    begins = np.cumsum(sizes) - sizes
    count = np.arange(int(sizes.sum()))
    data[np.repeat(targets - begins, sizes) + count] = spans.data[
        np.repeat(spans.starts[chunk] - begins, sizes) + count
    ]


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
    """Return places inside of the data: headers are not checked, and broken ones may lead anywhere."""
    return np.minimum(np.maximum(at, 0), len(data) - 1)
