"""Records that are not ordinary, cut into values by the dialect's transition table (`transitions`).

For all that `plain_tokens` does not take: quotes inside of quotes, white space to skip, separators of several
characters, and text that no writer would write.
"""

from __future__ import annotations

from headwater.readers.formats.csv import layout as L
from headwater.readers.formats.csv.kernel.plain_tokens import is_line_end, plain_quoted, plain_unquoted
from headwater.readers.formats.csv.kernel.reader import (
    NO_CHARACTER,
    SPACE_CHARACTER,
    add_token,
    advance,
    append,
    append_bytes,
    character_at,
    clear,
    end_value,
    length,
    newline,
    next_character,
    option,
    prepend,
    trim_value,
)
from headwater.readers.kernels.memory import called, get, inlined, int64, load_byte, load_int64, put

NOTHING = 0
"""There is no record: the input has ended, or is a comment."""
RECORD_READ = 1
_STATES = 127
_APPENDS = L.DO_PREPEND_QUOTE - L.DO_MARK
"""The operations of `_append`."""
_ENDS = L.DO_KEEP_CHARACTER - L.DO_TRIM_NOW
"""The operations of `_end`."""


@called
def exact_record(state: int) -> int:
    """Cut the next record of the input into tokens. Return `RECORD_READ` or `NOTHING`."""
    reader = get(state, L.READER)
    while True:
        put(state, L.RECORD, get(state, L.AT))
        put(state, L.SAW_END, 0)
        put(state, L.TOKEN_COUNT, 0)
        put(reader, L.TEXT, get(state, L.SCRATCH))
        clear(state)
        put(reader, L.NORMALIZE, 1)
        put(reader, L.TRIM, 0)
        put(reader, L.MATCHED, 0)
        put(reader, L.MORE, 0)
        if not advance(state):
            return _at_end(state)
        if get(reader, L.CHARACTER) == option(state, L.OPTION_COMMENT):
            if get(state, L.STREAM) == 0:
                return int64(NOTHING)
            _skip_line(state)
            # The content of a comment says nothing about how the input ends.
            put(reader, L.CHARACTER, option(state, L.OPTION_COMMENT))
            continue
        if not _run(state):
            return _at_end(state)
        if get(state, L.TOKEN_COUNT) > 0:
            return int64(RECORD_READ)


@inlined
def _class_of(options: int, character: int) -> int:
    """Return the class of a character."""
    if character >= 0 and character < 0x80:
        return load_byte(get(options, L.OPTION_CLASSES) + character)
    wide = get(options, L.OPTION_WIDE)
    for i in range(get(options, L.OPTION_WIDE_COUNT)):
        if get(wide, 2 * i) == character:
            return get(wide, 2 * i + 1)
    return get(options, L.OPTION_CLASS_COUNT) - 1


@inlined
def _match_of(options: int, reader: int, character: int) -> int:
    """Return 0 if a character does not continue the separator, 2 if it ends it, else 1."""
    matched = get(reader, L.MATCHED)
    if character != get(options, L.OPTION_SEPARATORS + 1 + matched):
        return int64(0)
    return int64(2) if matched + 1 == get(options, L.OPTION_SEPARATORS) else int64(1)


@called
def _run(state: int) -> bool:
    """Read a record whose first character is in hand. Return whether it has a line end."""
    reader = get(state, L.READER)
    options = get(state, L.OPTIONS)
    table = get(options, L.OPTION_TABLE)
    row_bytes = 8 * get(options, L.OPTION_COLUMNS)
    class_count = get(options, L.OPTION_CLASS_COUNT)
    is_long = get(options, L.OPTION_SEPARATORS) > 1
    previous = int64(0)
    row = table
    character = get(reader, L.CHARACTER)
    while True:
        column = _class_of(options, character)
        if is_long:
            column += class_count * _match_of(options, reader, character)
        entry = load_int64(row + 8 * column)
        if entry & L.DO_STAY != 0:
            character = _text(state, row, entry, character)
        else:
            if entry & L.DO_KEEP_CHARACTER == 0:
                put(reader, L.CHARACTER, character)
            if entry & L.DO_RARE != 0:
                entry = _do(state, entry, character)
            if entry & L.DO_NO_CHARACTER != 0:
                put(reader, L.CHARACTER, 0)
            if entry & (L.DO_PREVIOUS | L.DO_NO_PREVIOUS | L.DO_BEGIN) != 0:
                is_set = entry & L.DO_PREVIOUS != 0
                put(reader, L.PREVIOUS, get(reader, L.CHARACTER) if is_set else int64(0))
                previous = _class_of(options, get(reader, L.PREVIOUS))
            if entry & L.DO_END_RECORD != 0:
                return True
            row = table + row_bytes * (class_count * (entry >> L.NEXT_SHIFT & _STATES) + previous)
            if entry & L.DO_HOLD != 0:
                continue
            character = next_character(state)
        if character == NO_CHARACTER:
            _do(state, load_int64(row + row_bytes - 8), int64(0))
            return False


@called
def _text(state: int, row: int, entry: int, character: int) -> int:
    """Append or skip characters as long as the machine stays in its state for that. Return the next one."""
    reader = get(state, L.READER)
    first = get(state, L.AT)
    if character >= 0 and character < 0x80 and character != newline(state):
        first = get(reader, L.HERE)
    elif entry & L.DO_APPEND != 0:
        append(state, character)
    last = _text_end(state, row, entry)
    if entry & L.DO_APPEND != 0 and last > first:
        append_bytes(state, first, last - first)
    if entry & L.DO_KEEP_CHARACTER == 0:
        put(reader, L.CHARACTER, load_byte(last - 1) if last > get(state, L.AT) else character)
    put(state, L.AT, last)
    return next_character(state)


@inlined
def _text_end(state: int, row: int, entry: int) -> int:
    """Return where the bytes end that follow and have this entry. Those beyond ASCII may be left."""
    options = get(state, L.OPTIONS)
    classes = get(options, L.OPTION_CLASSES)
    line_end = get(options, L.OPTION_LINE_END)
    separator = get(options, L.OPTION_SEPARATORS + 1)
    # Bytes count as characters where none is special, and their number does not matter.
    takes_wide = get(options, L.OPTION_WIDE_COUNT) == 0 and get(options, L.OPTION_MOST_CHARACTERS) < 0
    takes_wide = takes_wide and load_int64(row + 8 * (get(options, L.OPTION_CLASS_COUNT) - 1)) == entry
    at = get(state, L.AT)
    end = get(state, L.END)
    while at < end:
        byte = load_byte(at)
        if byte < 0x80:
            takes = load_int64(row + 8 * load_byte(classes + byte)) == entry
            takes = takes and byte != line_end and byte != separator
        else:
            takes = takes_wide
        if not takes:
            break
        at += 1
    return at


@inlined
def _otherwise(entry: int, operations: int) -> int:
    """Return an entry whose next state is the other one, with these operations left."""
    return operations | (entry >> L.OTHERWISE_SHIFT & _STATES) << L.NEXT_SHIFT


@called
def _do(state: int, entry: int, character: int) -> int:
    """Do the operations of an entry, up to those on single characters. Return the entry that is left."""
    reader = get(state, L.READER)
    if entry & L.DO_BEGIN != 0:
        put(reader, L.UNESCAPED, 0)
    if entry & L.DO_IF_EMPTY != 0 and length(state) > 0:
        return _otherwise(entry, int64(L.DO_BEGIN | L.DO_HOLD))
    if entry & L.DO_QUOTED != 0:
        put(reader, L.NORMALIZE, option(state, L.OPTION_NORMALIZE_QUOTED))
        if entry & L.DO_PLAIN_QUOTED != 0 and plain_quoted(state):
            put(reader, L.NORMALIZE, 1)
            return _otherwise(entry, int64(L.DO_BEGIN))
        put(reader, L.VALUE_AT, get(state, L.AT))
        put(reader, L.TRIM, 0)
    if entry & L.DO_PLAIN_TEXT != 0:
        if plain_unquoted(state):
            return _otherwise(entry, int64(L.DO_BEGIN))
        put(reader, L.TRIM, option(state, L.OPTION_TRAILING))
    if entry & (L.DO_MATCH | L.DO_NO_MATCH | L.DO_SAVE_MATCH) != 0:
        _match(state, entry)
    if entry & L.DO_FAIL != 0 and get(state, L.FATAL) == 0:
        put(state, L.FATAL, L.REASON_UNESCAPED)
    if entry & L.DO_UNESCAPED != 0:
        put(reader, L.UNESCAPED, 1)
    if entry & L.DO_BACK != 0 and _back_to_separator(state):
        put(reader, L.NORMALIZE, 1)
        return int64(L.DO_END_RECORD)
    if entry & _APPENDS != 0:
        _append(state, entry, character)
    if entry & L.DO_PREPEND_QUOTE != 0:
        prepend(state, option(state, L.OPTION_QUOTE))
    if entry & L.DO_SKIP != 0:
        clear(state)
        put(reader, L.SKIPPED, 1)
    if entry & L.DO_MORE != 0:
        put(reader, L.MORE, get(reader, L.MORE) + 1)
    if entry & L.DO_LESS != 0 and get(reader, L.MORE) > 0:
        put(reader, L.MORE, get(reader, L.MORE) - 1)
        return _otherwise(entry, int64(L.DO_PREVIOUS))
    if entry & L.DO_TRIM != 0:
        put(reader, L.TRIM, 1)
    if entry & _ENDS != 0:
        _end(state, entry)
    return entry


@called
def _match(state: int, entry: int) -> None:
    """Count a character of the separator, or forget those that were counted."""
    reader = get(state, L.READER)
    matched = get(reader, L.MATCHED)
    if entry & L.DO_SAVE_MATCH != 0:
        for i in range(matched):
            append(state, option(state, L.OPTION_SEPARATORS + 1 + i))
    put(reader, L.MATCHED, matched + 1 if entry & L.DO_MATCH != 0 else 0)


@called
def _append(state: int, entry: int, character: int) -> None:
    """Do the operations that append to the value."""
    reader = get(state, L.READER)
    quote = option(state, L.OPTION_QUOTE)
    if entry & L.DO_MARK != 0:
        put(reader, L.SPACE, get(state, L.AT) - 1)
    if entry & L.DO_BEGIN_WHITE != 0:
        put(reader, L.CLOSED_AT, get(reader, L.TEXT_END))
        put(reader, L.CLOSED_CHARACTERS, get(reader, L.CHARACTERS))
        put(reader, L.CLOSED_FATAL, get(state, L.FATAL))
        append(state, quote)
        put(reader, L.WHITE_END, get(reader, L.TEXT_END))
    if entry & L.DO_APPEND_QUOTE != 0:
        append(state, quote)
    if entry & L.DO_APPEND_WHITE != 0:
        at = get(reader, L.SPACE)
        while at < get(state, L.AT) and load_byte(at) <= SPACE_CHARACTER:
            append(state, load_byte(at))
            at += 1
    if entry & L.DO_APPEND_ESCAPE != 0:
        append(state, option(state, L.OPTION_ESCAPE))
    if entry & L.DO_WHITE != 0 and get(reader, L.TEXT_END) == get(reader, L.WHITE_END):
        put(reader, L.WHITE_END, get(reader, L.WHITE_END) + 1)
    if entry & L.DO_APPEND != 0:
        append(state, character)
    if entry & L.DO_END_WHITE != 0:
        _end_white(state, quote)


@called
def _end_white(state: int, quote: int) -> None:
    """Take back the quote and the white space behind it, unless a part of a separator came between."""
    reader = get(state, L.READER)
    if get(reader, L.TEXT_END) == get(reader, L.WHITE_END) and get(reader, L.MATCHED) == 0:
        put(reader, L.TEXT_END, get(reader, L.CLOSED_AT))
        put(reader, L.CHARACTERS, get(reader, L.CLOSED_CHARACTERS))
        put(state, L.FATAL, get(reader, L.CLOSED_FATAL))
        return
    handling = option(state, L.OPTION_HANDLING)
    if handling != L.HANDLING_STOP_AT_CLOSING_QUOTE and handling != L.HANDLING_RAISE_ERROR:
        prepend(state, quote)


@called
def _end(state: int, entry: int) -> None:
    """Do the operations that end a value."""
    reader = get(state, L.READER)
    if entry & L.DO_TRIM_NOW != 0:
        trim_value(state)
    if entry & L.DO_CLOSE != 0:
        put(reader, L.NORMALIZE, 1)
    size = length(state)
    ends = entry & L.DO_END_VALUE != 0 or (entry & (L.DO_END_IF_ANY | L.DO_END_OR_NULL) != 0 and size > 0)
    if ends:
        end_value(state)
    if entry & L.DO_NULL != 0 or (entry & L.DO_END_OR_NULL != 0 and size == 0):
        add_token(state, int64(L.NULL_TOKEN), int64(0))


@called
def _back_to_separator(state: int) -> bool:
    """Cut the value at the separators in it. Return whether it has a line end, where the record ends then."""
    reader = get(state, L.READER)
    at = get(reader, L.TEXT)
    while at < get(reader, L.TEXT_END):
        character, size = character_at(at, get(reader, L.TEXT_END))
        if character == newline(state):
            add_token(state, get(reader, L.TEXT), at - get(reader, L.TEXT))
            put(reader, L.TEXT, get(reader, L.TEXT_END))
            clear(state)
            _end_at_line(state)
            return True
        if character == option(state, L.OPTION_SEPARATORS + 1):
            add_token(state, get(reader, L.TEXT), at - get(reader, L.TEXT))
            put(reader, L.TEXT, at + size)
        at += size
    return False


@called
def _end_at_line(state: int) -> None:
    """End the record at the first line end of the current value."""
    reader = get(state, L.READER)
    put(state, L.AT, get(reader, L.VALUE_AT))
    put(reader, L.CHARACTER, 0)
    while get(reader, L.CHARACTER) != newline(state):
        if not advance(state):
            put(reader, L.CHARACTER, newline(state))


@called
def _skip_line(state: int) -> None:
    """Pass by everything up to a line separator, or the end. A line feed that is none ends no comment."""
    reader = get(state, L.READER)
    end = get(state, L.END)
    while advance(state):
        character, size = character_at(get(reader, L.HERE), end)
        if is_line_end(state, character, get(reader, L.HERE) + size, end):
            return


@called
def _at_end(state: int) -> int:
    """Finish the current record where the input ends."""
    reader = get(state, L.READER)
    character = get(reader, L.CHARACTER)
    previous = get(reader, L.PREVIOUS)
    is_long = option(state, L.OPTION_SEPARATORS) > 1
    separator = int64(0) if is_long else option(state, L.OPTION_SEPARATORS + 1)
    has_value = False
    if character == option(state, L.OPTION_QUOTE):
        if previous == character:
            has_value = True
        elif get(reader, L.UNESCAPED) == 0:
            append(state, character)
    if not has_value:
        has_value = previous != 0 and character != separator and character != newline(state)
        has_value = has_value and character != option(state, L.OPTION_COMMENT)
        if get(reader, L.MATCHED) > 0:
            _match(state, int64(L.DO_SAVE_MATCH))
            has_value = True
    # Nothing is in hand any more: what follows is no record.
    put(reader, L.CHARACTER, newline(state))
    put(reader, L.PREVIOUS, 0)
    is_empty = get(state, L.TOKEN_COUNT) == 0 and get(reader, L.TEXT_END) == get(reader, L.TEXT)
    if is_empty and not has_value and get(state, L.AT) <= get(state, L.RECORD):
        return int64(NOTHING)
    if length(state) > 0 or has_value:
        end_value(state)
    else:
        add_token(state, int64(L.NULL_TOKEN), int64(0))
    return int64(RECORD_READ)
