"""Characters of the input one after the other, and the value that is put together of them.

univocity's reader and appender do the same. An error lets the functions go on without effect: it is seen at
the end of the record.
"""

from __future__ import annotations

from headwater.readers.formats.columns import layout as T
from headwater.readers.formats.csv import layout as L
from headwater.readers.kernels.memory import (
    called,
    copy_bytes,
    get,
    inlined,
    int64,
    load_byte,
    put,
    store_byte,
    store_int64,
)
from headwater.readers.kernels.utf8 import put_code_point, sequence

SPACE_CHARACTER = 32
NO_CHARACTER = -1
_MOST_BYTES = 4


@inlined
def option(state: int, which: int) -> int:
    """Return one of the options."""
    return get(get(state, L.OPTIONS), which)


@inlined
def newline(state: int) -> int:
    """Return the end of records: every line separator becomes it."""
    return option(state, L.OPTION_NEWLINE)


@inlined
def character_at(at: int, end: int) -> tuple[int, int]:
    """Return the character here, and how many bytes it has."""
    byte = load_byte(at)
    if byte < 0x80:
        return byte, int64(1)
    size = int64(sequence(at, end))
    if size <= 0:
        return int64(L.WRONG_BYTE) | byte, int64(1)
    value = byte & (0x7F >> size)
    for i in range(1, size):
        value = value << 6 | (load_byte(at + i) & 0x3F)
    return value, size


@called
def next_character(state: int) -> int:
    """Return the next character, `NO_CHARACTER` behind the last one."""
    at = get(state, L.AT)
    end = get(state, L.END)
    if at >= end:
        put(state, L.SAW_END, 1)
        return int64(NO_CHARACTER)
    put(get(state, L.READER), L.HERE, at)
    character, size = character_at(at, end)
    at += size
    if character == option(state, L.OPTION_LINE_END):
        if at >= end:
            put(state, L.SAW_END, 1)
        two = option(state, L.OPTION_LINE_END_TWO)
        following, size = character_at(at, end) if at < end else (int64(0), int64(0))
        if (two == 0 or (at < end and following == two)) and get(get(state, L.READER), L.NORMALIZE) == 1:
            character = newline(state)
            at += size if two != 0 else int64(0)
    put(state, L.AT, at)
    return character


@inlined
def advance(state: int) -> bool:
    """Take the next character in hand. Return whether there is one."""
    character = next_character(state)
    if character == NO_CHARACTER:
        return False
    put(get(state, L.READER), L.CHARACTER, character)
    return True


@called
def append(state: int, character: int) -> None:
    """Append a character to the value."""
    reader = get(state, L.READER)
    if get(reader, L.SKIPPED) == 1:
        return
    to = get(reader, L.TEXT_END)
    if to + _MOST_BYTES > get(state, L.SCRATCH) + get(state, L.SCRATCH_SIZE):
        put(state, T.STATE_STOP, L.STOP_MORE_SCRATCH)
        return
    _count(state, int64(2) if character > 0xFFFF and character < L.WRONG_BYTE else int64(1))
    put(reader, L.TEXT_END, put_character(to, character))


@called
def append_bytes(state: int, at: int, size: int) -> None:
    """Append bytes of the input to the value: as many characters, where their number is limited."""
    reader = get(state, L.READER)
    if get(reader, L.SKIPPED) == 1:
        return
    to = get(reader, L.TEXT_END)
    if to + size > get(state, L.SCRATCH) + get(state, L.SCRATCH_SIZE):
        put(state, T.STATE_STOP, L.STOP_MORE_SCRATCH)
        return
    _count(state, size)
    copy_bytes(to, at, size)
    put(reader, L.TEXT_END, to + size)


@inlined
def _count(state: int, more: int) -> None:
    """Count UTF-16 units of the value. Too many of them are an error of the record."""
    count = get(get(state, L.READER), L.CHARACTERS) + more
    most = option(state, L.OPTION_MOST_CHARACTERS)
    if most >= 0 and count > most and get(state, L.FATAL) == 0:
        put(state, L.FATAL, L.REASON_MOST_CHARACTERS)
    put(get(state, L.READER), L.CHARACTERS, count)


@called
def put_character(to: int, character: int) -> int:
    """Write a character, and return its end."""
    if character >= L.WRONG_BYTE:
        store_byte(to, character)
        return to + 1
    return put_code_point(to, character)


@called
def prepend(state: int, character: int) -> None:
    """Put a character before the value."""
    reader = get(state, L.READER)
    first = get(reader, L.TEXT)
    last = get(reader, L.TEXT_END)
    append(state, character)
    size = get(reader, L.TEXT_END) - last
    for at in range(last - 1, first - 1, -1):
        store_byte(at + size, load_byte(at))
    if size > 0:
        put_character(first, character)


@inlined
def length(state: int) -> int:
    """Return how many bytes of the value count."""
    reader = get(state, L.READER)
    return get(reader, L.TEXT_END) - get(reader, L.TEXT) - get(reader, L.BLANKS)


@inlined
def clear(state: int) -> None:
    """Begin the value anew."""
    reader = get(state, L.READER)
    put(reader, L.TEXT_END, get(reader, L.TEXT))
    put(reader, L.BLANKS, 0)
    put(reader, L.CHARACTERS, 0)
    put(reader, L.SKIPPED, 0)


@called
def add_token(state: int, at: int, size: int) -> None:
    """Append a value to the record."""
    count = get(state, L.TOKEN_COUNT)
    if count >= option(state, L.OPTION_MOST_COLUMNS):
        if get(state, L.FATAL) == 0:
            put(state, L.FATAL, L.REASON_MOST_COLUMNS)
        return
    token = get(state, L.TOKENS) + L.TOKEN_BYTES * count
    store_int64(token, at)
    store_int64(token + 8, size)
    put(state, L.TOKEN_COUNT, count + 1)


@called
def trim_value(state: int) -> None:
    """Let white space at the end of the value not count."""
    reader = get(state, L.READER)
    at = get(reader, L.TEXT_END)
    while at > get(reader, L.TEXT) and load_byte(at - 1) <= SPACE_CHARACTER:
        at -= 1
    put(reader, L.BLANKS, get(reader, L.TEXT_END) - at)


@called
def end_value(state: int) -> None:
    """Append the value that was put together to the record."""
    reader = get(state, L.READER)
    if get(reader, L.TRIM) == 1:
        trim_value(state)
    size = length(state)
    empty = int64(L.NULL_TOKEN) if get(reader, L.SKIPPED) == 1 else int64(L.EMPTY_TOKEN)
    add_token(state, get(reader, L.TEXT) if size > 0 else empty, size)
    put(reader, L.TEXT, get(reader, L.TEXT_END))
    clear(state)
