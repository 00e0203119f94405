"""What a decoder made of values, and how two such results are compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from headwater.readers.formats.format import Spans, ValueDecoder


class Decoded(NamedTuple):
    """Columns, and why rows are bad."""

    columns: Sequence[pa.Array[Any]]
    bad: Mapping[int, str]


def decode(decoder: ValueDecoder, parts: Sequence[Spans]) -> Decoded:
    """Decode values with as many calls as there are parts, into one batch."""
    bad: dict[int, str] = {}
    first = 0
    for spans in parts:
        found = decoder.append(spans)
        if found is not None:
            rows = found.rows.tolist()
            assert rows == sorted(set(rows)), "bad rows are not in order"
            assert not rows or 0 <= rows[0] <= rows[-1] < len(spans.sizes), "a bad row that there is not"
            assert (spans.sizes[found.rows] >= 0).all(), "a null is bad"
            codes = found.reasons.tolist()
            reasons = {code: decoder.reason(code) for code in set(codes)}
            bad |= {first + row: reasons[code] for row, code in zip(rows, codes, strict=True)}
        first += len(spans.sizes)
    return Decoded(decoder.finish(), bad)


def check_same(first: Decoded, second: Decoded, what: str) -> None:
    """Compare two results bit by bit: a NaN is the same as itself."""
    assert first.bad == second.bad, f"{what}: other values are bad"
    for one, other in zip(first.columns, second.columns, strict=True):
        bits = as_bits(one.type)
        assert one.view(bits).equals(other.view(bits)), f"{what}: another column of type {one.type}"


def part(decoded: Decoded, begin: int, rows: int) -> Decoded:
    """Return some rows of a result."""
    columns = [column.slice(begin, rows) for column in decoded.columns]
    bad = {row - begin: why for row, why in decoded.bad.items() if begin <= row < begin + rows}
    return Decoded(columns, bad)


def as_bits(kind: pa.DataType) -> pa.DataType:
    """Return the type with integers in place of floats, dates and times."""
    if pa.types.is_floating(kind) or pa.types.is_temporal(kind):
        return pa.int32() if kind.bit_width == 32 else pa.int64()
    if isinstance(kind, pa.StructType):
        fields = [kind.field(i) for i in range(kind.num_fields)]
        return pa.struct([field.with_type(as_bits(field.type)) for field in fields])
    if isinstance(kind, pa.ListType):
        return pa.list_(kind.value_field.with_type(as_bits(kind.value_type)))
    if isinstance(kind, pa.MapType):
        return pa.map_(kind.key_type, as_bits(kind.item_type))
    return kind


def most_bytes(kinds: Sequence[pa.DataType], rows: int, size: int) -> int:
    """Return a bound for the memory of rows: what a row has anyway, and what a byte of a value can add.

    An element of a list or map has one byte at least, and brings entries of all columns inside of it. A byte
    of text becomes three at the most, of Base64 less.
    """
    row = sum(_width(kind) for kind in kinds)
    element = max((_element(kind) for kind in kinds), default=0)
    return (1 << 16) + rows * row + size * (4 + element)


def _width(kind: pa.DataType) -> int:
    """Return the bytes of an entry: a value or offset, the name of an enum or a default, its fields."""
    if isinstance(kind, pa.StructType):
        return 1 + sum(_width(kind.field(i).type) for i in range(kind.num_fields))
    return 64 if pa.types.is_string(kind) or pa.types.is_binary(kind) else 17


def _element(kind: pa.DataType) -> int:
    """Return the bytes that an element brings, of the list or map inside of which elements are largest."""
    match kind:
        case pa.StructType():
            inside = [kind.field(i).type for i in range(kind.num_fields)]
        case pa.ListType():
            inside = [kind.value_type]
        case pa.MapType():
            inside = [kind.key_type, kind.item_type]
        case _:
            return 0
    own = 0 if isinstance(kind, pa.StructType) else sum(_width(each) for each in inside)
    return max(own, *(_element(each) for each in inside))
