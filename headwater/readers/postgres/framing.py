"""Rows, and where their values lie: from kernels that cut bytes to kernels that read values."""

from __future__ import annotations

from dataclasses import dataclass

from headwater.readers.kernels.arrays import ByteArray, Int32Array, Int64Array


@dataclass(frozen=True, slots=True)
class FramedRows:
    """Rows as places of values in bytes. Valid until whoever made it makes the next one.

    Attributes:
        data: the bytes; `headwater.readers.kernels.memory.CHUNK_BYTES` more can be read behind the last
            value.
        starts: for each row and column, where in the bytes its value begins.
        lengths: for each, how many bytes it has; `layout.NULL` and `layout.UNCHANGED` for none.
        rows: how many rows count.
    """

    data: ByteArray
    starts: Int64Array
    lengths: Int32Array
    rows: int
