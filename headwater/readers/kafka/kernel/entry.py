"""The one function of the machine code: its arguments are numbers, of which it makes arrays."""

from __future__ import annotations

import numba
from numba.core import types

from headwater.readers.kafka.kernel.checksum import first_wrong
from headwater.readers.kafka.kernel.decode import decode, scan
from headwater.readers.kafka.layout import (
    BATCH,
    FUNCTION_SCAN,
    FUNCTION_VERIFY,
    OUT_FIELDS,
    TALLY_FIELDS,
    BinaryBuffers,
    HeadersBuffers,
    RowBuffers,
    SpanBuffers,
)
from headwater.readers.kernels.compiling import array_of

_bytes, _int32s, _int64s, _batches = (
    array_of(element) for element in (types.uint8, types.int32, types.int64, numba.from_dtype(BATCH))
)


def enter(
    function: int,
    data: int,
    data_size: int,
    batches: int,
    batch_count: int,
    position: int,
    stop: int,
    rows: int,
    tally: int,
    out_address: int,
) -> int:
    """Call a function with arrays made of addresses, as `RowBuffers.addresses` lists them."""
    if function == FUNCTION_VERIFY:
        return first_wrong(data, _batches(batches, batch_count))
    if function == FUNCTION_SCAN:
        return scan(_bytes(data, data_size), _batches(batches, batch_count))
    out = _int64s(out_address, OUT_FIELDS)
    buffers = RowBuffers(
        BinaryBuffers(_int32s(out[0], out[1]), _bytes(out[2], out[3]), _bytes(out[4], out[5])),
        BinaryBuffers(_int32s(out[6], out[7]), _bytes(out[8], out[9]), _bytes(out[10], out[11])),
        SpanBuffers(_int64s(out[12], out[13]), _int64s(out[14], out[15])),
        SpanBuffers(_int64s(out[16], out[17]), _int64s(out[18], out[19])),
        _int64s(out[20], out[21]),
        _int64s(out[22], out[23]),
        _int32s(out[24], out[25]),
        HeadersBuffers(
            _int32s(out[26], out[27]),
            _bytes(out[28], out[29]),
            BinaryBuffers(_int32s(out[30], out[31]), _bytes(out[32], out[33]), _bytes(out[34], out[35])),
            BinaryBuffers(_int32s(out[36], out[37]), _bytes(out[38], out[39]), _bytes(out[40], out[41])),
        ),
    )
    return decode(
        _bytes(data, data_size),
        _batches(batches, batch_count),
        position,
        stop,
        rows,
        buffers,
        _int64s(tally, TALLY_FIELDS),
    )
