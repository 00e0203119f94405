"""Values without children: a token of JSON as the value of a column, by the rules of Spark's `from_json`."""

from __future__ import annotations

from headwater.readers.formats.columns import layout as T
from headwater.readers.formats.columns.kernel.nodes import MISMATCH, SYNTAX, TAKEN, begin_entry, put_boolean
from headwater.readers.formats.json import layout as L
from headwater.readers.formats.json.kernel.from_text import put_from_text
from headwater.readers.formats.json.kernel.scanner import escape_size, plain_string_end, skip_scalar
from headwater.readers.formats.json.kernel.strings import QUESTION_MARK, put_other, put_string, unescaped
from headwater.readers.formats.json.kernel.text import TEXT_SPARE, escaped_character
from headwater.readers.formats.values.kernel import characters as C
from headwater.readers.formats.values.kernel.characters import is_digit
from headwater.readers.formats.values.kernel.entries import put_decimal, put_double, put_integer, put_long
from headwater.readers.formats.values.kernel.exact_numbers import to_integer
from headwater.readers.formats.values.kernel.numbers import short_double, short_number, to_double, to_float
from headwater.readers.kernels.memory import called, get, int64, load_byte, store_byte

_TRUE = 0x74
_FALSE = 0x66
_ZERO = 0x30


@called
def put_scalar(
    nodes: int, node: int, entry: int, at: int, end: int, state: int, depth: int
) -> tuple[int, int]:
    """Write the value that begins here as an entry of a node, null excepted.

    Return `TAKEN` and where the value ends; `MISMATCH` if its type is another one, `SYNTAX`, or `STOPPED`.
    """
    kind = get(node, T.NODE_TYPE)
    byte = load_byte(at)
    is_text = byte == C.QUOTE or byte == C.APOSTROPHE
    if kind == T.TYPE_STRING:
        if is_text:
            return put_string(nodes, node, at, end, state)
        return put_other(nodes, node, at, end, state, depth)
    if byte == C.OPEN_OBJECT or byte == C.OPEN_LIST:
        return MISMATCH, at
    # The usual cases come first, with one scan of the bytes.
    if byte == C.QUOTE and kind != T.TYPE_BOOLEAN:
        last = plain_string_end(at, end)
        if last != 0:
            return put_from_text(nodes, node, kind, entry, at, last + 1, at + 1, last, state)
    if (kind == T.TYPE_LONG or kind == T.TYPE_DOUBLE) and (is_digit(byte) or byte == C.MINUS):
        value_end, number, decimals = short_number(at, end)
        if value_end != 0 and kind == T.TYPE_DOUBLE:
            certain, double = short_double(number, decimals)
            if certain:
                # An integer has no -0.
                negative = byte == C.MINUS and (decimals != 0 or number != 0)
                return put_double(node, kind, entry, -double if negative else double), value_end
        if value_end != 0 and kind == T.TYPE_LONG and decimals == 0:
            return put_long(node, entry, -number if byte == C.MINUS else number), value_end
    value_end = skip_scalar(at, end)
    if value_end == 0:
        if kind != T.TYPE_BINARY or byte != C.QUOTE:
            return SYNTAX, at
        value_end, text, last = _base64_text(at + 1, end, get(state, L.STATE_SCRATCH))
        if value_end == 0:
            return SYNTAX, at
        status, value_end = put_from_text(nodes, node, kind, entry, at, value_end, text, last, state)
        return SYNTAX if status == MISMATCH else status, value_end
    if kind == T.TYPE_BOOLEAN:
        if byte == _TRUE or byte == _FALSE:
            begin_entry(node, entry)
            put_boolean(node, entry, 1 if byte == _TRUE else 0)
            return TAKEN, value_end
        return MISMATCH, at
    if is_text:
        text, last = unescaped(at, value_end, state)
        if text == 0:
            return MISMATCH, at
        return put_from_text(nodes, node, kind, entry, at, value_end, text, last, state)
    if not is_digit(byte) and byte != C.MINUS and kind != T.TYPE_DOUBLE and kind != T.TYPE_FLOAT:
        return MISMATCH, at
    if byte == C.MINUS and value_end - at == 2 and load_byte(at + 1) == _ZERO:
        at += 1  # an integer has no -0
    if kind == T.TYPE_DOUBLE:
        if byte == _TRUE or byte == _FALSE:
            return MISMATCH, at
        return put_double(node, kind, entry, to_double(at, value_end, get(state, L.STATE_SCRATCH))), value_end
    if kind == T.TYPE_FLOAT:
        if byte == _TRUE or byte == _FALSE:
            return MISMATCH, at
        return put_double(node, kind, entry, to_float(at, value_end, get(state, L.STATE_SCRATCH))), value_end
    if kind == T.TYPE_DECIMAL:
        status = put_decimal(node, entry, at, value_end)
        return status, value_end if status == TAKEN else at
    fits, value = to_integer(at, value_end)
    if not fits:
        return MISMATCH, at
    if kind == T.TYPE_TIMESTAMP:
        return put_long(node, entry, value * 1_000_000), value_end
    # As Jackson takes a byte: with a sign or without one.
    status = put_integer(node, kind, entry, value, 255)
    return status, value_end if status == TAKEN else at


@called
def _base64_text(at: int, end: int, scratch: int) -> tuple[int, int, int]:
    """Return where a string ends whose control characters count as white space, and where its text is.

    The text is in place if it has no escapes. Zeros if the string does not end, or does not fit the scratch.
    """
    begin = at
    to = scratch
    last = scratch + L.SCRATCH_BYTES - TEXT_SPARE
    has_escapes = False
    while at < end and load_byte(at) != C.QUOTE:
        code = load_byte(at)
        if code != C.BACKSLASH:
            at += 1
        elif escape_size(at, end) == 0:
            return int64(0), int64(0), int64(0)
        else:
            has_escapes = True
            code, at = escaped_character(at, end, QUESTION_MARK)
        if to < last:
            store_byte(to, code if code < 128 else QUESTION_MARK)
            to += 1
    if at >= end or (has_escapes and to == last):
        return int64(0), int64(0), int64(0)
    if has_escapes:
        return at + 1, scratch, to
    return at + 1, begin, at
