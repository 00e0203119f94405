"""Characters of the input one after the other, and the value that is put together of them.

It is what univocity's reader and appender do. An error lets the functions go on without effect: it is seen at
the end of the record.
"""

# mypy: disable-error-code="call-arg,no-any-return,no-untyped-call,return-value,unused-ignore"
# numba's own types differ from release to release, and know little of what compiled code may call.

# ruff: noqa: PLR1714, SIM109
# Compiled functions take positions only, and have no cheap sets.

from __future__ import annotations

from headwater.readers.formats.csv.layout import (
    AT,
    BLANKS,
    CHARACTER,
    CHARACTERS,
    EMPTY_TOKEN,
    END,
    FATAL,
    HERE,
    NORMALIZE,
    NULL_TOKEN,
    OPTION_LINE_END,
    OPTION_LINE_END_TWO,
    OPTION_MOST_CHARACTERS,
    OPTION_MOST_COLUMNS,
    OPTION_NEWLINE,
    OPTIONS,
    READER,
    REASON_MOST_CHARACTERS,
    REASON_MOST_COLUMNS,
    SAW_END,
    SCRATCH,
    SCRATCH_SIZE,
    SKIPPED,
    STOP_MORE_SCRATCH,
    TEXT,
    TEXT_END,
    TOKEN_BYTES,
    TOKEN_COUNT,
    TOKENS,
    TRIM,
    WRONG_BYTE,
)
from headwater.readers.formats.kernel_columns import get, put
from headwater.readers.formats.table_layout import STATE_STOP
from headwater.readers.kernels.memory import called, inlined, int64, load_byte, store_byte, store_int64
from headwater.readers.kernels.utf8 import put_code_point, sequence

SPACE_CHARACTER = 32
NO_CHARACTER = -1
_MOST_BYTES = 4


@inlined
def option(state: int, which: int) -> int:
    """Return one of the options."""
    return get(get(state, OPTIONS), which)


@inlined
def newline(state: int) -> int:
    """Return what ends records: every line separator becomes it."""
    return option(state, OPTION_NEWLINE)


@inlined
def character_at(at: int, end: int) -> tuple[int, int]:
    """Return the character here, and how many bytes it has."""
    byte = load_byte(at)
    if byte < 0x80:
        return byte, int64(1)
    size = int64(sequence(at, end))
    if size <= 0:
        return int64(WRONG_BYTE) | byte, int64(1)
    value = byte & (0x7F >> size)
    for i in range(1, size):
        value = value << 6 | (load_byte(at + i) & 0x3F)
    return value, size


@called
def next_character(state: int) -> int:
    """Return the next character, `NO_CHARACTER` behind the last one."""
    at = get(state, AT)
    end = get(state, END)
    if at >= end:
        put(state, SAW_END, 1)
        return int64(NO_CHARACTER)
    put(get(state, READER), HERE, at)
    character, size = character_at(at, end)
    at += size
    if character == option(state, OPTION_LINE_END):
        if at >= end:
            put(state, SAW_END, 1)
        two = option(state, OPTION_LINE_END_TWO)
        following, size = character_at(at, end) if at < end else (int64(0), int64(0))
        if (two == 0 or (at < end and following == two)) and get(get(state, READER), NORMALIZE) == 1:
            character = newline(state)
            at += size if two != 0 else int64(0)
    put(state, AT, at)
    return character


@inlined
def advance(state: int) -> bool:
    """Take the next character in hand. Return whether there is one."""
    character = next_character(state)
    if character == NO_CHARACTER:
        return False
    put(get(state, READER), CHARACTER, character)
    return True


@called
def append(state: int, character: int) -> None:
    """Append a character to the value."""
    reader = get(state, READER)
    if get(reader, SKIPPED) == 1:
        return
    to = get(reader, TEXT_END)
    if to + _MOST_BYTES > get(state, SCRATCH) + get(state, SCRATCH_SIZE):
        put(state, STATE_STOP, STOP_MORE_SCRATCH)
        return
    count = get(reader, CHARACTERS) + (2 if character > 0xFFFF and character < WRONG_BYTE else 1)
    most = option(state, OPTION_MOST_CHARACTERS)
    if most >= 0 and count > most and get(state, FATAL) == 0:
        put(state, FATAL, REASON_MOST_CHARACTERS)
    put(reader, CHARACTERS, count)
    put(reader, TEXT_END, put_character(to, character))


@called
def put_character(to: int, character: int) -> int:
    """Write a character, and return its end."""
    if character >= WRONG_BYTE:
        store_byte(to, character)
        return to + 1
    return put_code_point(to, character)


@called
def prepend(state: int, character: int) -> None:
    """Put a character before the value."""
    reader = get(state, READER)
    first = get(reader, TEXT)
    last = get(reader, TEXT_END)
    append(state, character)
    size = get(reader, TEXT_END) - last
    for at in range(last - 1, first - 1, -1):
        store_byte(at + size, load_byte(at))
    if size > 0:
        put_character(first, character)


@called
def append_until(state: int, one: int, two: int, three: int) -> bool:
    """Append the character in hand and those that follow, up to one of three. Return whether it came."""
    character = get(get(state, READER), CHARACTER)
    while character != one and character != two and character != three:
        append(state, character)
        character = next_character(state)
        if character == NO_CHARACTER:
            return False
    put(get(state, READER), CHARACTER, character)
    return True


@called
def skip_until(state: int, one: int, two: int) -> bool:
    """Pass by the character in hand and those that follow, up to one of two. Return whether it came."""
    while get(get(state, READER), CHARACTER) != one and get(get(state, READER), CHARACTER) != two:
        if not advance(state):
            return False
    return True


@called
def skip_blanks(state: int, one: int, two: int) -> bool:
    """Pass by white space, up to a line end or one of two. Return whether there is a character behind it."""
    reader = get(state, READER)
    while get(reader, CHARACTER) <= SPACE_CHARACTER:
        character = get(reader, CHARACTER)
        if character == one or character == two or character == newline(state):
            return True
        if not advance(state):
            return False
    return True


@inlined
def length(state: int) -> int:
    """Return how many bytes of the value count."""
    reader = get(state, READER)
    return get(reader, TEXT_END) - get(reader, TEXT) - get(reader, BLANKS)


@inlined
def clear(state: int) -> None:
    """Begin the value anew."""
    reader = get(state, READER)
    put(reader, TEXT_END, get(reader, TEXT))
    put(reader, BLANKS, 0)
    put(reader, CHARACTERS, 0)
    put(reader, SKIPPED, 0)


@called
def add_token(state: int, at: int, size: int) -> None:
    """Append a value to the record."""
    count = get(state, TOKEN_COUNT)
    if count >= option(state, OPTION_MOST_COLUMNS):
        if get(state, FATAL) == 0:
            put(state, FATAL, REASON_MOST_COLUMNS)
        return
    token = get(state, TOKENS) + TOKEN_BYTES * count
    store_int64(token, at)
    store_int64(token + 8, size)
    put(state, TOKEN_COUNT, count + 1)


@called
def trim_value(state: int) -> None:
    """Let white space at the end of the value not count."""
    reader = get(state, READER)
    at = get(reader, TEXT_END)
    while at > get(reader, TEXT) and load_byte(at - 1) <= SPACE_CHARACTER:
        at -= 1
    put(reader, BLANKS, get(reader, TEXT_END) - at)


@called
def end_value(state: int) -> None:
    """Append the value that was put together to the record."""
    reader = get(state, READER)
    if get(reader, TRIM) == 1:
        trim_value(state)
    size = length(state)
    empty = int64(NULL_TOKEN) if get(reader, SKIPPED) == 1 else int64(EMPTY_TOKEN)
    add_token(state, get(reader, TEXT) if size > 0 else empty, size)
    put(reader, TEXT, get(reader, TEXT_END))
    clear(state)
