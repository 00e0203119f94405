"""A record cut into values, one character after the other, as univocity does it.

For every record that `plain_tokens` does not take: those with quotes inside of quotes, with white space to
leave out, and all that no writer would write.
"""

from __future__ import annotations

from headwater.readers.formats.csv import layout as L
from headwater.readers.formats.csv.kernel.escaped_quotes import single_separator
from headwater.readers.formats.csv.kernel.long_separators import long_record, save_matched
from headwater.readers.formats.csv.kernel.quoted import DONE, quoted_value
from headwater.readers.formats.csv.kernel.reader import (
    SPACE_CHARACTER,
    add_token,
    advance,
    append,
    append_until,
    character_at,
    clear,
    end_value,
    length,
    newline,
    option,
    skip_blanks,
)
from headwater.readers.kernels.memory import called, get, inlined, int64, load_byte, put

NOTHING = 0
"""There is no record: the input has ended, or is a comment."""
RECORD_READ = 1


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
        if not advance(state):
            return _at_end(state)
        if get(reader, L.CHARACTER) == option(state, L.OPTION_COMMENT):
            if get(state, L.STREAM) == 0:
                return int64(NOTHING)
            _skip_line(state)
            # What stands in a comment says nothing about how the input ends.
            put(reader, L.CHARACTER, option(state, L.OPTION_COMMENT))
            continue
        whole = _record(state) if option(state, L.OPTION_SEPARATORS) == 1 else long_record(state)
        if not whole:
            return _at_end(state)
        if get(state, L.TOKEN_COUNT) > 0:
            return int64(RECORD_READ)


@called
def _record(state: int) -> bool:
    """Read a record whose first character is in hand. Return whether it has a line end."""
    reader = get(state, L.READER)
    separator = single_separator(state)
    quote = option(state, L.OPTION_QUOTE)
    line_end = newline(state)
    leading = option(state, L.OPTION_LEADING) == 1
    if leading and not skip_blanks(state, separator, quote):
        return False
    while get(reader, L.CHARACTER) != newline(state):
        if leading and not skip_blanks(state, separator, quote):
            return False
        character = get(reader, L.CHARACTER)
        if character == separator or character == newline(state):
            add_token(state, int64(L.NULL_TOKEN), int64(0))
        else:
            put(reader, L.UNESCAPED, 0)
            put(reader, L.PREVIOUS, 0)
            if character == quote:
                put(reader, L.NORMALIZE, option(state, L.OPTION_NORMALIZE_QUOTED))
                if _plain_quoted(state, quote, separator):
                    put(reader, L.NORMALIZE, 1)
                    if not advance(state):
                        return False
                    if get(reader, L.CHARACTER) == separator:
                        if not advance(state):
                            return False
                        if get(reader, L.CHARACTER) == newline(state):
                            add_token(state, int64(L.NULL_TOKEN), int64(0))
                    continue
                put(reader, L.VALUE_AT, get(state, L.AT))
                put(reader, L.TRIM, 0)
                if quoted_value(state) != DONE:
                    return False
                put(reader, L.NORMALIZE, 1)
                back = option(state, L.OPTION_HANDLING) == L.HANDLING_BACK_TO_DELIMITER
                if not (back and get(reader, L.UNESCAPED) == 1 and length(state) == 0):
                    end_value(state)
            elif not _plain_unquoted(state, separator):
                put(reader, L.TRIM, option(state, L.OPTION_TRAILING))
                if not append_until(state, separator, line_end, line_end):
                    return False
                end_value(state)
        if get(reader, L.CHARACTER) != newline(state):
            if not advance(state):
                return False
            if get(reader, L.CHARACTER) == newline(state):
                add_token(state, int64(L.NULL_TOKEN), int64(0))
    return True


@inlined
def _is_line_end(state: int, character: int, following: int, end: int) -> bool:
    """Return whether a line separator begins with this character, behind which comes what follows."""
    if character != option(state, L.OPTION_LINE_END):
        return False
    two = option(state, L.OPTION_LINE_END_TWO)
    return two == 0 or (following < end and character_at(following, end)[0] == two)


@called
def _skip_line(state: int) -> None:
    """Skip everything up to a line separator, or the end. Another line feed ends no comment."""
    reader = get(state, L.READER)
    end = get(state, L.END)
    while advance(state):
        character, size = character_at(get(reader, L.HERE), end)
        if _is_line_end(state, character, get(reader, L.HERE) + size, end):
            return


@inlined
def _fits(state: int, count: int) -> bool:
    return option(state, L.OPTION_MOST_CHARACTERS) < 0 or count <= option(state, L.OPTION_MOST_CHARACTERS)


@called
def _plain_unquoted(state: int, separator: int) -> bool:
    """Take the value that begins with the character in hand as it stands, up to what ends it.

    Return False, and take nothing, if nothing ends it.
    """
    first = get(get(state, L.READER), L.HERE)
    end = get(state, L.END)
    at = first
    count = int64(0)
    while True:
        character, size = character_at(at, end)
        if character == separator:
            break
        if at + size >= end:
            put(state, L.SAW_END, 1)
            return False
        if _is_line_end(state, character, at + size, end):
            break
        at += size
        count += 1 + int64(character > 0xFFFF)
    if not _fits(state, count):
        return False
    put(state, L.AT, at)
    if option(state, L.OPTION_TRAILING) == 1:
        while at > first and load_byte(at - 1) <= SPACE_CHARACTER:
            at -= 1
    add_token(state, first if at > first else int64(L.NULL_TOKEN), at - first)
    return advance(state)


@called
def _plain_quoted(state: int, quote: int, separator: int) -> bool:
    """Take the value behind the quote in hand as it stands, if it has no escapes and ends as it should."""
    escape = option(state, L.OPTION_ESCAPE)
    escape_escape = option(state, L.OPTION_ESCAPE_ESCAPE)
    normalize = get(get(state, L.READER), L.NORMALIZE) == 1
    first = get(state, L.AT)
    end = get(state, L.END)
    at = first
    before = quote
    count = int64(0)
    while True:
        if at >= end:
            put(state, L.SAW_END, 1)
            return False
        character, size = character_at(at, end)
        following = at + size
        if character == quote:
            if following >= end:
                put(state, L.SAW_END, 1)
            if before == escape or following >= end:
                return False
            after = character_at(following, end)[0]
            if after != separator and after != newline(state):
                return False
            break
        if character == escape:
            if following < end:
                after = character_at(following, end)[0]
                if after == quote or after == escape_escape:
                    return False
        elif normalize and _is_line_end(state, character, following, end):
            return False
        before = character
        at = following
        count += 1 + int64(character > 0xFFFF)
    if not _fits(state, count):
        return False
    put(state, L.AT, following)
    add_token(state, first if at > first else int64(L.EMPTY_TOKEN), at - first)
    return True


@called
def _at_end(state: int) -> int:
    """Finish the record in hand where the input ends."""
    reader = get(state, L.READER)
    character = get(reader, L.CHARACTER)
    previous = get(reader, L.PREVIOUS)
    separator = single_separator(state)
    taken = False
    if character == option(state, L.OPTION_QUOTE):
        if previous == character:
            taken = True
        elif get(reader, L.UNESCAPED) == 0:
            append(state, character)
    if not taken:
        taken = previous != 0 and character != separator and character != newline(state)
        taken = taken and character != option(state, L.OPTION_COMMENT)
        if get(reader, L.MATCHED) > 0:
            save_matched(state)
            taken = True
    # Nothing is in hand any more: what follows is no record.
    put(reader, L.CHARACTER, newline(state))
    put(reader, L.PREVIOUS, 0)
    begun = get(state, L.AT) > get(state, L.RECORD)
    if (
        get(state, L.TOKEN_COUNT) == 0
        and not taken
        and get(reader, L.TEXT_END) == get(reader, L.TEXT)
        and not begun
    ):
        return int64(NOTHING)
    if length(state) > 0 or taken:
        end_value(state)
    else:
        add_token(state, int64(L.NULL_TOKEN), int64(0))
    return int64(RECORD_READ)
