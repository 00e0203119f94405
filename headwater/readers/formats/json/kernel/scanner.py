"""The tokens of JSON, as Jackson reads them with Spark's settings: single quotes and NaN are taken too.

A position is an address. Up to 64 bytes behind the end of a value may be loaded, which mean nothing. A
function that returns a position returns 0 where there is no such token.
"""

from __future__ import annotations

from headwater.readers.formats.json import layout as L
from headwater.readers.formats.values.kernel import characters as C
from headwater.readers.formats.values.kernel.characters import is_digit, peek
from headwater.readers.kernels.memory import (
    CHUNK_BYTES,
    called,
    inlined,
    int64,
    json_text_ends,
    load_byte,
    load_int32,
    store_byte,
    trailing_zeros,
)

_TRUE = 0x65757274
_ALSE = 0x65736C61
_NULL = 0x6C6C756E
_INF = 0x464E49
_NAN = 0x4E614E
_INFI = 0x69666E49
_NITY = 0x7974696E


@inlined
def skip_space(at: int, end: int) -> int:
    """Return where the next token begins, or the end."""
    while at < end:
        byte = load_byte(at)
        if byte > 32 or (byte != 32 and byte != 10 and byte != 13 and byte != 9):
            break
        at += 1
    return at


@inlined
def hexadecimal(at: int) -> int:
    """Return the number of four hexadecimal digits, -1 if they are none."""
    value = int64(0)
    for i in range(4):
        byte = load_byte(at + i)
        lower = byte | 0x20
        if is_digit(byte):
            value = value * 16 + byte - 48
        elif lower >= 97 and lower <= 102:
            value = value * 16 + lower - 87
        else:
            return int64(-1)
    return value


@inlined
def plain_string_end(at: int, end: int) -> int:
    """Return where the closing quotation mark of a short string without escapes is; 0 for other strings."""
    ends = json_text_ends(at + 1)
    last = at + 1 + trailing_zeros(ends)
    return last if ends != 0 and last < end and load_byte(last) == C.QUOTE else int64(0)


@called
def skip_string(at: int, end: int) -> int:
    """Return where the string that begins here with a quotation mark ends."""
    quote = load_byte(at)
    at += 1
    while at < end:
        ends = json_text_ends(at) if quote == C.QUOTE else int64(1)
        if ends == 0:
            at += CHUNK_BYTES
            continue
        at += trailing_zeros(ends)
        if at >= end:
            return 0
        byte = load_byte(at)
        if byte == quote:
            return at + 1
        if byte < 32:
            return 0
        if byte != C.BACKSLASH:
            at += 1
            continue
        size = escape_size(at, end)
        if size == 0:
            return 0
        at += size
    return 0


@inlined
def escape_size(at: int, end: int) -> int:
    """Return how many bytes the escape that begins here has, 0 if it is none."""
    byte = peek(at + 1, end)
    if byte == 0x75:
        return 6 if at + 6 <= end and hexadecimal(at + 2) >= 0 else 0
    # One of "\/bfnrt'
    fine = (
        byte == C.QUOTE
        or byte == C.BACKSLASH
        or byte == 0x2F
        or byte == 0x62
        or byte == 0x66
        or byte == 0x6E
        or byte == 0x72
        or byte == 0x74
        or byte == C.APOSTROPHE
    )
    return 2 if fine else 0


@called
def skip_number(at: int, end: int) -> int:
    """Return where the number that begins here with a digit or a minus ends."""
    first = at
    if load_byte(at) == C.MINUS:
        at += 1
    if not is_digit(peek(at, end)):
        return 0
    if load_byte(at) == 48 and is_digit(peek(at + 1, end)):
        return 0
    while is_digit(peek(at, end)):
        at += 1
    if peek(at, end) == C.DOT:
        at += 1
        if not is_digit(peek(at, end)):
            return 0
        while is_digit(peek(at, end)):
            at += 1
    if peek(at, end) | 0x20 == 0x65:
        at += 1
        sign = peek(at, end)
        if sign == C.PLUS or sign == C.MINUS:
            at += 1
        if not is_digit(peek(at, end)):
            return 0
        while is_digit(peek(at, end)):
            at += 1
    return at if at - first <= L.MOST_NUMBER_BYTES else 0


@called
def skip_special(at: int, end: int) -> int:
    """Return where NaN, Infinity, -INF and the like end."""
    byte = load_byte(at)
    if byte == 0x4E:
        return at + 3 if at + 3 <= end and load_int32(at) & 0xFFFFFF == _NAN else 0
    signed = byte == C.PLUS or byte == C.MINUS
    if signed:
        at += 1
        if at + 3 <= end and load_int32(at) & 0xFFFFFF == _INF:
            return at + 3
    if at + 8 <= end and load_int32(at) == _INFI and load_int32(at + 4) == _NITY:
        return at + 8
    return 0


@called
def skip_scalar(at: int, end: int) -> int:
    """Return where the string, number or word that begins here ends."""
    byte = peek(at, end)
    if byte == C.QUOTE or byte == C.APOSTROPHE:
        return skip_string(at, end)
    if is_digit(byte) or (byte == C.MINUS and is_digit(peek(at + 1, end))):
        return skip_number(at, end)
    if byte == 0x74:
        return at + 4 if at + 4 <= end and load_int32(at) == _TRUE else 0
    if byte == 0x6E:
        return at + 4 if at + 4 <= end and load_int32(at) == _NULL else 0
    if byte == 0x66:
        return at + 5 if at + 5 <= end and load_int32(at + 1) == _ALSE else 0
    return skip_special(at, end) if at < end else 0


@called
def skip_name(at: int, end: int) -> int:
    """Return where the value begins whose name and colon are here."""
    byte = peek(at, end)
    if byte != C.QUOTE and byte != C.APOSTROPHE:
        return 0
    at = skip_string(at, end)
    if at == 0:
        return 0
    at = skip_space(at, end)
    return skip_space(at + 1, end) if peek(at, end) == C.COLON else 0


@inlined
def _push(levels: int, depth: int, is_object: int) -> None:
    byte = levels + (depth >> 3)
    bit = depth & 7
    store_byte(byte, (load_byte(byte) & ~(1 << bit)) | (is_object << bit))


@inlined
def _top(levels: int, depth: int) -> int:
    return (load_byte(levels + ((depth - 1) >> 3)) >> ((depth - 1) & 7)) & 1


@called
def skip_value(at: int, end: int, levels: int, outer: int) -> int:
    """Return where the value that begins here ends.

    ``levels`` has room for a bit for each open container; ``outer`` is how many containers are around it.
    """
    depth = int64(0)
    while True:
        byte = peek(at, end)
        if byte == C.OPEN_OBJECT or byte == C.OPEN_LIST:
            is_object = 1 if byte == C.OPEN_OBJECT else 0
            if outer + depth >= L.MOST_DEPTH:
                return 0
            _push(levels, depth, is_object)
            depth += 1
            at = skip_space(at + 1, end)
            if peek(at, end) == (C.CLOSE_OBJECT if is_object == 1 else C.CLOSE_LIST):
                at += 1
                depth -= 1
            else:
                if is_object == 1:
                    at = skip_name(at, end)
                    if at == 0:
                        return 0
                continue
        else:
            at = skip_scalar(at, end)
            if at == 0:
                return 0
        # After a value: the containers that end here, and the bytes before the next value.
        while True:
            if depth == 0:
                return at
            at = skip_space(at, end)
            byte = peek(at, end)
            at += 1
            is_object = _top(levels, depth)
            if byte == C.COMMA:
                at = skip_space(at, end)
                if is_object == 1:
                    at = skip_name(at, end)
                    if at == 0:
                        return 0
                break
            if byte != (C.CLOSE_OBJECT if is_object == 1 else C.CLOSE_LIST):
                return 0
            depth -= 1


@called
def skip_rest(at: int, end: int, is_object: bool, levels: int, outer: int) -> int:
    """Return where the container ends one of whose values has ended here."""
    while True:
        at = skip_space(at, end)
        byte = peek(at, end)
        at += 1
        if byte == (C.CLOSE_OBJECT if is_object else C.CLOSE_LIST):
            return at
        if byte != C.COMMA:
            return 0
        at = skip_space(at, end)
        if is_object:
            at = skip_name(at, end)
            if at == 0:
                return 0
        at = skip_value(at, end, levels, outer)
        if at == 0:
            return 0
