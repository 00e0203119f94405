"""Records whose values are separated by several characters, one character after the other.

It is univocity's way: a part of a separator that is none is text. `MATCHED` says how much of it was seen.
"""

from __future__ import annotations

from headwater.readers.formats.csv import layout as L
from headwater.readers.formats.csv.kernel.escaped_quotes import quote_or_escape
from headwater.readers.formats.csv.kernel.quoted import (
    AGAIN,
    AGAIN_LONG,
    DONE,
    ENDED,
    more_behind_blanks,
    quoted_value,
    unescaped_quote,
    until_separator,
)
from headwater.readers.formats.csv.kernel.reader import (
    NO_CHARACTER,
    SPACE_CHARACTER,
    add_token,
    advance,
    append,
    append_until,
    end_value,
    length,
    newline,
    next_character,
    option,
    prepend,
    trim_value,
)
from headwater.readers.kernels.memory import called, get, inlined, int64, put

_NONE = 5
"""There is no separator here. `DONE` is where there is one."""
_CLOSED = 4
"""The character in hand is behind the closing quote."""


@inlined
def _wanted(state: int) -> int:
    """Return the character of the separator that comes next; -1 if all were seen."""
    matched = get(get(state, L.READER), L.MATCHED)
    if matched >= option(state, L.OPTION_SEPARATORS):
        return int64(-1)
    return option(state, L.OPTION_SEPARATORS + 1 + matched)


@inlined
def _is_whole(state: int) -> bool:
    return get(get(state, L.READER), L.MATCHED) == option(state, L.OPTION_SEPARATORS)


@called
def save_matched(state: int) -> None:
    """Append the part of a separator that was seen to the value, and forget it."""
    matched = get(get(state, L.READER), L.MATCHED)
    if matched < option(state, L.OPTION_SEPARATORS):
        for i in range(matched):
            append(state, option(state, L.OPTION_SEPARATORS + 1 + i))
    put(get(state, L.READER), L.MATCHED, 0)


@called
def _separator(state: int) -> int:
    """Return `DONE` if the character in hand begins a separator, whose last one is in hand then.

    Otherwise `_NONE`, or `ENDED`: a part of one is a part of the value.
    """
    reader = get(state, L.READER)
    while get(reader, L.CHARACTER) == _wanted(state):
        put(reader, L.MATCHED, get(reader, L.MATCHED) + 1)
        if _is_whole(state):
            break
        if not advance(state):
            return int64(ENDED)
    if _is_whole(state):
        put(reader, L.MATCHED, 0)
        return int64(DONE)
    if get(reader, L.MATCHED) > 0:
        save_matched(state)
    return int64(_NONE)


@called
def _end_blank_value(state: int) -> None:
    """End a value of white space, which is null, unless a part of a separator stands there.

    univocity keeps that part, and puts it before the value that comes next, also of the next record.
    """
    if length(state) > 0:
        end_value(state)
    else:
        add_token(state, int64(L.NULL_TOKEN), int64(0))


@called
def _skip_blanks(state: int) -> bool:
    """Pass by white space before a value. Return whether the input goes on."""
    reader = get(state, L.READER)
    while (
        get(reader, L.CHARACTER) <= SPACE_CHARACTER
        and get(reader, L.CHARACTER) != newline(state)
        and get(reader, L.CHARACTER) != option(state, L.OPTION_QUOTE)
    ):
        if not advance(state):
            return False
        if get(reader, L.CHARACTER) == _wanted(state):
            found = _separator(state)
            if found == ENDED:
                return False
            if found == DONE:
                _end_blank_value(state)
                if not advance(state):
                    return False
    save_matched(state)
    return True


@called
def long_record(state: int) -> bool:
    """Read a record whose first character is in hand. Return whether it has a line end."""
    reader = get(state, L.READER)
    leading = option(state, L.OPTION_LEADING) == 1
    if leading and get(reader, L.CHARACTER) <= SPACE_CHARACTER and not _skip_blanks(state):
        return False
    if get(reader, L.CHARACTER) == newline(state) and length(state) > 0:
        _end_blank_value(state)
    while get(reader, L.CHARACTER) != newline(state):
        if leading and get(reader, L.CHARACTER) <= SPACE_CHARACTER and not _skip_blanks(state):
            return False
        found = int64(DONE) if get(reader, L.CHARACTER) == newline(state) else _separator(state)
        if found == ENDED:
            return False
        if found == DONE:
            _end_blank_value(state)
        else:
            put(reader, L.UNESCAPED, 0)
            put(reader, L.PREVIOUS, 0)
            if get(reader, L.CHARACTER) == option(state, L.OPTION_QUOTE) and length(state) == 0:
                put(reader, L.NORMALIZE, option(state, L.OPTION_NORMALIZE_QUOTED))
                put(reader, L.VALUE_AT, get(state, L.AT))
                put(reader, L.TRIM, 0)
                going = _quoted(state)
                if not going:
                    return False
                put(reader, L.NORMALIZE, 1)
            else:
                if not _append_until_separator(state):
                    return False
                if option(state, L.OPTION_TRAILING) == 1:
                    trim_value(state)
            end_value(state)
        if get(reader, L.CHARACTER) != newline(state):
            if not advance(state):
                return False
            if get(reader, L.CHARACTER) == newline(state):
                add_token(state, int64(L.NULL_TOKEN), int64(0))
    return True


@called
def _append_until_separator(state: int) -> bool:
    reader = get(state, L.READER)
    character = get(reader, L.CHARACTER)
    while not _is_whole(state) and character != newline(state):
        if character == _wanted(state):
            put(reader, L.MATCHED, get(reader, L.MATCHED) + 1)
            if _is_whole(state):
                break
        else:
            if get(reader, L.MATCHED) > 0:
                save_matched(state)
                continue
            append(state, character)
        character = next_character(state)
        if character == NO_CHARACTER:
            return False
        put(reader, L.CHARACTER, character)
    save_matched(state)
    return True


@called
def _quoted(state: int) -> bool:
    """Read the value whose quote is in hand. Return whether a separator or line end followed."""
    reader = get(state, L.READER)
    status = int64(AGAIN)
    while status == AGAIN:
        if not advance(state):
            return False
        status = _until_closing_quote(state)
        if status == _CLOSED:
            status = _behind_quotes(state)
        if status == AGAIN and until_separator(state):
            prepend(state, option(state, L.OPTION_QUOTE))
            put(reader, L.TRIM, option(state, L.OPTION_TRAILING))
            if not advance(state) or not _append_until_separator(state):
                return False
            status = _behind_quotes(state)
    return status == DONE


@called
def _until_closing_quote(state: int) -> int:
    """Read up to what is behind the closing quote. Return `_CLOSED`, `DONE`, `ENDED` or `AGAIN`."""
    reader = get(state, L.READER)
    quote = option(state, L.OPTION_QUOTE)
    escape = option(state, L.OPTION_ESCAPE)
    while True:
        character = get(reader, L.CHARACTER)
        previous = get(reader, L.PREVIOUS)
        if previous == quote and (character <= SPACE_CHARACTER or character == newline(state)):
            return int64(_CLOSED)
        if previous == quote:
            found = _separator(state)
            if found != _NONE:
                return found
            character = get(reader, L.CHARACTER)
        is_special = character == quote or character == escape
        if is_special:
            if not quote_or_escape(state, int64(0)):
                return int64(ENDED)
        elif previous == quote:
            return unescaped_quote(state)
        else:
            if previous == escape and escape != 0:
                append(state, escape)
            if not append_until(state, quote, escape, option(state, L.OPTION_ESCAPE_ESCAPE)):
                return int64(ENDED)
        put(reader, L.PREVIOUS, get(reader, L.CHARACTER))
        if not advance(state):
            return int64(ENDED)
        if is_special and get(reader, L.UNESCAPED) == 1:
            if get(reader, L.CHARACTER) == newline(state):
                return int64(DONE)
            found = _separator(state)
            if found != _NONE:
                return found


@called
def _behind_quotes(state: int) -> int:
    """Read on behind the closing quote: white space is left out, unless more than that follows.

    Then it is a part of the value, and so is a part of a separator. Return `DONE`, `ENDED` or `AGAIN`.
    """
    reader = get(state, L.READER)
    if get(reader, L.CHARACTER) == newline(state) or get(reader, L.CHARACTER) > SPACE_CHARACTER:
        return int64(DONE)
    end = get(reader, L.TEXT_END)
    count = get(reader, L.CHARACTERS)
    fatal = get(state, L.FATAL)
    append(state, option(state, L.OPTION_QUOTE))
    # Where the value ends if nothing but white space follows.
    blank = get(reader, L.TEXT_END)
    found = _separator(state)
    while found == _NONE and get(reader, L.CHARACTER) <= SPACE_CHARACTER:
        if get(reader, L.CHARACTER) == newline(state):
            found = int64(DONE)
            break
        blank += int64(get(reader, L.TEXT_END) == blank)
        append(state, get(reader, L.CHARACTER))
        if not advance(state):
            found = int64(ENDED)
        elif get(reader, L.CHARACTER) != newline(state):
            found = _separator(state)
    is_blank = get(reader, L.TEXT_END) == blank and get(reader, L.MATCHED) == 0
    if found == _NONE and option(state, L.OPTION_HANDLING) != L.HANDLING_RAISE_ERROR:
        more_behind_blanks(state)
        status = quoted_value(state)
        return int64(AGAIN) if status == AGAIN_LONG else status
    if is_blank:
        put(reader, L.TEXT_END, end)
        put(reader, L.CHARACTERS, count)
        put(state, L.FATAL, fatal)
    elif until_separator(state):
        prepend(state, option(state, L.OPTION_QUOTE))
    return int64(DONE) if found == _NONE else found
