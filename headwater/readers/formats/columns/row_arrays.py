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
