"""Text and bytes in columns, for kernels: appended, or written as the current entry."""

from __future__ import annotations

import numpy as np

from headwater.readers.formats.columns import layout as T
from headwater.readers.formats.columns.kernel.nodes import append_end
from headwater.readers.formats.columns.kernel.room import has_data_room, has_room_up_to
from headwater.readers.kernels.memory import (
    CHUNK_BYTES,
    always_inlined,
    called,
    copy_bytes,
    copy_chunk,
    get,
    inlined,
    int64,
    load_byte,
    put,
    store_byte,
    store_int32,
)
from headwater.readers.kernels.utf8 import REPLACEMENT_GROWTH, is_ascii, is_utf8, put_utf8

NO_ROOM = -1
"""The result of `write_bytes` and `write_text` if the data can have no more room."""
NO_TEXT = -2

_BASE64 = np.frombuffer(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", np.uint8)
_PADDING = 0x3D

_FEW_BYTES = 8 * CHUNK_BYTES
"""Up to this size bytes are copied chunk by chunk; memcpy is as fast from here on."""


@called
def append_bytes(node: int, at: int, size: int) -> bool:
    """Append a value of bytes. Return False, and append nothing, if its data can have no more room."""
    if not has_data_room(node, size):
        return False
    data_size = get(node, T.NODE_DATA_SIZE)
    copy_bytes(get(node, T.NODE_DATA) + data_size, at, size)
    put(node, T.NODE_DATA_SIZE, data_size + size)
    append_end(node, data_size + size)
    return True


@called
def append_text(node: int, at: int, size: int) -> bool:
    """Append a string, as `put_utf8` makes it. Return False, and append nothing, without enough room."""
    if is_utf8(at, at + size):
        return append_bytes(node, at, size)
    if not has_data_room(node, REPLACEMENT_GROWTH * size):
        return False
    data = get(node, T.NODE_DATA)
    filled = put_utf8(data + get(node, T.NODE_DATA_SIZE), at, at + size) - data
    put(node, T.NODE_DATA_SIZE, filled)
    append_end(node, filled)
    return True


@always_inlined
def write_bytes(node: int, begin: int, at: int, size: int, limit: int) -> int:
    """Copy bytes to where data begins, and return where it ends; `NO_ROOM`: nothing was written.

    Args:
        node: whose data.
        begin: counted from the first byte of the data. The data behind it is lost.
        at: the address of the bytes.
        size: how many there are.
        limit: the end of all bytes that may be loaded.
    """
    if begin + size > get(node, T.NODE_MOST_DATA):
        return _write_more(node, begin, at, size)
    return _copied(node, begin, at, size, limit)


@always_inlined
def _copied(node: int, begin: int, at: int, size: int, limit: int) -> int:
    to = get(node, T.NODE_DATA) + begin
    if size <= _FEW_BYTES and at + size + CHUNK_BYTES <= limit:
        copy_chunk(to, at)
        for offset in range(CHUNK_BYTES, size, CHUNK_BYTES):
            copy_chunk(to + offset, at + offset)
    else:
        copy_bytes(to, at, size)
    return begin + size


# A function of its own, behind which the path of each field does not go on: it would be slower.
@called
def _write_more(node: int, begin: int, at: int, size: int) -> int:
    if not has_room_up_to(node, begin + size):
        return int64(NO_ROOM)
    copy_bytes(get(node, T.NODE_DATA) + begin, at, size)
    return begin + size


@always_inlined
def write_text(node: int, begin: int, at: int, size: int, limit: int, checked: bool) -> int:
    """Copy text, as `write_bytes` does.

    Bytes that are not UTF-8 are replaced as `put_utf8` says; if text is ``checked``, `NO_TEXT` is returned.
    """
    if begin + size > get(node, T.NODE_MOST_DATA):
        return _write_more_text(node, begin, at, size, checked)
    end = _copied(node, begin, at, size, limit)
    if is_ascii(get(node, T.NODE_DATA) + begin, size):
        return end
    return _write_odd_text(node, begin, at, size, checked)


@called
def _write_more_text(node: int, begin: int, at: int, size: int, checked: bool) -> int:
    if _write_more(node, begin, at, size) == NO_ROOM:
        return int64(NO_ROOM)
    return _write_odd_text(node, begin, at, size, checked)


@called
def _write_odd_text(node: int, begin: int, at: int, size: int, checked: bool) -> int:
    if is_utf8(at, at + size):
        return begin + size  # it was copied before
    if checked:
        return NO_TEXT
    if not has_room_up_to(node, begin + REPLACEMENT_GROWTH * size):
        return NO_ROOM
    data = get(node, T.NODE_DATA)
    return put_utf8(data + begin, at, at + size) - data


@inlined
def _base64_digits(bits: int) -> int:
    """Return the four digits of 24 bits as a number of 32, the first digit in its lowest byte."""
    first = int64(_BASE64[bits >> 18])
    second = int64(_BASE64[bits >> 12 & 63])
    third = int64(_BASE64[bits >> 6 & 63])
    return first | second << 8 | third << 16 | int64(_BASE64[bits & 63]) << 24


@called
def write_base64(node: int, begin: int, at: int, size: int) -> int:
    """Write bytes as Base64 to where data begins, and return where it ends, or `NO_ROOM`."""
    if not has_room_up_to(node, begin + (size + 2) // 3 * 4):
        return NO_ROOM
    data = get(node, T.NODE_DATA)
    to = data + begin
    end = at + size
    while end - at >= 3:
        store_int32(to, _base64_digits(load_byte(at) << 16 | load_byte(at + 1) << 8 | load_byte(at + 2)))
        at += 3
        to += 4
    if at < end:
        second = load_byte(at + 1) if end - at == 2 else int64(0)
        store_int32(to, _base64_digits(load_byte(at) << 16 | second << 8))
        store_byte(to + 3, _PADDING)
        if end - at == 1:
            store_byte(to + 2, _PADDING)
        to += 4
    return to - data
