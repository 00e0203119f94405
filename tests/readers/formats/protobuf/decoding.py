"""Decodes bytes with the format, and shows the columns as rows."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from headwater.readers.formats.format import Spans, ValueDecoder
from headwater.readers.formats.protobuf.format import ProtobufFormat


def spans(values: Sequence[bytes | None]) -> Spans:
    """Return values that lie one after the other."""
    sizes = np.array([-1 if value is None else len(value) for value in values], np.int64)
    ends = np.cumsum(np.maximum(sizes, 0))
    data = np.frombuffer(b"".join(value or b"" for value in values) or b" ", np.uint8)
    return Spans(data, ends - np.maximum(sizes, 0), sizes)


def decoded(format_: ProtobufFormat, values: Sequence[bytes | None]) -> tuple[list[Any], dict[int, str]]:
    """Return a row for each value, and why values are bad."""
    decoder = format_.decoder()
    bad = appended(decoder, values)
    return finished(format_, decoder), bad


def appended(decoder: ValueDecoder, values: Sequence[bytes | None]) -> dict[int, str]:
    """Decode values, and return why some are bad."""
    bad = decoder.append(spans(values))
    if bad is None:
        return {}
    reasons = [decoder.reason(code) for code in bad.reasons.tolist()]
    return dict(zip(bad.rows.tolist(), reasons, strict=True))


def finished(format_: ProtobufFormat, decoder: ValueDecoder) -> list[Any]:
    """Return the rows so far, each a dictionary. Times are pairs of "us" and a number, maps dictionaries."""
    columns = decoder.finish()
    for column in columns:
        column.validate(full=True)
    assert [column.type for column in columns] == format_.schema().types
    return _rows(format_.schema().names, columns)


def _rows(names: Sequence[str], columns: Sequence[pa.Array[Any]]) -> list[Any]:
    return [dict(zip(names, row, strict=True)) for row in zip(*map(_plain, columns), strict=True)]


def _plain(array: pa.Array[Any]) -> list[Any]:
    valid = array.is_valid().to_pylist()
    return [value if is_valid else None for value, is_valid in zip(_values(array), valid, strict=True)]


def _values(array: pa.Array[Any]) -> list[Any]:
    kind = array.type
    if pa.types.is_timestamp(kind) or pa.types.is_duration(kind):
        return [("us", value) for value in array.view(pa.int64()).to_pylist()]
    if isinstance(array, pa.StructArray):
        members = [array.field(i) for i in range(kind.num_fields)]
        return _rows([field.name for field in kind], members)
    if isinstance(array, pa.MapArray):
        entries = list(zip(_plain(array.keys), _plain(array.items), strict=True))
        return [dict(entries[begin:end]) for begin, end in pairwise(array.offsets.to_pylist())]
    if isinstance(array, pa.ListArray):
        elements = _plain(array.values)
        return [elements[begin:end] for begin, end in pairwise(array.offsets.to_pylist())]
    return array.to_pylist()
