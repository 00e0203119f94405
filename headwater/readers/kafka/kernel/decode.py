"""The kernel: decodes Kafka's record format v2 into Arrow buffers in one pass, without allocation or the GIL.

Every read is checked against the end of its record or batch: hostile bytes give a fault, never a read outside
of the buffer. Positions are int64, because numba makes a float of int64 + uint64.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
from numba.core import cgutils, types
from numba.extending import intrinsic

from headwater.readers.kafka import layout
from headwater.readers.kafka.kernel.checksum import first_wrong
from headwater.readers.kafka.layout import BatchArray, BinaryBuffers, HeadersBuffers, RowBuffers
from headwater.readers.kernels.arrays import ByteArray, Int64Array
from headwater.readers.kernels.memory import int64
from headwater.readers.kernels.varints import MOST_INT_BYTES, MOST_LONG_BYTES, unzigzag, varint

F = TypeVar("F", bound=Callable[..., Any])

_LOG_OVERHEAD = 12
_MIN_LEGACY_BYTES = (14, 22)  # of formats v0 and v1
_MAGIC_AT = 16
# So far below 2**63 that no offset of a batch overflows: an offset delta has 32 bits.
_MOST_OFFSET = (1 << 63) - 1 - (1 << 32)


def _inlined(function: F) -> F:
    """Compile a function as a part of its caller's machine code."""
    return cast("F", numba.njit(function))


@intrinsic  # type: ignore[untyped-decorator]
# Unused here, but numba reads the number of arguments from the signature.
def _memcpy(_typing: Any, to: Any, to_at: Any, source: Any, source_at: Any, size: Any) -> Any:  # noqa: ARG001
    """Copy bytes with the C library's memcpy: several times as fast as numba's slices from 100 B on."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        first_bytes = [context.make_array(signature.args[i])(context, builder, args[i]).data for i in (0, 2)]
        cgutils.raw_memcpy(
            builder,
            builder.gep(first_bytes[0], [args[1]]),
            builder.gep(first_bytes[1], [args[3]]),
            args[4],
            1,
        )
        return context.get_dummy_value()

    return types.none(to, types.int64, source, types.int64, types.int64), codegen


@_inlined
def _big_endian(data: ByteArray, pos: int, size: int) -> int:
    value = numba.int64(data[pos])
    if value >= 128:  # the first byte has the sign
        value -= 256
    for i in range(pos + 1, pos + size):
        value = (value << 8) | numba.int64(data[i])
    return value


@_inlined
def _varint(base: int, pos: int, end: int, most_bytes: int) -> tuple[int, int]:
    """Return a zigzag varint and the position after it. A position past ``end`` means that there is none.

    Positions count from the address ``base``.
    """
    bits, at = varint(base + pos, base + end, most_bytes)
    return unzigzag(bits), at - base


@_inlined
def _mark_null(validity: ByteArray, row: int) -> None:
    validity[row >> 3] &= ~(1 << (row & 7))


@_inlined
def _put(out: BinaryBuffers, row: int, data: ByteArray, pos: int, size: int) -> int:
    """Write one binary value; a size below 0 is null. Return the number of nulls, 0 or 1."""
    at = numba.int64(out.offsets[row])
    if size < 0:
        out.offsets[row + 1] = at
        _mark_null(out.validity, row)
        return 1
    if size > 0:
        _memcpy(out.data, at, data, pos, size)
    out.offsets[row + 1] = at + size
    return 0


@_inlined
# Compiled functions take positions only.
def _headers(
    out: HeadersBuffers, row: int, data: ByteArray, base: int, pos: int, end: int, tally: Int64Array
) -> int:
    """Write one record's headers, which must end where the record ends. Return 0 or a fault."""
    count, pos = _varint(base, pos, end, MOST_INT_BYTES)
    # A header has two bytes at least, so a count that passes fits into the output buffers too.
    if count < 0 or pos > end or count > (end - pos) >> 1:
        return layout.FAULT_HEADER
    at = numba.int64(out.offsets[row])
    for i in range(at, at + count):
        size, pos = _varint(base, pos, end, MOST_INT_BYTES)
        if size < 0 or pos > end or size > end - pos:
            return layout.FAULT_HEADER
        _put(out.key, i, data, pos, size)
        size, pos = _varint(base, pos + size, end, MOST_INT_BYTES)
        if pos > end or size > end - pos:
            return layout.FAULT_HEADER
        tally[layout.TALLY_NULL_HEADER_VALUES] += _put(out.value, i, data, pos, size)
        pos += max(size, 0)
    out.offsets[row + 1] = at + count
    if count == 0:
        _mark_null(out.validity, row)
        tally[layout.TALLY_HEADERLESS] += 1
    return 0 if pos == end else layout.FAULT_HEADER


@_inlined
# One loop over all bytes: parts of it as functions would need many results.
def decode(
    data: ByteArray,
    batches: BatchArray,
    position: int,
    stop: int,
    rows: int,
    out: RowBuffers,
    tally: Int64Array,
) -> int:
    """Append the records with ``position <= offset < stop`` to buffers in which ``rows`` rows are filled.

    The caller has made room for all batches, and before the first row set the first offsets to 0 and all
    validity bits. Checksums are looked at if ``tally`` says so. Keys and values are copied, or their places
    in ``data`` are written. Return how many rows are filled now, or a fault: ``tally`` then names the batch.
    """
    base = int64(data.ctypes.data)
    if tally[layout.TALLY_CHECKS] != 0:
        wrong = first_wrong(base, batches)
        if wrong >= 0:
            tally[layout.TALLY_FAULTY_BATCH] = wrong
            return layout.FAULT_CHECKSUM
    wants_key = out.key.offsets.size > 0
    wants_value = out.value.offsets.size > 0
    wants_key_spans = out.key_spans.starts.size > 0
    wants_value_spans = out.value_spans.starts.size > 0
    wants_headers = out.headers.offsets.size > 0
    reads_value = wants_value or wants_value_spans or wants_headers
    reads_key = wants_key or wants_key_spans or reads_value
    wants_offset = out.offset.size > 0
    wants_timestamp = out.timestamp.size > 0
    wants_type = out.timestamp_type.size > 0
    # Counted in registers: the array may overlap the buffers, so the compiler would write to it each time.
    null_keys = 0
    null_values = 0
    for b in range(batches.size):
        batch = batches[b]
        tally[layout.TALLY_FAULTY_BATCH] = b
        pos = batch.start
        batch_end = batch.end
        base_offset = batch.base_offset
        base_timestamp = batch.base_timestamp
        max_timestamp = batch.max_timestamp
        most_delta = batch.last_offset - base_offset
        appended = batch.attributes & layout.LOG_APPEND_TIME != 0
        if batch.count < 0 or batch.count * layout.MIN_RECORD_BYTES > batch_end - pos:
            return layout.FAULT_COUNT
        for _ in range(batch.count):
            length, pos = _varint(base, pos, batch_end, MOST_INT_BYTES)
            end = pos + length
            if length < layout.MIN_RECORD_BYTES - 1 or end > batch_end:
                return layout.FAULT_RECORD_LENGTH
            timestamp_delta, pos = _varint(
                base, pos + 1, end, MOST_LONG_BYTES
            )  # after the attributes, which are unused
            offset_delta, pos = _varint(base, pos, end, MOST_INT_BYTES)
            # One check for two varints: past the end, the second one moves no further back.
            if pos > end:
                return layout.FAULT_FIELD
            if offset_delta < 0 or offset_delta > most_delta:
                return layout.FAULT_OFFSET
            offset = base_offset + offset_delta
            if offset < position or offset >= stop:
                pos = end
                continue
            # A field is read if it or a later one is wanted: its length says where the next one begins.
            if reads_key:
                size, pos = _varint(base, pos, end, MOST_INT_BYTES)
                if pos > end or size > end - pos:
                    return layout.FAULT_FIELD
                if wants_key:
                    null_keys += _put(out.key, rows, data, pos, size)
                if wants_key_spans:
                    out.key_spans.starts[rows] = pos
                    out.key_spans.sizes[rows] = size
                pos += max(size, 0)
            if reads_value:
                size, pos = _varint(base, pos, end, MOST_INT_BYTES)
                if pos > end or size > end - pos:
                    return layout.FAULT_FIELD
                if wants_value:
                    null_values += _put(out.value, rows, data, pos, size)
                if wants_value_spans:
                    out.value_spans.starts[rows] = pos
                    out.value_spans.sizes[rows] = size
                pos += max(size, 0)
            if wants_headers:
                fault = _headers(out.headers, rows, data, base, pos, end, tally)
                if fault != 0:
                    return fault
            if wants_offset:
                out.offset[rows] = offset
            if wants_timestamp:
                ms = max_timestamp if appended else base_timestamp + timestamp_delta
                if ms > layout.MOST_TIMESTAMP_MS or ms < -layout.MOST_TIMESTAMP_MS:
                    tally[layout.TALLY_FAULTY_OFFSET] = offset
                    tally[layout.TALLY_FAULTY_TIMESTAMP] = ms
                    return layout.FAULT_TIMESTAMP
                out.timestamp[rows] = ms * 1000
            if wants_type:
                out.timestamp_type[rows] = 1 if appended else 0
            rows += 1
            pos = end
        if pos != batch_end:
            return layout.FAULT_BYTES_LEFT
    tally[layout.TALLY_NULL_KEYS] += null_keys
    tally[layout.TALLY_NULL_VALUES] += null_values
    return rows


@_inlined
def _read_legacy(data: ByteArray, pos: int, length: int, magic: int, batch: Any) -> None:
    # A message counts as a batch of its own: the decoder of these formats reads it from its first byte on.
    batch.start = pos
    batch.base_offset = batch.last_offset = _big_endian(data, pos, 8)
    batch.crc = _big_endian(data, pos + 12, 4) & 0xFFFFFFFF
    batch.attributes = _big_endian(data, pos + 17, 1)
    batch.base_timestamp = batch.max_timestamp = batch.producer_id = batch.count = -1
    if batch.base_offset < 0 or batch.base_offset > _MOST_OFFSET:
        batch.fault = layout.FAULT_OFFSET
    elif length < _MIN_LEGACY_BYTES[magic]:
        batch.fault = layout.FAULT_BATCH_TOO_SHORT


@_inlined
def _read_v2(data: ByteArray, pos: int, batch: Any) -> None:
    last_offset_delta = _big_endian(data, pos + 23, 4)
    batch.start = pos + layout.BATCH_OVERHEAD
    batch.base_offset = _big_endian(data, pos, 8)
    batch.last_offset = batch.base_offset + last_offset_delta
    batch.crc = _big_endian(data, pos + 17, 4) & 0xFFFFFFFF
    batch.attributes = _big_endian(data, pos + 21, 2)
    batch.base_timestamp = _big_endian(data, pos + 27, 8)
    batch.max_timestamp = _big_endian(data, pos + 35, 8)
    batch.producer_id = _big_endian(data, pos + 43, 8)
    batch.count = _big_endian(data, pos + 57, 4)
    if batch.base_offset < 0 or batch.base_offset > _MOST_OFFSET or last_offset_delta < 0:
        batch.fault = layout.FAULT_OFFSET
    elif batch.count < 0:
        batch.fault = layout.FAULT_COUNT


@_inlined
def scan(data: ByteArray, batches: BatchArray) -> int:
    """Read the headers of complete batches, of any format, into ``batches`` as far as it has room.

    Return how many there are. One with a broken header is the last: where the next one begins is not known.
    """
    pos = 0
    count = 0
    while pos + _MAGIC_AT < data.size:
        length = _big_endian(data, pos + 8, 4)
        magic = _big_endian(data, pos + _MAGIC_AT, 1)
        if length > data.size - pos - _LOG_OVERHEAD:
            break  # the broker cuts the last batch where the response is full
        too_short = length < (_MIN_LEGACY_BYTES[0] if magic < 2 else layout.BATCH_OVERHEAD - _LOG_OVERHEAD)
        fault = (
            layout.FAULT_MAGIC if magic < 0 or magic > 2 else layout.FAULT_BATCH_TOO_SHORT if too_short else 0
        )
        if count < batches.size:
            batch = batches[count]
            batch.magic = magic
            batch.end = pos + _LOG_OVERHEAD + length
            batch.fault = fault
            if fault != 0:
                batch.base_offset = batch.last_offset = _big_endian(data, pos, 8)
            elif magic < 2:
                _read_legacy(data, pos, length, magic, batch)
            else:
                _read_v2(data, pos, batch)
            fault = batch.fault
        count += 1
        if fault != 0:
            break
        pos += _LOG_OVERHEAD + length
    return count
