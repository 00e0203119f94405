"""A record cut into values, one character after the other, as univocity does it.

For every record that `plain_tokens` does not take: those with quotes inside of quotes, with white space to
leave out, and all that no writer would write.
"""

# mypy: disable-error-code="call-arg,no-any-return,no-untyped-call,return-value,unused-ignore"
# numba's own types differ from release to release, and know little of what compiled code may call.

# ruff: noqa: C901, PLR0911, PLR0912, PLR1714, SIM109
# Compiled functions have no cheap sets; a record is read in one loop with many ends.

from __future__ import annotations

from headwater.readers.formats.csv.escaped_quotes import single_separator
from headwater.readers.formats.csv.layout import (
    AT,
    CHARACTER,
    EMPTY_TOKEN,
    END,
    HANDLING_BACK_TO_DELIMITER,
    HERE,
    MATCHED,
    NORMALIZE,
    NULL_TOKEN,
    OPTION_COMMENT,
    OPTION_ESCAPE,
    OPTION_ESCAPE_ESCAPE,
    OPTION_HANDLING,
    OPTION_LEADING,
    OPTION_LINE_END,
    OPTION_LINE_END_TWO,
    OPTION_MOST_CHARACTERS,
    OPTION_NORMALIZE_QUOTED,
    OPTION_QUOTE,
    OPTION_SEPARATORS,
    OPTION_TRAILING,
    PREVIOUS,
    READER,
    RECORD,
    SAW_END,
    SCRATCH,
    STREAM,
    TEXT,
    TEXT_END,
    TOKEN_COUNT,
    TRIM,
    UNESCAPED,
    VALUE_AT,
)
from headwater.readers.formats.csv.long_separators import long_record, save_matched
from headwater.readers.formats.csv.quoted import DONE, quoted_value
from headwater.readers.formats.csv.reader import (
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
from headwater.readers.formats.kernel_columns import get, put
from headwater.readers.kernels.memory import called, inlined, int64, load_byte

NOTHING = 0
"""There is no record: the input has ended, or is a comment."""
RECORD_READ = 1


@called
def exact_record(state: int) -> int:
    """Cut the next record of the input into tokens. Return `RECORD_READ` or `NOTHING`."""
    reader = get(state, READER)
    while True:
        put(state, RECORD, get(state, AT))
        put(state, SAW_END, 0)
        put(state, TOKEN_COUNT, 0)
        put(reader, TEXT, get(state, SCRATCH))
        clear(state)
        put(reader, NORMALIZE, 1)
        put(reader, TRIM, 0)
        put(reader, MATCHED, 0)
        if not advance(state):
            return _at_end(state)
        if get(reader, CHARACTER) == option(state, OPTION_COMMENT):
            if get(state, STREAM) == 0:
                return int64(NOTHING)
            _skip_line(state)
            # What stands in a comment says nothing about how the input ends.
            put(reader, CHARACTER, option(state, OPTION_COMMENT))
            continue
        whole = _record(state) if option(state, OPTION_SEPARATORS) == 1 else long_record(state)
        if not whole:
            return _at_end(state)
        if get(state, TOKEN_COUNT) > 0:
            return int64(RECORD_READ)


@called
def _record(state: int) -> bool:
    """Read a record whose first character is in hand. Return whether it has a line end."""
    reader = get(state, READER)
    separator = single_separator(state)
    quote = option(state, OPTION_QUOTE)
    line_end = newline(state)
    leading = option(state, OPTION_LEADING) == 1
    if leading and not skip_blanks(state, separator, quote):
        return False
    while get(reader, CHARACTER) != newline(state):
        if leading and not skip_blanks(state, separator, quote):
            return False
        character = get(reader, CHARACTER)
        if character == separator or character == newline(state):
            add_token(state, int64(NULL_TOKEN), int64(0))
        else:
            put(reader, UNESCAPED, 0)
            put(reader, PREVIOUS, 0)
            if character == quote:
                put(reader, NORMALIZE, option(state, OPTION_NORMALIZE_QUOTED))
                if _plain_quoted(state, quote, separator):
                    put(reader, NORMALIZE, 1)
                    if not advance(state):
                        return False
                    if get(reader, CHARACTER) == separator:
                        if not advance(state):
                            return False
                        if get(reader, CHARACTER) == newline(state):
                            add_token(state, int64(NULL_TOKEN), int64(0))
                    continue
                put(reader, VALUE_AT, get(state, AT))
                put(reader, TRIM, 0)
                if quoted_value(state) != DONE:
                    return False
                put(reader, NORMALIZE, 1)
                back = option(state, OPTION_HANDLING) == HANDLING_BACK_TO_DELIMITER
                if not (back and get(reader, UNESCAPED) == 1 and length(state) == 0):
                    end_value(state)
            elif not _plain_unquoted(state, separator):
                put(reader, TRIM, option(state, OPTION_TRAILING))
                if not append_until(state, separator, line_end, line_end):
                    return False
                end_value(state)
        if get(reader, CHARACTER) != newline(state):
            if not advance(state):
                return False
            if get(reader, CHARACTER) == newline(state):
                add_token(state, int64(NULL_TOKEN), int64(0))
    return True


@inlined
def _is_line_end(state: int, character: int, following: int, end: int) -> bool:
    """Return whether a line separator begins with this character, behind which comes what follows."""
    if character != option(state, OPTION_LINE_END):
        return False
    two = option(state, OPTION_LINE_END_TWO)
    return two == 0 or (following < end and character_at(following, end)[0] == two)


@called
def _skip_line(state: int) -> None:
    """Pass by everything up to a line separator, or the end. A line feed that is none ends no comment."""
    reader = get(state, READER)
    end = get(state, END)
    while advance(state):
        character, size = character_at(get(reader, HERE), end)
        if _is_line_end(state, character, get(reader, HERE) + size, end):
            return


@inlined
def _fits(state: int, count: int) -> bool:
    return option(state, OPTION_MOST_CHARACTERS) < 0 or count <= option(state, OPTION_MOST_CHARACTERS)


@called
def _plain_unquoted(state: int, separator: int) -> bool:
    """Take the value that begins with the character in hand as it stands, up to what ends it.

    Return False, and take nothing, if nothing ends it.
    """
    first = get(get(state, READER), HERE)
    end = get(state, END)
    at = first
    count = int64(0)
    while True:
        character, size = character_at(at, end)
        if character == separator:
            break
        if at + size >= end:
            put(state, SAW_END, 1)
            return False
        if _is_line_end(state, character, at + size, end):
            break
        at += size
        count += 1 + int64(character > 0xFFFF)
    if not _fits(state, count):
        return False
    put(state, AT, at)
    if option(state, OPTION_TRAILING) == 1:
        while at > first and load_byte(at - 1) <= SPACE_CHARACTER:
            at -= 1
    add_token(state, first if at > first else int64(NULL_TOKEN), at - first)
    return advance(state)


@called
def _plain_quoted(state: int, quote: int, separator: int) -> bool:
    """Take the value behind the quote in hand as it stands, if it has no escapes and ends as it should."""
    escape = option(state, OPTION_ESCAPE)
    escape_escape = option(state, OPTION_ESCAPE_ESCAPE)
    normalize = get(get(state, READER), NORMALIZE) == 1
    first = get(state, AT)
    end = get(state, END)
    at = first
    before = quote
    count = int64(0)
    while True:
        if at >= end:
            put(state, SAW_END, 1)
            return False
        character, size = character_at(at, end)
        following = at + size
        if character == quote:
            if following >= end:
                put(state, SAW_END, 1)
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
    put(state, AT, following)
    add_token(state, first if at > first else int64(EMPTY_TOKEN), at - first)
    return True


@called
def _at_end(state: int) -> int:
    """Finish the record in hand where the input ends."""
    reader = get(state, READER)
    character = get(reader, CHARACTER)
    previous = get(reader, PREVIOUS)
    separator = single_separator(state)
    taken = False
    if character == option(state, OPTION_QUOTE):
        if previous == character:
            taken = True
        elif get(reader, UNESCAPED) == 0:
            append(state, character)
    if not taken:
        taken = previous != 0 and character != separator and character != newline(state)
        taken = taken and character != option(state, OPTION_COMMENT)
        if get(reader, MATCHED) > 0:
            save_matched(state)
            taken = True
    # Nothing is in hand any more: what follows is no record.
    put(reader, CHARACTER, newline(state))
    put(reader, PREVIOUS, 0)
    begun = get(state, AT) > get(state, RECORD)
    if (
        get(state, TOKEN_COUNT) == 0
        and not taken
        and get(reader, TEXT_END) == get(reader, TEXT)
        and not begun
    ):
        return int64(NOTHING)
    if length(state) > 0 or taken:
        end_value(state)
    else:
        add_token(state, int64(NULL_TOKEN), int64(0))
    return int64(RECORD_READ)
