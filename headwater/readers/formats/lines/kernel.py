"""Finds the ends of lines, as machine code: notes where lines lie, or copies them without their ends.

A line ends at one of two bytes, which may be the same. If they are not, they are the line feed and the
carriage return, and a line feed right behind a carriage return belongs to the same end. After the last end
comes one more line if there are bytes left.
"""

from __future__ import annotations

from headwater.readers.kernels.memory import (
    CHUNK_BYTES,
    any_of_three,
    copy_bytes,
    copy_chunk,
    inlined,
    load_byte,
    put,
    store_int32,
    trailing_zeros,
)

_LINE_FEED = 10
_CARRIAGE_RETURN = 13


def split_lines(
    data: int, end: int, one: int, other: int, room: int, places: int, sizes: int, text: int
) -> int:
    """Find lines, note ``room`` of them at most, and return how many there are.

    Args:
        data: the address of the first byte.
        end: the address behind the last one.
        one: a byte that ends a line.
        other: another one, or the same.
        room: for how many lines there is memory.
        places: if ``text`` is 0, an int64 for each line: where it begins, counted from ``data``. Else an
            int32 for 0, and one for each line: where in ``text`` it ends.
        sizes: if ``text`` is 0, an int64 for each line: how many bytes it has.
        text: where to copy the lines, one behind the other. Has room for all bytes, and `CHUNK_BYTES` more.
    """
    count = 0
    begin = data
    to = text
    if text != 0:
        store_int32(places, 0)
    while begin < end:
        stop = _line_end(begin, end, one, other)
        if text != 0:
            _copy(to, begin, stop - begin, end)
            to += stop - begin
        if count < room:
            if text != 0:
                store_int32(places + 4 * count + 4, to - text)
            else:
                put(places, count, begin - data)
                put(sizes, count, stop - begin)
        count += 1
        begin = _behind(stop, end, one != other)
    return count


@inlined
def _line_end(at: int, end: int, one: int, other: int) -> int:
    """Return the address of the first byte that ends a line; ``end`` if none does."""
    while end - at >= CHUNK_BYTES:
        matches: int = any_of_three(at, one, other, other)
        if matches != 0:
            return at + trailing_zeros(matches)
        at += CHUNK_BYTES
    while at < end:
        byte = load_byte(at)
        if byte == one or byte == other:
            return at
        at += 1
    return end


@inlined
def _behind(stop: int, end: int, has_pairs: bool) -> int:
    """Return where the next line begins, after one that ends at ``stop``."""
    begin = stop + 1
    if has_pairs and begin < end and load_byte(stop) == _CARRIAGE_RETURN:
        return begin + (load_byte(begin) == _LINE_FEED)
    return begin


@inlined
def _copy(to: int, begin: int, size: int, end: int) -> None:
    """Copy a line, in whole chunks as long as they can be loaded: bytes behind it are overwritten later."""
    while size > 0:
        if end - begin < CHUNK_BYTES:
            copy_bytes(to, begin, size)
            return
        copy_chunk(to, begin)
        to += CHUNK_BYTES
        begin += CHUNK_BYTES
        size -= CHUNK_BYTES
