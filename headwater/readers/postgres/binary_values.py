"""Columns of Arrow of values in PostgreSQL's binary form, and the error of one that has no place there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa

from headwater.core.errors import SourceError
from headwater.enumerators.postgres.settings import SOURCE
from headwater.readers.kernels.arenas import PROCESS_POOL
from headwater.readers.kernels.arrays import ByteArray, address
from headwater.readers.kernels.cache import Kernel
from headwater.readers.postgres import layout as L
from headwater.readers.postgres.framing import FramedRows
from headwater.readers.postgres.types import PostgresColumn

KERNEL: Final = Kernel(
    "headwater.readers.postgres.kernel.binary_values",
    "read_values",
    arguments=11,
    needed_for="the postgres source",
    extra="postgres",
)

_BEHIND: Final = 32
"""How many bytes behind texts the kernel may write."""
_ALIGNED: Final = 64
_UUID_BYTES: Final = 36
_SIZES: Final = {L.INT16: 2, L.INT32: 4, L.DATE: 4, L.INT64: 8, L.OID: 8, L.TIMESTAMP: 8, L.DECIMAL: 16}
_SIGN: Final = slice(4, 6)
_NOT_NUMBERS: Final = {b"\xc0\x00": "NaN", b"\xd0\x00": "Infinity", b"\xf0\x00": "-Infinity"}


def binary_columns(rows: FramedRows, columns: Sequence[PostgresColumn], table: str) -> list[pa.Array[Any]]:
    """Return the values of rows as one Arrow column for each column.

    Their memory is used again as soon as nothing refers to it any more.

    Args:
        rows: cut.
        columns: of each row, in order.
        table: its name, for the error.

    Raises:
        SourceError: a value has no place in the Arrow type of its column.
    """
    sizes = [_sizes(rows, at, column.kind) for at, column in enumerate(columns)]
    memory = PROCESS_POOL.lease(sum(sum(each) for each in sizes))
    arrays = []
    begin = 0
    for at, column in enumerate(columns):
        parts = []
        for size in sizes[at]:
            parts.append(memory[begin : begin + size])
            begin += size
        arrays.append(_column(rows, at, column, parts, table))
    return arrays


def _sizes(rows: FramedRows, at: int, kind: int) -> tuple[int, int, int]:
    """Return how many bytes the buffers of a column need: of its nulls, values and texts."""
    bits = _padded(rows.rows + 7 >> 3)
    if kind == L.BOOL:
        return bits, bits, 0
    if kind < L.UUID:
        return bits, _padded(_SIZES[kind] * rows.rows), 0
    if kind == L.UUID:
        text_bytes = _UUID_BYTES * rows.rows
    else:
        lengths = rows.lengths[: rows.rows, at]
        text_bytes = int(np.maximum(lengths, 0).sum(dtype=np.int64))
    return bits, _padded(4 * rows.rows + 4), _padded(text_bytes + _BEHIND)


def _padded(size: int) -> int:
    return -(-size // _ALIGNED) * _ALIGNED


def _column(
    rows: FramedRows, at: int, column: PostgresColumn, parts: list[ByteArray], table: str
) -> pa.Array[Any]:
    nulls, values, texts = parts
    nulls.fill(0xFF)
    if column.kind == L.BOOL:
        values.fill(0)
    missing = KERNEL(
        column.kind,
        address(rows.data),
        address(rows.starts),
        address(rows.lengths),
        rows.starts.shape[1],
        at,
        rows.rows,
        column.scale,
        address(nulls),
        address(values),
        address(texts) if texts.size else 0,
    )
    if missing < 0:
        raise _misfit(rows, -1 - missing, at, column, table)
    buffers = [pa.py_buffer(nulls.data) if missing else None, pa.py_buffer(values.data)]
    if texts.size:
        buffers.append(pa.py_buffer(texts.data))
    return pa.Array.from_buffers(column.arrow_type, rows.rows, buffers, missing)


def _misfit(rows: FramedRows, row: int, at: int, column: PostgresColumn, table: str) -> SourceError:
    begin = int(rows.starts[row, at])
    value = rows.data[begin : begin + int(rows.lengths[row, at])].tobytes()
    return misfit_error(_shown(column.kind, value), column, table)


def misfit_error(shown: str, column: PostgresColumn, table: str) -> SourceError:
    """Return the error of a value that has no place in the type of its column.

    Args:
        shown: the value, for people.
        column: of the value.
        table: its name.
    """
    return SourceError(
        f"table {table}, column {column.name!r} of type {column.type_name}: {shown} has no place in a column "
        f"of type {column.arrow_type}. Read the column as text (option textColumns={column.name}), or leave "
        "it out (option columns)",
        source=SOURCE,
        split=table,
    )


def _shown(kind: int, value: bytes) -> str:
    if kind == L.DECIMAL:
        return _NOT_NUMBERS.get(value[_SIGN], f"the numeric {value.hex()}")
    if kind not in {L.DATE, L.TIMESTAMP} or len(value) != _SIZES[kind]:
        return f"the value {value.hex()}"
    number = int.from_bytes(value, "big", signed=True)
    most = (1 << 8 * len(value) - 1) - 1
    if number in {most, -most - 1}:
        return "infinity" if number > 0 else "-infinity"
    return "a time after the year 9999" if number > 0 else "a time before the year 1"
