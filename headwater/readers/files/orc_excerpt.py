"""A stripe of ORC as two small files, of which pyarrow reads what it cannot read of the stripe: far times.

ORC keeps a timestamp as seconds and as a fraction of one, in two streams. pyarrow makes nanoseconds of it,
which reach from 1677 to 2262. So one of the files says that its timestamps are integers, and has their
seconds; in the other one all seconds are 0, so that its timestamps are their fractions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute

from headwater.readers.files.orc_tail import OrcTail
from headwater.readers.files.protobuf_fields import Fields, all_bytes, decoded, encoded, number, numbers

compute: Any = pyarrow.compute
_MAGIC: Final = b"ORC"
# Numbers of fields in ORC's own schema of Protocol Buffers, and of what some of them may be.
_FOOTER_SIZE, _METADATA_SIZE, _STATISTICS_SIZE = 1, 5, 7
_HEADER_SIZE, _CONTENT_SIZE, _STRIPES, _TYPES, _METADATA, _ROWS, _STATISTICS, _STRIDE = 1, 2, 3, 4, 5, 6, 7, 8
_TYPE_KIND, _SUBTYPES, _NAMES = 1, 2, 3
_LONG: Final = 4
_TIMESTAMPS: Final = frozenset({9, 18})
_STREAMS, _ENCODINGS = 1, 2
_STREAM_KIND, _STREAM_COLUMN, _STREAM_SIZE = 1, 2, 3
_DATA, _SECONDARY = 1, 5
_INDEXES: Final = frozenset({6, 7, 8})
_DIRECT: Final = 0
# Zeros as ORC's two encodings of integers have them: how many, and their bytes.
_ZEROS: Final = (130, b"\x7f\x00\x00")
_ZEROS_2: Final = (512, b"\xc1\xff\x00\x00")
_COUNTED_FROM: Final = 1_420_070_400
"""Seconds from 1970 to 2015, from where those of ORC are counted."""
_SECOND_US: Final = 1_000_000
_SECOND_NS: Final = 1_000_000_000
_LEAST_FRACTION_NS: Final = 1_000_000


class OrcExcerpt:
    """Some columns of one stripe.

    Args:
        tail: of the file.
        stripe: its number.
        columns: their names.

    Raises:
        ValueError: what the file says of the stripe is damaged.
    """

    def __init__(self, tail: OrcTail, stripe: int, columns: Sequence[str]) -> None:
        self._tail = tail
        self._stripe = tail.stripes[stripe]
        self._footer = tail.stripe_footer(stripe)
        self._types = [decoded(raw) for raw in all_bytes(tail.footer, _TYPES)]
        self._times = {at for at, each in enumerate(self._types) if number(each, _TYPE_KIND) in _TIMESTAMPS}
        parts = {name: at for name, at in self._columns() if name in columns}
        self._wanted = {0}.union(*parts.values())
        self.time_columns = [name for name, at in parts.items() if self._times.intersection(at)]
        """Those with a timestamp in them."""

    def seconds(self) -> bytes:
        """Return a file with the columns, whose timestamps are integers."""
        streams = [
            (stream, self._tail.raw(start, start + number(stream, _STREAM_SIZE)))
            for stream, start in self._streams()
            if not self._is_of_time(stream, _SECONDARY)
        ]
        kinds = [
            each | ({_TYPE_KIND: [_LONG]} if at in self._times else {}) for at, each in enumerate(self._types)
        ]
        return self._file(streams, kinds)

    def fractions(self) -> bytes:
        """Return a file with the columns, whose timestamps are in the first second of 2015."""
        streams = [
            (stream, self._zeros(stream))
            if self._is_of_time(stream, _DATA)
            else (stream, self._tail.raw(start, start + number(stream, _STREAM_SIZE)))
            for stream, start in self._streams()
        ]
        return self._file(streams, self._types)

    def _columns(self) -> Iterator[tuple[str, range]]:
        """Yield the names of the file's columns, and the numbers of their types: with all that is in them."""
        top = self._types[0] if self._types else {}
        begins = [*numbers(top, _SUBTYPES), len(self._types)]
        for at, name in enumerate(all_bytes(top, _NAMES)):
            yield name.decode(), range(begins[at], begins[at + 1])

    def _streams(self) -> Iterator[tuple[Fields, int]]:
        """Yield the streams that are needed, and where they begin."""
        at = self._stripe.start
        for stream in map(decoded, all_bytes(self._footer, _STREAMS)):
            if (
                number(stream, _STREAM_COLUMN) in self._wanted
                and number(stream, _STREAM_KIND) not in _INDEXES
            ):
                yield stream, at
            at += number(stream, _STREAM_SIZE)

    def _is_of_time(self, stream: Fields, kind: int) -> bool:
        return number(stream, _STREAM_COLUMN) in self._times and number(stream, _STREAM_KIND) == kind

    def _zeros(self, stream: Fields) -> bytes:
        """Return a stream with as many zeros as the column has values, or more."""
        column = number(stream, _STREAM_COLUMN)
        statistics = all_bytes(self._tail.footer, _STATISTICS)[column : column + 1]
        most = max(self._stripe.rows, *(number(decoded(raw), 1) for raw in statistics), 1)
        encoding = decoded(all_bytes(self._footer, _ENCODINGS)[column])
        count, zeros = _ZEROS if number(encoding, 1) == _DIRECT else _ZEROS_2
        return self._tail.stored(zeros * -(-most // count))

    def _file(self, streams: Iterable[tuple[Fields, bytes]], types: Iterable[Fields]) -> bytes:
        described = [encoded(stream | {_STREAM_SIZE: [len(content)]}) for stream, content in streams]
        data = b"".join(content for _, content in streams)
        stripe_footer = self._tail.stored(encoded(self._footer | {_STREAMS: described}))
        stripe = {1: [len(_MAGIC)], 2: [0], 3: [len(data)], 4: [len(stripe_footer)], 5: [self._stripe.rows]}
        footer = self._tail.footer | {
            _HEADER_SIZE: [len(_MAGIC)],
            _CONTENT_SIZE: [len(_MAGIC) + len(data) + len(stripe_footer)],
            _STRIPES: [encoded(stripe)],
            _TYPES: [encoded(each) for each in types],
            _METADATA: [],
            _ROWS: [self._stripe.rows],
            _STATISTICS: [],
            _STRIDE: [0],
        }
        end = self._tail.stored(encoded(footer))
        sizes = {_FOOTER_SIZE: [len(end)], _METADATA_SIZE: [0], _STATISTICS_SIZE: [0]}
        postscript = encoded(
            {which: sizes.get(which, values) for which, values in self._tail.postscript.items()}
        )
        return b"".join([_MAGIC, data, stripe_footer, end, postscript, bytes([len(postscript)])])


def with_fractions(seconds: pa.RecordBatch, fractions: pa.RecordBatch) -> pa.RecordBatch:
    """Return rows of the first file with the timestamps that both make, in microseconds.

    Raises:
        pa.ArrowInvalid: there is one that microseconds do not reach.
    """
    names = fractions.schema.names
    arrays = [
        _joined(column, fractions.column(name)) if name in names else column
        for name, column in zip(seconds.schema.names, seconds.columns, strict=True)
    ]
    return pa.RecordBatch.from_arrays(arrays, names=seconds.schema.names)


def _joined(seconds: Any, fractions: Any) -> Any:
    kind = fractions.type
    if pa.types.is_timestamp(kind):
        return _micros(seconds, fractions.view(pa.int64())).view(pa.timestamp("us", kind.tz))
    if not pa.types.is_nested(kind):
        return seconds
    if pa.types.is_struct(kind):
        children = [_joined(seconds.field(at), fractions.field(at)) for at in range(kind.num_fields)]
        fields = [field.with_type(child.type) for field, child in zip(kind, children, strict=True)]
        return pa.StructArray.from_arrays(children, fields=fields, mask=seconds.is_null())
    if pa.types.is_map(kind):
        keys = _joined(seconds.keys, fractions.keys)
        items = _joined(seconds.items, fractions.items)
        return pa.MapArray.from_arrays(seconds.offsets, keys, items, mask=seconds.is_null())
    return pa.ListArray.from_arrays(
        seconds.offsets, _joined(seconds.values, fractions.values), mask=seconds.is_null()
    )


def _micros(seconds: Any, nanos: Any) -> Any:
    """Return microseconds as pyarrow counts them, where its nanoseconds reach.

    Writers round seconds towards zero: one is taken off where a time before 1970 has a fraction of one.
    """
    nanos = compute.subtract(nanos, _COUNTED_FROM * _SECOND_NS)
    seconds = compute.add_checked(seconds, _COUNTED_FROM)
    rounded = compute.and_(compute.less(seconds, 0), compute.greater_equal(nanos, _LEAST_FRACTION_NS))
    whole = compute.multiply_checked(compute.subtract(seconds, rounded.cast(pa.int64())), _SECOND_US)
    return compute.add_checked(whole, compute.divide(nanos, 1_000))
