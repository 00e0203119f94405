"""Arrow columns and batches of decoded values: structs of columns, and rows that are left out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from headwater.readers.kernels.arrays import Int64Array


def struct_of(
    schema: pa.Schema, columns: Sequence[pa.Array[Any]], nulls: npt.NDArray[np.bool_]
) -> pa.Array[Any]:
    """Return columns as one column of structs, null where ``nulls`` says so."""
    count = int(nulls.sum())
    bits = pa.py_buffer(np.packbits(~nulls, bitorder="little").data) if count else None
    return pa.Array.from_buffers(pa.struct(list(schema)), len(nulls), [bits], count, children=list(columns))


def without_rows(batch: pa.RecordBatch, dropped: Iterable[Int64Array]) -> pa.RecordBatch | None:
    """Return a batch without some of its rows; None if none is left."""
    selection = np.ones(batch.num_rows, np.bool_)
    for rows in dropped:
        selection[rows] = False
    if selection.all():
        return batch
    if not selection.any():
        return None
    # Made of buffers: pa.array would import pandas to look at an array of numpy.
    bits = pa.py_buffer(np.packbits(selection, bitorder="little").data)
    mask: Any = pa.Array.from_buffers(pa.bool_(), len(selection), [None, bits], 0)
    return batch.filter(mask)


def with_last_of_keys(
    count: int, offsets: pa.Buffer | None, children: list[pa.Array[Any]]
) -> tuple[pa.Buffer | None, list[pa.Array[Any]]]:
    """Return offsets and entries of maps in which each key stands once, with its last value.

    Args:
        count: how many maps there are.
        offsets: where the entries of each begin.
        children: the entries.
    """
    assert offsets is not None
    ends: Any = np.frombuffer(memoryview(offsets), np.int32)
    sizes = ends[1:] - ends[:-1]
    if count == 0 or sizes.max() < 2:
        return offsets, children
    entries: Any = children[0]
    keys = entries.field(0).dictionary_encode()
    owners = np.repeat(np.arange(count), sizes)
    pairs = owners * len(keys.dictionary) + np.frombuffer(keys.indices.buffers()[1], np.int32)[: len(keys)]
    _, from_end = np.unique(pairs[::-1], return_index=True)
    if len(from_end) == len(pairs):
        return offsets, children
    last = np.sort(len(pairs) - 1 - from_end)
    places: Any = pa.Array.from_buffers(pa.int64(), len(last), [None, pa.py_buffer(last.data)])
    ends = np.cumsum(np.bincount(owners[last], minlength=count))
    return pa.py_buffer(np.array([0, *ends.tolist()], np.int32).data), [entries.take(places)]
