"""Records whose values are separated by several characters, one character after the other.

It is univocity's way: a part of a separator that is none is text. `MATCHED` says how much of it was seen.
"""

# mypy: disable-error-code="call-arg,no-any-return,no-untyped-call,return-value,unused-ignore"
# numba's own types differ from release to release, and know little of what compiled code may call.

# ruff: noqa: C901, PLR0911, PLR0912, PLR1714, SIM109
# Compiled functions have no cheap sets; a record is read in one loop with many ends.

from __future__ import annotations

from headwater.readers.formats.csv.layout import (
    AT,
    CHARACTER,
    CHARACTERS,
    FATAL,
    HANDLING_RAISE_ERROR,
    MATCHED,
    NORMALIZE,
    NULL_TOKEN,
    OPTION_ESCAPE,
    OPTION_ESCAPE_ESCAPE,
    OPTION_HANDLING,
    OPTION_LEADING,
    OPTION_NORMALIZE_QUOTED,
    OPTION_QUOTE,
    OPTION_SEPARATORS,
    OPTION_TRAILING,
    PREVIOUS,
    READER,
    TEXT_END,
    TRIM,
    UNESCAPED,
    VALUE_AT,
)
from headwater.readers.formats.csv.quoted import (
    AGAIN,
    DONE,
    more_behind_blanks,
    quote_or_escape,
    quoted_value,
    unescaped_quote,
    until_separator,
)
from headwater.readers.formats.csv.reader import (
    LINE_FEED,
    NO_CHARACTER,
    SPACE_CHARACTER,
    add_token,
    advance,
    append,
    append_until,
    end_value,
    length,
    next_character,
    option,
    prepend,
    trim_value,
)
from headwater.readers.formats.kernel_columns import get, put
from headwater.readers.kernels.memory import called, inlined, int64

NO = 0
YES = 1
ENDED = 2
"""The input ended."""


@inlined
def _wanted(state: int) -> int:
    """Return the character of the separator that comes next; -1 if all were seen."""
    matched = get(get(state, READER), MATCHED)
    if matched >= option(state, OPTION_SEPARATORS):
        return int64(-1)
    return option(state, OPTION_SEPARATORS + 1 + matched)


@inlined
def _is_whole(state: int) -> bool:
    return get(get(state, READER), MATCHED) == option(state, OPTION_SEPARATORS)


@called
def save_matched(state: int) -> None:
    """Append the part of a separator that was seen to the value, and forget it."""
    matched = get(get(state, READER), MATCHED)
    if matched < option(state, OPTION_SEPARATORS):
        for i in range(matched):
            append(state, option(state, OPTION_SEPARATORS + 1 + i))
    put(get(state, READER), MATCHED, 0)


@called
def _separator(state: int, behind_quote: int) -> int:
    """Return whether the character in hand begins a separator, whose last character is in hand then."""
    reader = get(state, READER)
    while get(reader, CHARACTER) == _wanted(state):
        put(reader, MATCHED, get(reader, MATCHED) + 1)
        if _is_whole(state):
            break
        if not advance(state):
            return int64(ENDED)
    if _is_whole(state):
        put(reader, MATCHED, 0)
        return int64(YES)
    if behind_quote == 0 and get(reader, MATCHED) > 0:
        save_matched(state)
    return int64(NO)


@called
def _skip_blanks(state: int) -> bool:
    """Pass by white space before a value. Return whether the input goes on."""
    reader = get(state, READER)
    while (
        get(reader, CHARACTER) <= SPACE_CHARACTER
        and get(reader, CHARACTER) != LINE_FEED
        and get(reader, CHARACTER) != option(state, OPTION_QUOTE)
    ):
        if not advance(state):
            return False
        if get(reader, CHARACTER) == _wanted(state):
            found = _separator(state, int64(0))
            if found == ENDED:
                return False
            if found == YES:
                add_token(state, int64(NULL_TOKEN), int64(0))
                if not advance(state):
                    return False
    save_matched(state)
    return True


@called
def long_record(state: int) -> bool:
    """Read a record whose first character is in hand. Return whether it has a line end."""
    reader = get(state, READER)
    leading = option(state, OPTION_LEADING) == 1
    if leading and get(reader, CHARACTER) <= SPACE_CHARACTER and not _skip_blanks(state):
        return False
    while get(reader, CHARACTER) != LINE_FEED:
        if leading and get(reader, CHARACTER) <= SPACE_CHARACTER and not _skip_blanks(state):
            return False
        found = int64(YES) if get(reader, CHARACTER) == LINE_FEED else _separator(state, int64(0))
        if found == ENDED:
            return False
        if found == YES:
            add_token(state, int64(NULL_TOKEN), int64(0))
        else:
            put(reader, UNESCAPED, 0)
            put(reader, PREVIOUS, 0)
            if get(reader, CHARACTER) == option(state, OPTION_QUOTE) and length(state) == 0:
                put(reader, NORMALIZE, option(state, OPTION_NORMALIZE_QUOTED))
                put(reader, VALUE_AT, get(state, AT))
                put(reader, TRIM, 0)
                going = _quoted(state)
                if not going:
                    return False
                put(reader, NORMALIZE, 1)
            else:
                if not _append_until_separator(state):
                    return False
                if option(state, OPTION_TRAILING) == 1:
                    trim_value(state)
            end_value(state)
        if get(reader, CHARACTER) != LINE_FEED:
            if not advance(state):
                return False
            if get(reader, CHARACTER) == LINE_FEED:
                add_token(state, int64(NULL_TOKEN), int64(0))
    return True


@called
def _append_until_separator(state: int) -> bool:
    reader = get(state, READER)
    character = get(reader, CHARACTER)
    while not _is_whole(state) and character != LINE_FEED:
        if character == _wanted(state):
            put(reader, MATCHED, get(reader, MATCHED) + 1)
            if _is_whole(state):
                break
        else:
            if get(reader, MATCHED) > 0:
                save_matched(state)
                continue
            append(state, character)
        character = next_character(state)
        if character == NO_CHARACTER:
            return False
        put(reader, CHARACTER, character)
    save_matched(state)
    return True


@called
def _quoted(state: int) -> bool:
    """Read the value whose quote is in hand. Return whether a separator or line end followed."""
    reader = get(state, READER)
    quote = option(state, OPTION_QUOTE)
    escape = option(state, OPTION_ESCAPE)
    going = advance(state)
    while going:
        character = get(reader, CHARACTER)
        previous = get(reader, PREVIOUS)
        if previous == quote and (character <= SPACE_CHARACTER or character == LINE_FEED):
            break
        if previous == quote:
            found = _separator(state, int64(0))
            if found != NO:
                return found == YES
            character = get(reader, CHARACTER)
        if character == quote or character == escape:
            going = quote_or_escape(state, int64(0))
            put(reader, PREVIOUS, get(reader, CHARACTER))
            going = going and advance(state)
            if going and get(reader, UNESCAPED) == 1:
                if get(reader, CHARACTER) == LINE_FEED:
                    return True
                found = _separator(state, int64(0))
                if found != NO:
                    return found == YES
        elif previous == quote:
            status = unescaped_quote(state)
            if status != AGAIN:
                return status == DONE
            if until_separator(state):
                prepend(state, quote)
                put(reader, TRIM, option(state, OPTION_TRAILING))
                if not advance(state) or not _append_until_separator(state):
                    return False
                break
            going = advance(state)
        else:
            if previous == escape and escape != 0:
                append(state, escape)
            going = append_until(state, quote, escape, option(state, OPTION_ESCAPE_ESCAPE))
            put(reader, PREVIOUS, get(reader, CHARACTER))
            going = going and advance(state)
    return going and _behind_quotes(state)


@called
def _behind_quotes(state: int) -> bool:
    """Read on behind the closing quote: white space is left out, unless more than that follows.

    Parts of a separator in it are not white space, even if they consist of it: they come behind the value.
    """
    reader = get(state, READER)
    if get(reader, CHARACTER) == LINE_FEED or get(reader, CHARACTER) > SPACE_CHARACTER:
        return True
    found = _separator(state, int64(1))
    if found != NO:
        return found == YES
    end = get(reader, TEXT_END)
    count = get(reader, CHARACTERS)
    fatal = get(state, FATAL)
    append(state, option(state, OPTION_QUOTE))
    going = True
    ended = False
    while going and not ended and get(reader, CHARACTER) <= SPACE_CHARACTER:
        append(state, get(reader, CHARACTER))
        going = advance(state)
        if going and get(reader, CHARACTER) != LINE_FEED:
            found = _separator(state, int64(1))
            going = found != ENDED
            ended = found == YES
        else:
            ended = True
    if ended or not going or option(state, OPTION_HANDLING) == HANDLING_RAISE_ERROR:
        put(reader, TEXT_END, end)
        put(reader, CHARACTERS, count)
        put(state, FATAL, fatal)
        return going
    more_behind_blanks(state)
    return quoted_value(state)
