"""Columns of Arrow, made of values in text that lie somewhere in bytes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from headwater.readers.kernels.arrays import ByteArray, address
from headwater.readers.postgres import wal_layout as L
from headwater.readers.postgres.wal_chunk import KERNEL

_SCRATCH: Final = 64
"""Bytes behind the longest text that a number is rewritten in."""

_FIXED: Final[dict[Any, tuple[int, int]]] = {
    pa.int16(): (L.KIND_INT16, 2),
    pa.int32(): (L.KIND_INT32, 4),
    pa.int64(): (L.KIND_INT64, 8),
    pa.float32(): (L.KIND_FLOAT, 4),
    pa.float64(): (L.KIND_DOUBLE, 8),
    pa.date32(): (L.KIND_DATE, 4),
    pa.timestamp("us", tz="UTC"): (L.KIND_TIMESTAMP, 8),
    pa.timestamp("us"): (L.KIND_LOCAL_TIMESTAMP, 8),
}
"""The kind of a type, and the bytes of a value."""


class MisfitTextError(ValueError):
    """A value does not fit the type of its column.

    Args:
        row: which row has it.
        text: of the value.
    """

    def __init__(self, row: int, text: str) -> None:
        super().__init__(text)
        self.row = row
        self.text = text


def text_column(
    kind: pa.DataType, data: ByteArray, starts: npt.NDArray[np.int64], lengths: npt.NDArray[np.int32]
) -> pa.Array[Any]:
    """Return the values of one column; those of no length are NULL.

    Args:
        kind: the type of the column.
        data: the bytes.
        starts: where each value begins. One piece of memory, as the next one.
        lengths: how many bytes it has.

    Raises:
        MisfitTextError: a value does not fit.
    """
    make: Callable[..., pa.Array[Any]] = _MAKERS.get(kind.id, _fixed)
    return make(kind, data, starts, lengths)


def _state(
    kind: int, data: ByteArray, starts: npt.NDArray[np.int64], lengths: npt.NDArray[np.int32]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint8]]:
    state = np.zeros(L.TEXT_FIELDS, np.int64)
    validity = np.zeros((len(starts) + 7) // 8, np.uint8)
    state[L.TEXT_KIND] = kind
    state[L.TEXT_DATA] = address(data) if data.size else 0
    state[L.TEXT_STARTS] = address(starts)
    state[L.TEXT_LENGTHS] = address(lengths)
    state[L.TEXT_COUNT] = len(starts)
    state[L.TEXT_VALIDITY] = address(validity)
    return state, validity


def _run(
    state: npt.NDArray[np.int64],
    data: ByteArray,
    starts: npt.NDArray[np.int64],
    lengths: npt.NDArray[np.int32],
) -> int:
    """Call the kernel; return how many values are NULL."""
    row = KERNEL(L.FUNCTION_TEXT, address(state))
    if row < len(starts):
        begin = int(starts[row])
        raise MisfitTextError(row, data[begin : begin + int(lengths[row])].tobytes().decode(errors="replace"))
    return int(state[L.TEXT_NULLS])


def _fixed(
    kind: pa.DataType, data: ByteArray, starts: npt.NDArray[np.int64], lengths: npt.NDArray[np.int32]
) -> pa.Array[Any]:
    code, width = _FIXED[kind]
    state, validity = _state(code, data, starts, lengths)
    values = np.empty(len(starts) * width, np.uint8)
    scratch = np.empty(int(lengths.max(initial=0)) + _SCRATCH, np.uint8)
    state[L.TEXT_VALUES] = address(values)
    state[L.TEXT_SCRATCH] = address(scratch)
    nulls = _run(state, data, starts, lengths)
    return _array(kind, len(starts), nulls, validity, values)


def _bool(
    kind: pa.DataType, data: ByteArray, starts: npt.NDArray[np.int64], lengths: npt.NDArray[np.int32]
) -> pa.Array[Any]:
    state, validity = _state(L.KIND_BOOL, data, starts, lengths)
    values = np.zeros(len(validity), np.uint8)
    state[L.TEXT_VALUES] = address(values)
    return _array(kind, len(starts), _run(state, data, starts, lengths), validity, values)


def _decimal(
    kind: pa.DataType, data: ByteArray, starts: npt.NDArray[np.int64], lengths: npt.NDArray[np.int32]
) -> pa.Array[Any]:
    assert isinstance(kind, pa.Decimal128Type), "types of a column are those of `text_column`"
    state, validity = _state(L.KIND_DECIMAL, data, starts, lengths)
    values = np.empty(len(starts) * 16, np.uint8)
    state[L.TEXT_VALUES] = address(values)
    state[L.TEXT_PRECISION] = kind.precision
    state[L.TEXT_SCALE] = kind.scale
    return _array(kind, len(starts), _run(state, data, starts, lengths), validity, values)


def _texts(
    kind: pa.DataType, data: ByteArray, starts: npt.NDArray[np.int64], lengths: npt.NDArray[np.int32]
) -> pa.Array[Any]:
    is_text = pa.types.is_string(kind)
    state, validity = _state(L.KIND_TEXT if is_text else L.KIND_BYTES, data, starts, lengths)
    offsets = np.empty(len(starts) + 1, np.int32)
    texts = np.empty(max(1, int(lengths.clip(min=0).sum(dtype=np.int64))), np.uint8)
    state[L.TEXT_VALUES] = address(offsets)
    state[L.TEXT_BYTES] = address(texts)
    nulls = _run(state, data, starts, lengths)
    return _array(kind, len(starts), nulls, validity, offsets, texts)


def _array(
    kind: pa.DataType, count: int, nulls: int, validity: npt.NDArray[np.uint8], *parts: npt.NDArray[Any]
) -> pa.Array[Any]:
    buffers = [pa.py_buffer(part.data) for part in parts]
    mask = pa.py_buffer(validity.data) if nulls else None
    return pa.Array.from_buffers(kind, count, [mask, *buffers], nulls)


_MAKERS: Final[dict[int, Callable[..., Any]]] = {
    pa.bool_().id: _bool,
    pa.decimal128(1).id: _decimal,
    pa.string().id: _texts,
    pa.binary().id: _texts,
}
