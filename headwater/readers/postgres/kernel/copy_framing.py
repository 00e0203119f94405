"""Cuts the answer to ``COPY ... TO STDOUT (FORMAT binary)`` into rows and values.

The bytes are messages of the protocol, version 3: a letter, four bytes with the length, the content. The
server sends one ``CopyData`` for each row, the first one behind the head of COPY's file format, and one for
its end.
"""

from __future__ import annotations

from headwater.readers.kernels.memory import (
    get,
    inlined,
    int64,
    load_byte,
    load_int32,
    put,
    store_int32,
    swapped_int32,
)
from headwater.readers.postgres import layout as L

_COPY_DATA = 0x64
_HEAD = 19
"""Signature, flags, and the length of an extension that follows."""
_EXTENSION = 15
"""Where in the head that length is."""


def frame(
    data: int, begin: int, end: int, columns: int, room: int, starts: int, lengths: int, state: int
) -> int:
    """Cut rows off, ``room`` at most; return how many.

    Args:
        data: the address of the bytes.
        begin: where in them the next message begins.
        end: how many bytes there are.
        columns: how many values a row has.
        room: for how many rows there is memory.
        starts: an int64 for each value of each row: where in ``data`` it begins.
        lengths: an int32 for each: how many bytes it has; `layout.NULL` for none.
        state: of `layout.STATE` numbers.
    """
    rows = int64(0)
    at = int64(begin)
    reason = int64(L.MORE)
    while True:
        put(state, L.NEEDED, 5)
        if end - at < 5:
            break
        size = _int32(data + at + 1) + 1
        put(state, L.NEEDED, size)
        if size < 5:
            reason = int64(L.BROKEN)
            break
        if load_byte(data + at) != _COPY_DATA:
            reason = int64(L.OTHER)
            break
        if end - at < size:
            break
        field = at + 5
        stop = at + size
        if get(state, L.HEADER) == 0:
            if stop - field < _HEAD:
                reason = int64(L.BROKEN)
                break
            extension = _int32(data + field + _EXTENSION)
            field += _HEAD
            if extension < 0 or extension > stop - field:
                reason = int64(L.BROKEN)
                break
            field += extension
            if field == stop:
                put(state, L.HEADER, 1)
                at = stop
                continue
        if stop - field < 2:
            reason = int64(L.BROKEN)
            break
        count = load_byte(data + field) << 8 | load_byte(data + field + 1)
        if count == 0xFFFF:
            put(state, L.HEADER, 1)
            at = stop
            continue
        if rows == room:
            reason = int64(L.FULL)
            break
        if count != columns or not _values(data, field + 2, stop, columns, starts, lengths, rows * columns):
            reason = int64(L.BROKEN)
            break
        put(state, L.HEADER, 1)
        rows += 1
        at = stop
    put(state, L.AT, at)
    put(state, L.REASON, reason)
    return rows


@inlined
def _values(data: int, field: int, stop: int, columns: int, starts: int, lengths: int, first: int) -> bool:
    """Note where the values of a row lie; return whether they fill it."""
    for column in range(columns):
        if stop - field < 4:
            return False
        length = _int32(data + field)
        field += 4
        put(starts, first + column, field)
        store_int32(lengths + 4 * (first + column), length)
        if length > 0:
            field += length
        elif length < -1:
            return False
    return field == stop


@inlined
def _int32(at: int) -> int:
    return swapped_int32(load_int32(at))
