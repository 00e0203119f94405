"""The format ``text``: a value is a string.

A value is UTF-8, and U+FFFD stands for bytes that are not: no value is bad.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headwater.readers.formats.format import Format, ValueDecoder

if TYPE_CHECKING:
    import pyarrow as pa

    from headwater.readers.formats.format import Spans


@dataclass(frozen=True)
class TextValueFormat(Format):
    """Values as strings."""

    @property
    def is_single_value(self) -> bool:
        return True

    def schema(self) -> pa.Schema:
        import pyarrow as pa

        return pa.schema([pa.field("value", pa.string())])

    def decoder(self) -> ValueDecoder:
        return _TextDecoder()


class _TextDecoder(ValueDecoder):
    def __init__(self) -> None:
        self._parts: list[pa.Array[Any]] = []

    def append(self, spans: Spans) -> None:
        self._parts.append(_strings(spans))

    def reason(self, code: int, row: int | None = None) -> str:
        raise AssertionError("no text is bad")

    def finish(self) -> Sequence[pa.Array[Any]]:
        import pyarrow as pa

        parts = self._parts
        self._parts = []
        return [pa.concat_arrays(parts) if parts else pa.array([], pa.string())]


def _strings(spans: Spans) -> pa.Array[Any]:
    import pyarrow as pa

    values = _copied(spans)
    try:
        strings: pa.Array[Any] = values.cast(pa.string())
    except pa.ArrowInvalid:
        texts = [None if value is None else value.decode("utf-8", "replace") for value in values.to_pylist()]
        strings = pa.array(texts, pa.string())
    return strings


def _copied(spans: Spans) -> pa.Array[Any]:
    """Return the values as an array of bytes.

    The bytes are seen as an array of values and of the gaps between them, of which Arrow takes every second
    one. That needs values in the order of their bytes: those of records are.
    """
    import numpy as np
    import pyarrow as pa

    rows = len(spans.sizes)
    nulls = spans.sizes < 0
    ends = spans.starts + np.maximum(spans.sizes, 0)
    borders = np.column_stack((spans.starts, ends)).ravel()
    if (np.diff(borders) < 0).any() or len(spans.data) > np.iinfo(np.int32).max:
        return pa.array([spans.value(row) for row in range(rows)], pa.binary())
    offsets = np.append(borders, borders[-1:]).astype(np.int32)
    places = [None, pa.py_buffer(offsets.data), pa.py_buffer(spans.data.data)]
    everything = pa.Array.from_buffers(pa.binary(), len(borders), places, 0)
    # Made of buffers: pa.array would import pandas to look at an array of numpy.
    present = pa.py_buffer(np.packbits(~nulls, bitorder="little").data)
    every_second = pa.py_buffer(np.arange(0, 2 * rows, 2, dtype=np.int64).data)
    return everything.take(pa.Array.from_buffers(pa.int64(), rows, [present, every_second]))
