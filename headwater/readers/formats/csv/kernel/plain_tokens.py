"""An ordinary record cut into values, many bytes at a time.

A value is ordinary if it stands without quotes, or in quotes with none between them but escaped ones. Any
other record is read by `machine`, which takes single values as a whole as univocity does.
"""

from __future__ import annotations

from headwater.readers.formats.csv import layout as L
from headwater.readers.formats.csv.kernel.reader import (
    NO_CHARACTER,
    SPACE_CHARACTER,
    add_token,
    character_at,
    newline,
    option,
)
from headwater.readers.kernels.memory import (
    CHUNK_BYTES,
    always_inlined,
    any_of_three,
    called,
    copy_bytes,
    get,
    inlined,
    int64,
    load_byte,
    put,
    store_byte,
    store_int64,
    trailing_zeros,
)


@inlined
def _find(at: int, end: int, one: int, two: int, three: int) -> int:
    """Return where one of three bytes stands, or the end, or more than that."""
    hits: int = any_of_three(at, one, two, three)
    while hits == 0:
        at += CHUNK_BYTES
        if at >= end:
            return at
        hits = any_of_three(at, one, two, three)
    return at + trailing_zeros(hits)


@called
def plain_record(state: int) -> bool:
    """Cut the record that begins here into tokens. Return False, and do nothing, if it is not ordinary."""
    return _plain_record(state, False)


@called
def trimmed_record(state: int) -> bool:
    """Do the same where white space before values or behind them is left out."""
    return _plain_record(state, True)


@called
def _without_escapes(
    at: int, begin: int, end: int, options: int, other: int, special: int, to: int, limit: int
) -> tuple[int, int]:
    """Put a quoted value together whose first escape or doubled quote is here.

    Return where its closing quote is and the text ends, 0 if it is not ordinary.
    """
    quote = get(options, L.OPTION_QUOTE)
    escape = get(options, L.OPTION_ESCAPE)
    escape_escape = get(options, L.OPTION_ESCAPE_ESCAPE)
    while at < end:
        byte = load_byte(at)
        following = load_byte(at + 1)
        is_escape = byte == escape and at + 1 < end
        is_doubled = is_escape and (following == quote or (following == escape_escape != 0))
        if byte != quote and not is_escape:
            break
        size = at - begin
        if to + size >= limit:
            break
        if byte == quote and not is_doubled:
            copy_bytes(to, begin, size)
            return at, to + size
        if is_doubled:
            copy_bytes(to, begin, size)
            store_byte(to + size, following)
            to += size + 1
            begin = at + 2
            at += 1
        at = _find(at + 1, end, quote, other, special)
    return int64(0), to


@inlined
def _behind_white(at: int, end: int, separator: int, newline: int, line_end: int, quote: int) -> int:
    """Return where white space before a value ends."""
    while at < end:
        byte = load_byte(at)
        if byte > SPACE_CHARACTER or byte in (separator, newline, line_end, quote):
            break
        at += 1
    return at


@always_inlined
def _plain_record(state: int, trims: bool) -> bool:
    at = get(state, L.AT)
    end = get(state, L.END)
    options = get(state, L.OPTIONS)
    separator = get(options, L.OPTION_SEPARATOR)
    quote = get(options, L.OPTION_QUOTE)
    escape = get(options, L.OPTION_ESCAPE)
    # Where quotes escape quotes, univocity leaves NUL out of some values: it stands for no escape of escapes.
    other = get(options, L.OPTION_ESCAPE_ESCAPE) if escape == quote else escape
    leading = trims and get(options, L.OPTION_LEADING) == 1
    trailing = trims and get(options, L.OPTION_TRAILING) == 1
    line_end = get(options, L.OPTION_LINE_END)
    line_end_two = get(options, L.OPTION_LINE_END_TWO)
    # A line end inside of quotes may become another one.
    newline = get(options, L.OPTION_NEWLINE)
    special = line_end if get(options, L.OPTION_NORMALIZE_QUOTED) == 1 and line_end != newline else quote
    # Where line separators inside of quotes stay what they are, so does the one behind the closing quote.
    keeps_line_ends = get(options, L.OPTION_NORMALIZE_QUOTED) == 0
    after_quote = newline if keeps_line_ends else line_end
    stream = get(state, L.STREAM) == 1
    tokens = get(state, L.TOKENS)
    token = tokens
    last = token + L.TOKEN_BYTES * get(options, L.OPTION_MOST_COLUMNS)
    text = get(state, L.SCRATCH)
    first = at
    if at >= end or load_byte(at) == get(options, L.OPTION_COMMENT):
        return False
    while True:
        if token == last:
            return False
        if leading:
            at = _behind_white(at, end, separator, newline, line_end, quote)
        if at < end and load_byte(at) == quote:
            # To univocity NUL is no character too: as a quote, which is none, it has rules of its own.
            if quote == 0:
                return False
            begin = at + 1
            at = _find(begin, end, quote, other, special)
            if at < end and load_byte(at) == escape and (escape != quote or load_byte(at + 1) == quote):
                limit = get(state, L.SCRATCH) + get(state, L.SCRATCH_SIZE)
                at, text_end = _without_escapes(at, begin, end, options, other, special, text, limit)
                if at == 0:
                    return False
                begin = text
                size = text_end - text
                text = text_end
            elif at >= end or load_byte(at) != quote:
                return False
            else:
                size = at - begin
            begin = begin if size > 0 else int64(L.EMPTY_TOKEN)
            at += 1
            if at < end and load_byte(at) != separator and load_byte(at) != after_quote:
                return False
        else:
            begin = at
            at = min(_find(at, end, separator, newline, line_end), end)
            size = at - begin
            if trailing:
                while size > 0 and load_byte(begin + size - 1) <= SPACE_CHARACTER:
                    size -= 1
            # The input's end, or that of a line of white space, is another matter.
            if trims and size == 0 and (at >= end or (load_byte(at) != separator and token == tokens)):
                return False
            begin = begin if size > 0 else int64(L.NULL_TOKEN)
        store_int64(token, begin)
        store_int64(token + 8, size)
        token += L.TOKEN_BYTES
        if at >= end:
            if stream:
                return False
            break
        byte = load_byte(at)
        at += 1
        if byte == separator:
            continue
        # A line end: only that of a stream is ordinary, and no empty line.
        if not stream or byte != line_end or at == first + 1:
            return False
        if line_end_two != 0:
            if at >= end or load_byte(at) != line_end_two:
                return False
            at += 1
        break
    put(state, L.TOKEN_COUNT, (token - tokens) // L.TOKEN_BYTES)
    put(state, L.RECORD, first)
    put(state, L.AT, at)
    put(get(state, L.READER), L.CHARACTER, newline)
    put(get(state, L.READER), L.PREVIOUS, 0)
    # The scratch behind it is free: numbers and times are put together there.
    put(get(state, L.READER), L.TEXT_END, text)
    return True


@inlined
def is_line_end(state: int, character: int, following: int, end: int) -> bool:
    """Return whether a line separator begins with this character, given the place behind it."""
    if character != option(state, L.OPTION_LINE_END):
        return False
    two = option(state, L.OPTION_LINE_END_TWO)
    return two == 0 or (following < end and character_at(following, end)[0] == two)


@inlined
def _text_end(at: int, end: int, one: int, two: int, three: int) -> int:
    """Return where the first byte is that is beyond ASCII or one of three."""
    while at < end:
        byte = load_byte(at)
        if byte >= 0x80 or byte == one or byte == two or byte == three:
            break
        at += 1
    return at


@inlined
def _fits(state: int, count: int) -> bool:
    return option(state, L.OPTION_MOST_CHARACTERS) < 0 or count <= option(state, L.OPTION_MOST_CHARACTERS)


@called
def plain_unquoted(state: int) -> bool:
    """Take the value that begins with the current character as it stands, up to its end.

    Return False, and take nothing, if nothing ends it.
    """
    separator = option(state, L.OPTION_SEPARATORS + 1)
    line_end = option(state, L.OPTION_LINE_END)
    first = get(get(state, L.READER), L.HERE)
    end = get(state, L.END)
    at = first
    count = int64(0)
    while True:
        text = at
        at = _text_end(at, end, separator, line_end, line_end)
        count += at - text
        if at >= end:
            put(state, L.SAW_END, 1)
            return False
        character, size = character_at(at, end)
        if character == separator:
            break
        if at + size >= end:
            put(state, L.SAW_END, 1)
            return False
        if is_line_end(state, character, at + size, end):
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
    return True


@called
def plain_quoted(state: int) -> bool:
    """Take the value behind the current quote as it stands, if it has no escapes and ends as it should."""
    separator = option(state, L.OPTION_SEPARATORS + 1)
    quote = option(state, L.OPTION_QUOTE)
    escape = option(state, L.OPTION_ESCAPE)
    escape_escape = option(state, L.OPTION_ESCAPE_ESCAPE)
    line_end = option(state, L.OPTION_LINE_END)
    normalize = get(get(state, L.READER), L.NORMALIZE) == 1
    first = get(state, L.AT)
    end = get(state, L.END)
    at = first
    last = quote
    count = int64(0)
    while True:
        text = at
        at = _text_end(at, end, quote, escape, line_end)
        if at > text:
            last = int64(NO_CHARACTER)
            count += at - text
        if at >= end:
            put(state, L.SAW_END, 1)
            return False
        character, size = character_at(at, end)
        following = at + size
        if character == quote:
            if following >= end:
                put(state, L.SAW_END, 1)
            if last == escape or following >= end:
                return False
            next_character = character_at(following, end)[0]
            if next_character != separator and next_character != newline(state):
                return False
            break
        if character == escape:
            if following < end:
                next_character = character_at(following, end)[0]
                if next_character == quote or next_character == escape_escape:
                    return False
        elif normalize and is_line_end(state, character, following, end):
            return False
        last = character
        at = following
        count += 1 + int64(character > 0xFFFF)
    if not _fits(state, count):
        return False
    put(state, L.AT, following)
    add_token(state, first if at > first else int64(L.EMPTY_TOKEN), at - first)
    return True
