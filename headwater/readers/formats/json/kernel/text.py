"""Strings of JSON as UTF-8, and values as the text that Spark gives a field of strings."""

from __future__ import annotations

from headwater.readers.formats.json.kernel.scanner import escape_size, hexadecimal, skip_scalar, skip_space
from headwater.readers.formats.values.kernel import characters as C
from headwater.readers.formats.values.kernel.characters import is_digit, peek
from headwater.readers.formats.values.kernel.double_text import put_double
from headwater.readers.formats.values.kernel.numbers import to_double
from headwater.readers.kernels.memory import (
    CHUNK_BYTES,
    called,
    copy_bytes,
    copy_chunk,
    inlined,
    int64,
    json_text_ends,
    load_byte,
    non_ascii,
    store_byte,
    trailing_zeros,
)
from headwater.readers.kernels.utf8 import is_utf8, put_code_point, put_utf8

TEXT_GROWTH = 4
"""The most bytes that `put_text` and `put_compact` write for each of the input, beside `TEXT_SPARE`."""
TEXT_SPARE = 64


@inlined
def escaped_character(at: int, end: int, lone: int) -> tuple[int, int]:
    """Return the character of an escape that `escape_size` has seen, and where the escape ends.

    ``lone`` stands for a surrogate without its other half; 0 for that one itself.
    """
    byte = load_byte(at + 1)
    if byte != 0x75:
        code = (
            10
            if byte == 0x6E
            else 9
            if byte == 0x74
            else 13
            if byte == 0x72
            else 8
            if byte == 0x62
            else 12
            if byte == 0x66
            else byte
        )
        return code, at + 2
    code = hexadecimal(at + 2)
    at += 6
    if code >= 0xD800 and code < 0xE000:
        if code < 0xDC00 and at + 6 <= end and load_byte(at) == C.BACKSLASH and load_byte(at + 1) == 0x75:
            low = hexadecimal(at + 2)
            if low >= 0xDC00 and low < 0xE000:
                return 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00), at + 6
        return code if lone == 0 else lone, at
    return code, at


@called
def put_text(at: int, end: int, to: int, lone: int) -> tuple[int, int]:
    """Write the text of the string that begins here with a quotation mark.

    Return where the string ends, 0 if it is none, and where the text ends. ``lone``: see `escaped_character`.
    """
    first = to
    quote = load_byte(at)
    at += 1
    begin = at
    high = int64(0)
    while at < end:
        ends = json_text_ends(at) if quote == C.QUOTE else int64(1)
        copy_chunk(to, at)
        size = CHUNK_BYTES if ends == 0 else trailing_zeros(ends)
        high |= non_ascii(at) & ((1 << size) - 1)
        at += size
        to += size
        if ends == 0:
            continue
        if at >= end:
            break
        byte = load_byte(at)
        if byte == quote:
            if high != 0 and not is_utf8(first, to):
                return _put_broken_text(begin, end, quote, first, lone)
            return at + 1, to
        if byte < 32:
            break
        if byte != C.BACKSLASH:
            store_byte(to, byte)
            high |= byte >> 7
            at += 1
            to += 1
            continue
        if escape_size(at, end) == 0:
            break
        code, at = escaped_character(at, end, lone)
        to = put_code_point(to, code)
    return int64(0), to


@called
def _put_broken_text(at: int, end: int, quote: int, to: int, lone: int) -> tuple[int, int]:
    """Write the text of a string whose end was seen, and which is not well-formed."""
    while load_byte(at) != quote:
        plain = at
        while load_byte(at) != quote and load_byte(at) != C.BACKSLASH:
            at += 1
        to = put_utf8(to, plain, at)
        if load_byte(at) == C.BACKSLASH:
            code, at = escaped_character(at, end, lone)
            to = put_code_point(to, code)
    return at + 1, to


@called
def put_escape(to: int, code: int) -> int:
    """Write an escape of four hexadecimal digits, and return its end."""
    store_byte(to, C.BACKSLASH)
    store_byte(to + 1, 0x75)
    for i in range(4):
        digit = code >> (12 - 4 * i) & 15
        store_byte(to + 2 + i, digit + (48 if digit < 10 else 55))
    return to + 6


@called
def put_quoted(to: int, at: int, end: int) -> int:
    """Write text as a JSON string, and return its end. Surrogates become escapes, as in Jackson."""
    store_byte(to, C.QUOTE)
    to += 1
    while at < end:
        byte = load_byte(at)
        at += 1
        short = (
            byte
            if byte == C.QUOTE or byte == C.BACKSLASH
            else 0x6E
            if byte == 10
            else 0x74
            if byte == 9
            else 0x72
            if byte == 13
            else 0x62
            if byte == 8
            else 0x66
            if byte == 12
            else 0
        )
        if short != 0:
            store_byte(to, C.BACKSLASH)
            store_byte(to + 1, short)
            to += 2
        elif byte < 32:
            to = put_escape(to, byte)
        elif byte >= 0xF0:
            code = (byte & 7) << 18 | (load_byte(at) & 63) << 12 | (load_byte(at + 1) & 63) << 6
            code |= load_byte(at + 2) & 63
            to = put_escape(to, 0xD7C0 + (code >> 10))
            to = put_escape(to, 0xDC00 + (code & 0x3FF))
            at += 3
        elif byte == 0xED and load_byte(at) >= 0xA0:
            to = put_escape(to, 0xD000 | (load_byte(at) & 63) << 6 | load_byte(at + 1) & 63)
            at += 2
        else:
            store_byte(to, byte)
            to += 1
    store_byte(to, C.QUOTE)
    return to + 1


@called
def put_number_text(at: int, end: int, to: int, scratch: int) -> int:
    """Write a number as Jackson does, and return the end: integers as they are, others as doubles.

    A value that JSON has no number for is a string.
    """
    is_integer = True
    for i in range(at, end):
        byte = load_byte(i)
        if byte != C.MINUS and not is_digit(byte):
            is_integer = False
    if is_integer:
        if end - at == 2 and load_byte(at) == C.MINUS and load_byte(at + 1) == 48:
            at = end - 1  # there is no -0 among integers
        copy_bytes(to, at, end - at)
        return to + end - at
    value = to_double(at, end, scratch)
    if value - value == 0:
        return put_double(to, value, scratch)
    store_byte(to, C.QUOTE)
    to = put_double(to + 1, value, scratch)
    store_byte(to, C.QUOTE)
    return to + 1


@inlined
def _put_exact(to: int, at: int, end: int) -> int:
    """Write a number as it stands, NaN and the like as strings."""
    is_number = is_digit(load_byte(end - 1))
    if not is_number:
        store_byte(to, C.QUOTE)
        to += 1
    copy_bytes(to, at, end - at)
    to += end - at
    if not is_number:
        store_byte(to, C.QUOTE)
        to += 1
    return to


@called
def put_compact(at: int, end: int, to: int, room: int, scratch: int, exact: bool) -> int:
    """Write a value, which was seen to be one and to end at ``end``, as Jackson writes what it has read.

    Strings are unescaped into the last bytes of the room and escaped again: so the room is twice
    `TEXT_GROWTH` times the value. Return the end of the copy. With ``exact`` numbers stay as they are.
    """
    middle = to + (room >> 1)
    while at < end:
        at = skip_space(at, end)
        byte = peek(at, end)
        if at >= end:
            break
        if byte == C.QUOTE or byte == C.APOSTROPHE:
            at, last = put_text(at, end, middle, 0)
            to = put_quoted(to, middle, last)
        elif is_digit(byte) or byte == C.MINUS or byte == 0x2B or byte == 0x4E or byte == 0x49:
            value_end = skip_scalar(at, end)
            to = _put_exact(to, at, value_end) if exact else put_number_text(at, value_end, to, scratch)
            at = value_end
        else:
            store_byte(to, byte)
            to += 1
            at += 1
    return to
