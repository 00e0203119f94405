"""Quotes and escapes inside of quoted values: which are text, and which end the value."""

# mypy: disable-error-code="call-arg,no-any-return,no-untyped-call,return-value,unused-ignore"
# numba's own types differ from release to release, and know little of what compiled code may call.

# ruff: noqa: PLR1714, SIM109
# Compiled functions have no cheap sets.

from __future__ import annotations

from headwater.readers.formats.csv.layout import (
    CHARACTER,
    FATAL,
    HANDLING_RAISE_ERROR,
    HANDLING_SKIP_VALUE,
    OPTION_ESCAPE,
    OPTION_ESCAPE_ESCAPE,
    OPTION_HANDLING,
    OPTION_QUOTE,
    OPTION_SEPARATORS,
    PREVIOUS,
    READER,
    REASON_UNESCAPED,
    SKIPPED,
)
from headwater.readers.formats.csv.reader import (
    advance,
    append,
    clear,
    newline,
    option,
    skip_until,
)
from headwater.readers.formats.kernel_columns import get, put
from headwater.readers.kernels.memory import called, inlined, int64


@inlined
def single_separator(state: int) -> int:
    """Return the separator if it is one character; else 0, which then ends values as in univocity."""
    return option(state, OPTION_SEPARATORS + 1) if option(state, OPTION_SEPARATORS) == 1 else int64(0)


@inlined
def fail(state: int) -> None:
    """Note that the record has a quote that is not escaped, and must not have one."""
    if get(state, FATAL) == 0:
        put(state, FATAL, REASON_UNESCAPED)


@called
def skip_value(state: int) -> bool:
    """Leave the value out, up to a separator. Return whether one came."""
    clear(state)
    put(get(state, READER), SKIPPED, 1)
    return skip_until(state, single_separator(state), newline(state))


@called
def quote_or_escape(state: int, separator: int) -> bool:
    """Do with a quote or an escape inside of a value what they mean there.

    Return whether the input goes on.
    """
    if _take_escaped(state):
        return True
    # A quote that is not escaped, with an escape behind it.
    reader = get(state, READER)
    handling = option(state, OPTION_HANDLING)
    if handling == HANDLING_SKIP_VALUE or handling == HANDLING_RAISE_ERROR:
        if handling == HANDLING_RAISE_ERROR:
            fail(state)
        return skip_value(state)
    append(state, option(state, OPTION_QUOTE))
    put(reader, PREVIOUS, get(reader, CHARACTER))
    return _unquoted_rest(state, separator)


@called
def _take_escaped(state: int) -> bool:
    """Return whether the quote or escape in hand is nothing but that."""
    reader = get(state, READER)
    quote = option(state, OPTION_QUOTE)
    escape = option(state, OPTION_ESCAPE)
    escape_escape = option(state, OPTION_ESCAPE_ESCAPE)
    character = get(reader, CHARACTER)
    previous = get(reader, PREVIOUS)
    if character == escape and previous == escape_escape and escape_escape != 0:
        append(state, escape)
        put(reader, CHARACTER, 0)
    elif previous == escape:
        if character == quote:
            append(state, quote)
            put(reader, CHARACTER, 0)
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
    reader = get(state, READER)
    quote = option(state, OPTION_QUOTE)
    escape = option(state, OPTION_ESCAPE)
    more = int64(0)
    while True:
        character = get(reader, CHARACTER)
        if character == separator or character == newline(state):
            if more == 0:
                return True
            more -= 1
        elif character != quote and character != escape:
            if get(reader, PREVIOUS) == quote:
                append(state, quote)
            append(state, character)
        elif not _take_escaped(state):
            append(state, quote)
            put(reader, PREVIOUS, character)
            more += 1
            continue
        put(reader, PREVIOUS, get(reader, CHARACTER))
        if not advance(state):
            return False
