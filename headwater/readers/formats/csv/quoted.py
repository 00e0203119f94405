"""Values in quotes, one character after the other, with quotes that are escaped or should have been.

It is univocity's way, with what that makes of text that no writer would write: calls of itself at its end
are loops here.
"""

# mypy: disable-error-code="call-arg,no-any-return,no-untyped-call,return-value,unused-ignore"
# numba's own types differ from release to release, and know little of what compiled code may call.

# ruff: noqa: C901, PLR0911, PLR1714, SIM109
# Compiled functions have no cheap sets; a value is read in one loop with many ends.

from __future__ import annotations

from headwater.readers.formats.csv.escaped_quotes import fail, quote_or_escape, single_separator, skip_value
from headwater.readers.formats.csv.layout import (
    AT,
    CHARACTER,
    HANDLING_BACK_TO_DELIMITER,
    HANDLING_RAISE_ERROR,
    HANDLING_SKIP_VALUE,
    HANDLING_STOP_AT_CLOSING_QUOTE,
    OPTION_ESCAPE,
    OPTION_ESCAPE_ESCAPE,
    OPTION_HANDLING,
    OPTION_QUOTE,
    OPTION_SEPARATORS,
    OPTION_TRAILING,
    PREVIOUS,
    READER,
    SPACE,
    TEXT,
    TEXT_END,
    TRIM,
    UNESCAPED,
    VALUE_AT,
)
from headwater.readers.formats.csv.reader import (
    SPACE_CHARACTER,
    add_token,
    advance,
    append,
    append_until,
    character_at,
    clear,
    newline,
    option,
    prepend,
)
from headwater.readers.formats.kernel_columns import get, put
from headwater.readers.kernels.memory import called, inlined, int64, load_byte

DONE = 0
ENDED = 1
"""The input ended."""
AGAIN = 2
AGAIN_LONG = 3
"""The same, where separators have several characters: it goes on in `long_separators`."""


@inlined
def until_separator(state: int) -> bool:
    """Return whether a value with a quote that is not escaped goes on up to a separator."""
    handling = option(state, OPTION_HANDLING)
    return handling != HANDLING_STOP_AT_CLOSING_QUOTE and handling != HANDLING_RAISE_ERROR


@called
def quoted_value(state: int) -> int:
    """Read the value whose quote is in hand. Return `DONE`, `ENDED` or `AGAIN_LONG`."""
    status = int64(AGAIN)
    while status == AGAIN:
        status = _quoted_call(state)
    return status


@called
def _quoted_call(state: int) -> int:
    reader = get(state, READER)
    quote = option(state, OPTION_QUOTE)
    escape = option(state, OPTION_ESCAPE)
    separator = single_separator(state)
    if get(reader, PREVIOUS) != 0 and until_separator(state):
        return _rest_of_value(state, separator)
    if not advance(state):
        return int64(ENDED)
    while True:
        character = get(reader, CHARACTER)
        previous = get(reader, PREVIOUS)
        ends = character == separator or character == newline(state)
        if previous == quote and (ends or character <= SPACE_CHARACTER):
            break
        if character != quote and character != escape:
            if previous == quote:
                status = unescaped_quote(state)
                long = status == AGAIN and option(state, OPTION_SEPARATORS) > 1
                return int64(AGAIN_LONG) if long else status
            if previous == escape and escape != 0:
                append(state, escape)
            if not append_until(state, quote, escape, option(state, OPTION_ESCAPE_ESCAPE)):
                return int64(ENDED)
        elif not quote_or_escape(state, separator):
            return int64(ENDED)
        put(reader, PREVIOUS, get(reader, CHARACTER))
        if not advance(state):
            return int64(ENDED)
        if character == quote or character == escape:
            character = get(reader, CHARACTER)
            if get(reader, UNESCAPED) == 1 and (character == separator or character == newline(state)):
                return int64(DONE)
    return _behind_quotes(state, separator)


@inlined
def _rest_of_value(state: int, separator: int) -> int:
    reader = get(state, READER)
    if option(state, OPTION_HANDLING) == HANDLING_SKIP_VALUE:
        return int64(DONE) if skip_value(state) else int64(ENDED)
    prepend(state, option(state, OPTION_QUOTE))
    if not advance(state):
        return int64(ENDED)
    put(reader, TRIM, option(state, OPTION_TRAILING))
    line_end = newline(state)
    return int64(DONE) if append_until(state, separator, line_end, line_end) else int64(ENDED)


@called
def _behind_quotes(state: int, separator: int) -> int:
    """Read on behind the closing quote: white space is left out, unless more than that follows."""
    reader = get(state, READER)
    character = get(reader, CHARACTER)
    if character != separator and character != newline(state) and character <= SPACE_CHARACTER:
        put(reader, SPACE, get(state, AT) - 1)
        while get(reader, CHARACTER) <= SPACE_CHARACTER and get(reader, CHARACTER) != separator:
            if not advance(state):
                return int64(ENDED)
            if get(reader, CHARACTER) == newline(state):
                return int64(DONE)
        if get(reader, CHARACTER) != separator and option(state, OPTION_HANDLING) != HANDLING_RAISE_ERROR:
            return more_behind_quotes(state)
    character = get(reader, CHARACTER)
    if character != separator and character != newline(state):
        fail(state)
        return int64(DONE) if skip_value(state) else int64(ENDED)
    return int64(DONE)


@called
def more_behind_quotes(state: int) -> int:
    """Take back the closing quote and the white space behind it: they belong to the value."""
    reader = get(state, READER)
    append(state, option(state, OPTION_QUOTE))
    at = get(reader, SPACE)
    end = get(state, AT)
    while at < end and load_byte(at) <= SPACE_CHARACTER:
        append(state, load_byte(at))
        at += 1
    return more_behind_blanks(state)


@inlined
def more_behind_blanks(state: int) -> int:
    """Take the character in hand for a part of the value, which goes on behind its closing quote."""
    reader = get(state, READER)
    character = get(reader, CHARACTER)
    quote_like = character == option(state, OPTION_QUOTE) or character == option(state, OPTION_ESCAPE)
    if until_separator(state) or not quote_like:
        append(state, character)
    put(reader, PREVIOUS, character)
    return int64(AGAIN)


@called
def unescaped_quote(state: int) -> int:
    """Go on with a value in which a quote stands that is neither escaped nor at its end."""
    reader = get(state, READER)
    put(reader, UNESCAPED, 1)
    handling = option(state, OPTION_HANDLING)
    character = get(reader, CHARACTER)
    if handling == HANDLING_BACK_TO_DELIMITER:
        if _back_to_separator(state):
            return int64(DONE)
        append(state, character)
        put(reader, PREVIOUS, 0)
        return int64(AGAIN)
    if handling == HANDLING_SKIP_VALUE or handling == HANDLING_RAISE_ERROR:
        if handling == HANDLING_RAISE_ERROR:
            fail(state)
        return int64(DONE) if skip_value(state) else int64(ENDED)
    append(state, option(state, OPTION_QUOTE))
    append(state, character)
    put(reader, PREVIOUS, character)
    return int64(AGAIN)


@called
def _back_to_separator(state: int) -> bool:
    """Cut the value at the separators in it. Return whether it has a line end, where the record ends then."""
    reader = get(state, READER)
    at = get(reader, TEXT)
    while at < get(reader, TEXT_END):
        end = get(reader, TEXT_END)
        character, size = character_at(at, end)
        if character == newline(state):
            add_token(state, get(reader, TEXT), at - get(reader, TEXT))
            put(reader, TEXT, get(reader, TEXT_END))
            clear(state)
            _end_at_line(state)
            return True
        if character == single_separator(state):
            add_token(state, get(reader, TEXT), at - get(reader, TEXT))
            put(reader, TEXT, at + size)
        at += size
    return False


@called
def _end_at_line(state: int) -> None:
    """End the record at the first line end of the value in hand."""
    reader = get(state, READER)
    put(state, AT, get(reader, VALUE_AT))
    put(reader, CHARACTER, 0)
    while get(reader, CHARACTER) != newline(state):
        if not advance(state):
            put(reader, CHARACTER, newline(state))
