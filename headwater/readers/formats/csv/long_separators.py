"""Records whose values are separated by several characters, one character after the other.

It is univocity's way: a part of a separator that is none is text. `MATCHED` says how much of it was seen.
"""

# mypy: disable-error-code="call-arg,no-any-return,no-untyped-call,return-value,unused-ignore"
# numba's own types differ from release to release, and know little of what compiled code may call.

# ruff: noqa: C901, PLR0911, PLR0912, PLR1714, SIM109
# Compiled functions have no cheap sets; a record is read in one loop with many ends.

from __future__ import annotations

from headwater.readers.formats.csv.escaped_quotes import quote_or_escape
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
    AGAIN_LONG,
    DONE,
    ENDED,
    more_behind_blanks,
    quoted_value,
    unescaped_quote,
    until_separator,
)
from headwater.readers.formats.csv.reader import (
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
from headwater.readers.formats.kernel_columns import get, put
from headwater.readers.kernels.memory import called, inlined, int64

_NONE = 5
"""There is no separator here. `DONE` is where there is one."""
_CLOSED = 4
"""The character in hand is behind the closing quote."""


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
def _separator(state: int) -> int:
    """Return `DONE` if the character in hand begins a separator, whose last one is in hand then.

    Otherwise `_NONE`, or `ENDED`: a part of one is a part of the value.
    """
    reader = get(state, READER)
    while get(reader, CHARACTER) == _wanted(state):
        put(reader, MATCHED, get(reader, MATCHED) + 1)
        if _is_whole(state):
            break
        if not advance(state):
            return int64(ENDED)
    if _is_whole(state):
        put(reader, MATCHED, 0)
        return int64(DONE)
    if get(reader, MATCHED) > 0:
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
        add_token(state, int64(NULL_TOKEN), int64(0))


@called
def _skip_blanks(state: int) -> bool:
    """Pass by white space before a value. Return whether the input goes on."""
    reader = get(state, READER)
    while (
        get(reader, CHARACTER) <= SPACE_CHARACTER
        and get(reader, CHARACTER) != newline(state)
        and get(reader, CHARACTER) != option(state, OPTION_QUOTE)
    ):
        if not advance(state):
            return False
        if get(reader, CHARACTER) == _wanted(state):
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
    reader = get(state, READER)
    leading = option(state, OPTION_LEADING) == 1
    if leading and get(reader, CHARACTER) <= SPACE_CHARACTER and not _skip_blanks(state):
        return False
    if get(reader, CHARACTER) == newline(state) and length(state) > 0:
        _end_blank_value(state)
    while get(reader, CHARACTER) != newline(state):
        if leading and get(reader, CHARACTER) <= SPACE_CHARACTER and not _skip_blanks(state):
            return False
        found = int64(DONE) if get(reader, CHARACTER) == newline(state) else _separator(state)
        if found == ENDED:
            return False
        if found == DONE:
            _end_blank_value(state)
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
        if get(reader, CHARACTER) != newline(state):
            if not advance(state):
                return False
            if get(reader, CHARACTER) == newline(state):
                add_token(state, int64(NULL_TOKEN), int64(0))
    return True


@called
def _append_until_separator(state: int) -> bool:
    reader = get(state, READER)
    character = get(reader, CHARACTER)
    while not _is_whole(state) and character != newline(state):
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
    status = int64(AGAIN)
    while status == AGAIN:
        if not advance(state):
            return False
        status = _until_closing_quote(state)
        if status == _CLOSED:
            status = _behind_quotes(state)
        if status == AGAIN and until_separator(state):
            prepend(state, option(state, OPTION_QUOTE))
            put(reader, TRIM, option(state, OPTION_TRAILING))
            if not advance(state) or not _append_until_separator(state):
                return False
            status = _behind_quotes(state)
    return status == DONE


@called
def _until_closing_quote(state: int) -> int:
    """Read up to what is behind the closing quote. Return `_CLOSED`, `DONE`, `ENDED` or `AGAIN`."""
    reader = get(state, READER)
    quote = option(state, OPTION_QUOTE)
    escape = option(state, OPTION_ESCAPE)
    while True:
        character = get(reader, CHARACTER)
        previous = get(reader, PREVIOUS)
        if previous == quote and (character <= SPACE_CHARACTER or character == newline(state)):
            return int64(_CLOSED)
        if previous == quote:
            found = _separator(state)
            if found != _NONE:
                return found
            character = get(reader, CHARACTER)
        is_special = character == quote or character == escape
        if is_special:
            if not quote_or_escape(state, int64(0)):
                return int64(ENDED)
        elif previous == quote:
            return unescaped_quote(state)
        else:
            if previous == escape and escape != 0:
                append(state, escape)
            if not append_until(state, quote, escape, option(state, OPTION_ESCAPE_ESCAPE)):
                return int64(ENDED)
        put(reader, PREVIOUS, get(reader, CHARACTER))
        if not advance(state):
            return int64(ENDED)
        if is_special and get(reader, UNESCAPED) == 1:
            if get(reader, CHARACTER) == newline(state):
                return int64(DONE)
            found = _separator(state)
            if found != _NONE:
                return found


@called
def _behind_quotes(state: int) -> int:
    """Read on behind the closing quote: white space is left out, unless more than that follows.

    Then it is a part of the value, and so is a part of a separator. Return `DONE`, `ENDED` or `AGAIN`.
    """
    reader = get(state, READER)
    if get(reader, CHARACTER) == newline(state) or get(reader, CHARACTER) > SPACE_CHARACTER:
        return int64(DONE)
    end = get(reader, TEXT_END)
    count = get(reader, CHARACTERS)
    fatal = get(state, FATAL)
    append(state, option(state, OPTION_QUOTE))
    # Where the value ends if nothing but white space follows.
    blank = get(reader, TEXT_END)
    found = _separator(state)
    while found == _NONE and get(reader, CHARACTER) <= SPACE_CHARACTER:
        if get(reader, CHARACTER) == newline(state):
            found = int64(DONE)
            break
        blank += int64(get(reader, TEXT_END) == blank)
        append(state, get(reader, CHARACTER))
        if not advance(state):
            found = int64(ENDED)
        elif get(reader, CHARACTER) != newline(state):
            found = _separator(state)
    is_blank = get(reader, TEXT_END) == blank and get(reader, MATCHED) == 0
    if found == _NONE and option(state, OPTION_HANDLING) != HANDLING_RAISE_ERROR:
        more_behind_blanks(state)
        status = quoted_value(state)
        return int64(AGAIN) if status == AGAIN_LONG else status
    if is_blank:
        put(reader, TEXT_END, end)
        put(reader, CHARACTERS, count)
        put(state, FATAL, fatal)
    elif until_separator(state):
        prepend(state, option(state, OPTION_QUOTE))
    return int64(DONE) if found == _NONE else found
