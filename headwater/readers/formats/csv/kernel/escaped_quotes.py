"""Quotes and escapes inside of quoted values: which are text, and which end the value."""

from __future__ import annotations

from headwater.readers.formats.csv import layout as L
from headwater.readers.formats.csv.kernel.reader import advance, append, clear, newline, option, skip_until
from headwater.readers.kernels.memory import called, get, inlined, int64, put


@inlined
def single_separator(state: int) -> int:
    """Return the separator if it is one character; else 0, which then ends values as in univocity."""
    return option(state, L.OPTION_SEPARATORS + 1) if option(state, L.OPTION_SEPARATORS) == 1 else int64(0)


@inlined
def fail(state: int) -> None:
    """Note that the record has a quote that is not escaped, and must not have one."""
    if get(state, L.FATAL) == 0:
        put(state, L.FATAL, L.REASON_UNESCAPED)


@called
def skip_value(state: int) -> bool:
    """Leave the value out, up to a separator. Return whether one came."""
    clear(state)
    put(get(state, L.READER), L.SKIPPED, 1)
    return skip_until(state, single_separator(state), newline(state))


@called
def quote_or_escape(state: int, separator: int) -> bool:
    """Do with a quote or an escape inside of a value what they mean there.

    Return whether the input goes on.
    """
    if _take_escaped(state):
        return True
    # A quote that is not escaped, with an escape behind it.
    reader = get(state, L.READER)
    handling = option(state, L.OPTION_HANDLING)
    if handling == L.HANDLING_SKIP_VALUE or handling == L.HANDLING_RAISE_ERROR:
        if handling == L.HANDLING_RAISE_ERROR:
            fail(state)
        return skip_value(state)
    append(state, option(state, L.OPTION_QUOTE))
    put(reader, L.PREVIOUS, get(reader, L.CHARACTER))
    return _unquoted_rest(state, separator)


@called
def _take_escaped(state: int) -> bool:
    """Return whether the quote or escape in hand is nothing but that."""
    reader = get(state, L.READER)
    quote = option(state, L.OPTION_QUOTE)
    escape = option(state, L.OPTION_ESCAPE)
    escape_escape = option(state, L.OPTION_ESCAPE_ESCAPE)
    character = get(reader, L.CHARACTER)
    previous = get(reader, L.PREVIOUS)
    if character == escape and previous == escape_escape and escape_escape != 0:
        append(state, escape)
        put(reader, L.CHARACTER, 0)
    elif previous == escape:
        if character == quote:
            append(state, quote)
            put(reader, L.CHARACTER, 0)
        else:
            append(state, previous)
    elif character == quote and previous == quote:
        append(state, quote)
    elif previous == quote:
        return False
    return True


@called
def _unquoted_rest(state: int, separator: int) -> bool:
    """Read up to the separator, with quotes and escapes as inside of quotes.

    Each escape behind a quote lets the value go over one more separator.
    """
    reader = get(state, L.READER)
    quote = option(state, L.OPTION_QUOTE)
    escape = option(state, L.OPTION_ESCAPE)
    more = int64(0)
    while True:
        character = get(reader, L.CHARACTER)
        if character == separator or character == newline(state):
            if more == 0:
                return True
            more -= 1
        elif character != quote and character != escape:
            if get(reader, L.PREVIOUS) == quote:
                append(state, quote)
            append(state, character)
        elif not _take_escaped(state):
            append(state, quote)
            put(reader, L.PREVIOUS, character)
            more += 1
            continue
        put(reader, L.PREVIOUS, get(reader, L.CHARACTER))
        if not advance(state):
            return False
