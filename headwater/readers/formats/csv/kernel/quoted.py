"""Values in quotes, one character after the other, with quotes that are escaped or should have been.

It is univocity's way, with what that makes of text that no writer would write: calls of itself at its end
are loops here.
"""

from __future__ import annotations

from headwater.readers.formats.csv import layout as L
from headwater.readers.formats.csv.kernel.escaped_quotes import (
    fail,
    quote_or_escape,
    single_separator,
    skip_value,
)
from headwater.readers.formats.csv.kernel.reader import (
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
from headwater.readers.kernels.memory import called, get, inlined, int64, load_byte, put

DONE = 0
ENDED = 1
"""The input ended."""
AGAIN = 2
AGAIN_LONG = 3
"""The same, where separators have several characters: it goes on in `long_separators`."""


@inlined
def until_separator(state: int) -> bool:
    """Return whether a value with a quote that is not escaped goes on up to a separator."""
    handling = option(state, L.OPTION_HANDLING)
    return handling != L.HANDLING_STOP_AT_CLOSING_QUOTE and handling != L.HANDLING_RAISE_ERROR


@called
def quoted_value(state: int) -> int:
    """Read the value whose quote is in hand. Return `DONE`, `ENDED` or `AGAIN_LONG`."""
    status = int64(AGAIN)
    while status == AGAIN:
        status = _quoted_call(state)
    return status


@called
def _quoted_call(state: int) -> int:
    reader = get(state, L.READER)
    quote = option(state, L.OPTION_QUOTE)
    escape = option(state, L.OPTION_ESCAPE)
    separator = single_separator(state)
    if get(reader, L.PREVIOUS) != 0 and until_separator(state):
        return _rest_of_value(state, separator)
    if not advance(state):
        return int64(ENDED)
    while True:
        character = get(reader, L.CHARACTER)
        previous = get(reader, L.PREVIOUS)
        ends = character == separator or character == newline(state)
        if previous == quote and (ends or character <= SPACE_CHARACTER):
            break
        if character != quote and character != escape:
            if previous == quote:
                status = unescaped_quote(state)
                long = status == AGAIN and option(state, L.OPTION_SEPARATORS) > 1
                return int64(AGAIN_LONG) if long else status
            if previous == escape and escape != 0:
                append(state, escape)
            if not append_until(state, quote, escape, option(state, L.OPTION_ESCAPE_ESCAPE)):
                return int64(ENDED)
        elif not quote_or_escape(state, separator):
            return int64(ENDED)
        put(reader, L.PREVIOUS, get(reader, L.CHARACTER))
        if not advance(state):
            return int64(ENDED)
        if character == quote or character == escape:
            character = get(reader, L.CHARACTER)
            if get(reader, L.UNESCAPED) == 1 and (character == separator or character == newline(state)):
                return int64(DONE)
    return _behind_quotes(state, separator)


@inlined
def _rest_of_value(state: int, separator: int) -> int:
    reader = get(state, L.READER)
    if option(state, L.OPTION_HANDLING) == L.HANDLING_SKIP_VALUE:
        return int64(DONE) if skip_value(state) else int64(ENDED)
    prepend(state, option(state, L.OPTION_QUOTE))
    if not advance(state):
        return int64(ENDED)
    put(reader, L.TRIM, option(state, L.OPTION_TRAILING))
    line_end = newline(state)
    return int64(DONE) if append_until(state, separator, line_end, line_end) else int64(ENDED)


@called
def _behind_quotes(state: int, separator: int) -> int:
    """Read on behind the closing quote: white space is left out, unless more than that follows."""
    reader = get(state, L.READER)
    character = get(reader, L.CHARACTER)
    if character != separator and character != newline(state) and character <= SPACE_CHARACTER:
        put(reader, L.SPACE, get(state, L.AT) - 1)
        while get(reader, L.CHARACTER) <= SPACE_CHARACTER and get(reader, L.CHARACTER) != separator:
            if not advance(state):
                return int64(ENDED)
            if get(reader, L.CHARACTER) == newline(state):
                return int64(DONE)
        if (
            get(reader, L.CHARACTER) != separator
            and option(state, L.OPTION_HANDLING) != L.HANDLING_RAISE_ERROR
        ):
            return more_behind_quotes(state)
    character = get(reader, L.CHARACTER)
    if character != separator and character != newline(state):
        fail(state)
        return int64(DONE) if skip_value(state) else int64(ENDED)
    return int64(DONE)


@called
def more_behind_quotes(state: int) -> int:
    """Take back the closing quote and the white space behind it: they belong to the value."""
    reader = get(state, L.READER)
    append(state, option(state, L.OPTION_QUOTE))
    at = get(reader, L.SPACE)
    end = get(state, L.AT)
    while at < end and load_byte(at) <= SPACE_CHARACTER:
        append(state, load_byte(at))
        at += 1
    return more_behind_blanks(state)


@inlined
def more_behind_blanks(state: int) -> int:
    """Take the character in hand for a part of the value, which goes on behind its closing quote."""
    reader = get(state, L.READER)
    character = get(reader, L.CHARACTER)
    quote_like = character == option(state, L.OPTION_QUOTE) or character == option(state, L.OPTION_ESCAPE)
    if until_separator(state) or not quote_like:
        append(state, character)
    put(reader, L.PREVIOUS, character)
    return int64(AGAIN)


@called
def unescaped_quote(state: int) -> int:
    """Go on with a value in which a quote stands that is neither escaped nor at its end."""
    reader = get(state, L.READER)
    put(reader, L.UNESCAPED, 1)
    handling = option(state, L.OPTION_HANDLING)
    character = get(reader, L.CHARACTER)
    if handling == L.HANDLING_BACK_TO_DELIMITER:
        if _back_to_separator(state):
            return int64(DONE)
        append(state, character)
        put(reader, L.PREVIOUS, 0)
        return int64(AGAIN)
    if handling == L.HANDLING_SKIP_VALUE or handling == L.HANDLING_RAISE_ERROR:
        if handling == L.HANDLING_RAISE_ERROR:
            fail(state)
        return int64(DONE) if skip_value(state) else int64(ENDED)
    append(state, option(state, L.OPTION_QUOTE))
    append(state, character)
    put(reader, L.PREVIOUS, character)
    return int64(AGAIN)


@called
def _back_to_separator(state: int) -> bool:
    """Cut the value at the separators in it. Return whether it has a line end, where the record ends then."""
    reader = get(state, L.READER)
    at = get(reader, L.TEXT)
    while at < get(reader, L.TEXT_END):
        end = get(reader, L.TEXT_END)
        character, size = character_at(at, end)
        if character == newline(state):
            add_token(state, get(reader, L.TEXT), at - get(reader, L.TEXT))
            put(reader, L.TEXT, get(reader, L.TEXT_END))
            clear(state)
            _end_at_line(state)
            return True
        if character == single_separator(state):
            add_token(state, get(reader, L.TEXT), at - get(reader, L.TEXT))
            put(reader, L.TEXT, at + size)
        at += size
    return False


@called
def _end_at_line(state: int) -> None:
    """End the record at the first line end of the value in hand."""
    reader = get(state, L.READER)
    put(state, L.AT, get(reader, L.VALUE_AT))
    put(reader, L.CHARACTER, 0)
    while get(reader, L.CHARACTER) != newline(state):
        if not advance(state):
            put(reader, L.CHARACTER, newline(state))
