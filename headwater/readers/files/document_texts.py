"""The text of bad documents in the rows that they make: all rows of an array have that of the array."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headwater.readers.formats.format import Spans
from headwater.readers.kernels.arrays import Int64Array

_MOST_TEXT = 64 << 20
"""Of the texts in one batch."""


def with_texts(
    batch: pa.RecordBatch, name: str, rows: Int64Array, documents: Int64Array, spans: Spans
) -> Iterator[pa.RecordBatch]:
    """Yield a batch with the text of their documents in a column of some rows, in parts if that is much.

    Args:
        batch: the rows.
        name: of the column of strings.
        rows: which rows get a text, ascending.
        documents: of each of them the number of its document.
        spans: the documents. Bytes that are not UTF-8 become U+FFFD.
    """
    if not len(rows):
        yield batch
        return
    sizes = np.zeros(batch.num_rows, np.int64)
    sizes[rows] = spans.sizes[documents]
    parts = np.cumsum(sizes) // _MOST_TEXT
    borders = [0, *(np.flatnonzero(np.diff(parts)) + 1).tolist(), batch.num_rows]
    for start, stop in pairwise(borders):
        inside = (rows >= start) & (rows < stop)
        part = batch.slice(start, stop - start)
        yield _replaced(part, name, rows[inside] - start, documents[inside], spans)


def _replaced(
    batch: pa.RecordBatch, name: str, rows: Int64Array, documents: Int64Array, spans: Spans
) -> pa.RecordBatch:
    at = batch.schema.get_field_index(name)
    texts = _texts(documents, spans)
    mask = np.zeros(batch.num_rows, np.bool_)
    mask[rows] = True
    bits = pa.py_buffer(np.packbits(mask, bitorder="little").data)
    where: Any = pa.Array.from_buffers(pa.bool_(), batch.num_rows, [None, bits], 0)
    return batch.set_column(at, name, pc.replace_with_mask(batch.column(at), where, texts))


def _texts(documents: Int64Array, spans: Spans) -> pa.Array[Any]:
    """Return the text of each document."""
    different, numbers = np.unique(documents, return_inverse=True)
    starts = spans.starts[different]
    # Documents lie one behind the other: values of one array, with what is between them as values too.
    borders = np.column_stack([starts, starts + spans.sizes[different]]).ravel().astype(np.int32)
    buffers = [None, pa.py_buffer(borders.data), pa.py_buffer(spans.data.data)]
    values: Any = pa.Array.from_buffers(pa.binary(), len(borders) - 1, buffers)
    try:
        texts: pa.Array[Any] = values.take(pa.array(2 * numbers)).cast(pa.string())
    except pa.ArrowInvalid:
        known = [(spans.value(number) or b"").decode("utf-8", "replace") for number in different.tolist()]
        return pa.array([known[number] for number in numbers.tolist()], pa.string())
    return texts
