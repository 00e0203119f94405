"""Values without children: a token of JSON as the value of a column, by the rules of Spark's `from_json`."""

# mypy: disable-error-code="call-arg,no-any-return,no-untyped-call,return-value,unused-ignore"
# numba's own types differ from release to release, and know little of what compiled code may call.

# ruff: noqa: C901, PLR0911, PLR0912, PLR0915, PLR0917, PLR1714, SIM109
# Compiled functions take positions only, and have no cheap sets; a token is read in one loop with many ends.

from __future__ import annotations

import numba

from headwater.readers.formats.json.base64 import put_base64
from headwater.readers.formats.json.layout import (
    SCRATCH_BYTES,
    STATE_LEVELS,
    STATE_SCRATCH,
    STATE_ZONE_COUNT,
    STATE_ZONE_SIZE,
    STATE_ZONE_TEXT,
    STATE_ZONES,
    STOP_ZONE,
)
from headwater.readers.formats.json.numbers import (
    short_double,
    short_number,
    to_decimal,
    to_double,
    to_float,
    to_integer,
)
from headwater.readers.formats.json.scanner import (
    APOSTROPHE,
    BACKSLASH,
    MINUS,
    OPEN_LIST,
    OPEN_OBJECT,
    PLUS,
    QUOTE,
    is_digit,
    plain_string_end,
    skip_scalar,
    skip_special,
    skip_value,
)
from headwater.readers.formats.json.text import (
    TEXT_GROWTH,
    TEXT_SPARE,
    put_compact,
    put_text,
)
from headwater.readers.formats.json.times import (
    FINE,
    UNKNOWN_ZONE,
    WRONG,
    rebased,
    to_date,
    to_timestamp,
)
from headwater.readers.formats.kernel_columns import (
    NODE_BYTES,
    REPLACEMENT_GROWTH,
    append_end,
    get,
    offset,
    put,
    put_boolean,
    put_validity,
)
from headwater.readers.formats.table_layout import (
    NODE_DATA,
    NODE_DATA_SIZE,
    NODE_ENTRIES,
    NODE_MOST_DATA,
    NODE_PRECISION,
    NODE_SCALE,
    NODE_TYPE,
    NODE_VALUES,
    STATE_NODE,
    STATE_STOP,
    STOP_MORE_DATA,
    TYPE_BINARY,
    TYPE_BOOLEAN,
    TYPE_BYTE,
    TYPE_DATE,
    TYPE_DECIMAL,
    TYPE_DOUBLE,
    TYPE_FLOAT,
    TYPE_INT,
    TYPE_LOCAL_TIMESTAMP,
    TYPE_LONG,
    TYPE_SHORT,
    TYPE_STRING,
    TYPE_TIMESTAMP,
)
from headwater.readers.kernels.memory import (
    called,
    copy_chunk,
    inlined,
    int64,
    load_byte,
    load_int32,
    load_int64,
    non_ascii,
    store_byte,
    store_double,
    store_float,
    store_int16,
    store_int32,
    store_int64,
)

TAKEN = 0
MISMATCH = 1
SYNTAX = 2
STOPPED = 3

QUESTION_MARK = 0x3F
"""Java's encoder writes it for half of a surrogate pair."""
_TRUE = 0x74
_FALSE = 0x66
_GMT = 0x544D47


@inlined
def stop(state: int, why: int, node: int) -> int:
    """Note why the kernel has to return, and return `STOPPED`."""
    store_int64(state + 8 * STATE_STOP, why)
    store_int64(state + 8 * STATE_NODE, node)
    return int64(STOPPED)


@inlined
def _entry(node: int, entry: int) -> int:
    """Append the value's entry, or begin the one anew that an earlier field of this name has filled."""
    put_validity(node, entry, 1)
    put(node, NODE_ENTRIES, entry + 1)
    return get(node, NODE_VALUES)


@called
def put_scalar(
    nodes: int, node: int, entry: int, at: int, end: int, state: int, depth: int
) -> tuple[int, int]:
    """Write the value that begins here as an entry of a node, null excepted.

    Return `TAKEN` and where the value ends; `MISMATCH` if its type is another one, `SYNTAX`, or `STOPPED`.
    """
    kind = get(node, NODE_TYPE)
    byte = load_byte(at)
    is_text = byte == QUOTE or byte == APOSTROPHE
    if kind == TYPE_STRING:
        if is_text:
            return _put_string(nodes, node, at, end, state)
        return _put_other(nodes, node, at, end, state, depth)
    if byte == OPEN_OBJECT or byte == OPEN_LIST:
        return MISMATCH, at
    # What is usual comes first, in one look at the bytes.
    if byte == QUOTE and kind != TYPE_BOOLEAN:
        last = plain_string_end(at, end)
        if last != 0:
            return _put_from_text(nodes, node, kind, entry, at, last + 1, at + 1, last, state)
    if (kind == TYPE_LONG or kind == TYPE_DOUBLE) and (is_digit(byte) or byte == MINUS):
        after, number, decimals = short_number(at, end)
        if after != 0 and kind == TYPE_DOUBLE:
            certain, double = short_double(number, decimals)
            if certain:
                store_double(_entry(node, entry) + 8 * entry, -double if byte == MINUS else double)
                return TAKEN, after
        if after != 0 and kind == TYPE_LONG and decimals == 0:
            store_int64(_entry(node, entry) + 8 * entry, -number if byte == MINUS else number)
            return TAKEN, after
    after = skip_scalar(at, end)
    if after == 0:
        last = _base64_end(at, end) if kind == TYPE_BINARY else int64(0)
        if last == 0:
            return SYNTAX, at
        status, after = _put_from_text(nodes, node, kind, entry, at, last + 1, at + 1, last, state)
        return SYNTAX if status == MISMATCH else status, after
    if kind == TYPE_BOOLEAN:
        if byte == _TRUE or byte == _FALSE:
            _entry(node, entry)
            put_boolean(node, entry, 1 if byte == _TRUE else 0)
            return TAKEN, after
        return MISMATCH, at
    if is_text:
        text, last = unescaped(at, after, state)
        if text == 0:
            return MISMATCH, at
        return _put_from_text(nodes, node, kind, entry, at, after, text, last, state)
    if not is_digit(byte) and byte != MINUS and kind != TYPE_DOUBLE and kind != TYPE_FLOAT:
        return MISMATCH, at
    if kind == TYPE_DOUBLE:
        if byte == _TRUE or byte == _FALSE:
            return MISMATCH, at
        value = to_double(at, after, load_int64(state + 8 * STATE_SCRATCH))
        store_double(_entry(node, entry) + 8 * entry, value)
        return TAKEN, after
    if kind == TYPE_FLOAT:
        if byte == _TRUE or byte == _FALSE:
            return MISMATCH, at
        value = to_float(at, after, load_int64(state + 8 * STATE_SCRATCH))
        store_float(_entry(node, entry) + 4 * entry, value)
        return TAKEN, after
    if kind == TYPE_DECIMAL:
        return _put_decimal(node, entry, at, after), after
    fits, value = to_integer(at, after)
    if not fits:
        return MISMATCH, at
    if kind == TYPE_LONG:
        store_int64(_entry(node, entry) + 8 * entry, value)
    elif kind == TYPE_TIMESTAMP:
        store_int64(_entry(node, entry) + 8 * entry, value * 1_000_000)
    elif kind == TYPE_INT and value >= -(1 << 31) and value < 1 << 31:
        store_int32(_entry(node, entry) + 4 * entry, value)
    elif kind == TYPE_SHORT and value >= -(1 << 15) and value < 1 << 15:
        store_int16(_entry(node, entry) + 2 * entry, value)
    elif kind == TYPE_BYTE and value >= -128 and value < 256:
        # As Jackson takes a byte: with a sign or without one.
        store_byte(_entry(node, entry) + entry, value)
    else:
        return MISMATCH, at
    return TAKEN, after


@called
def _base64_end(at: int, end: int) -> int:
    """Return where the closing quotation mark of Base64 is, which may have control characters; else 0."""
    if load_byte(at) != QUOTE:
        return int64(0)
    at += 1
    while at < end and load_byte(at) != QUOTE and load_byte(at) != BACKSLASH:
        at += 1
    return at if at < end and load_byte(at) == QUOTE else int64(0)


@inlined
def _room(node: int) -> int:
    return get(node, NODE_MOST_DATA) - get(node, NODE_DATA_SIZE)


@inlined
def more_data(nodes: int, node: int, state: int) -> int:
    """Ask for more room for the bytes of a node."""
    return stop(state, STOP_MORE_DATA, (node - nodes) // NODE_BYTES)


@inlined
def _end_data(node: int, end: int) -> None:
    filled = end - get(node, NODE_DATA)
    put(node, NODE_DATA_SIZE, filled)
    append_end(node, filled)


@inlined
def _put_string(nodes: int, node: int, at: int, end: int, state: int) -> tuple[int, int]:
    if _room(node) < REPLACEMENT_GROWTH * (end - at):
        return more_data(nodes, node, state), at
    to = get(node, NODE_DATA) + get(node, NODE_DATA_SIZE)
    if load_byte(at) == QUOTE:
        last = plain_string_end(at, end)
        if last != 0 and non_ascii(at + 1) & ((1 << (last - at - 1)) - 1) == 0:
            copy_chunk(to, at + 1)
            _end_data(node, to + last - at - 1)
            return TAKEN, last + 1
    after, last = put_text(at, end, to, QUESTION_MARK)
    if after == 0:
        return SYNTAX, at
    _end_data(node, last)
    return TAKEN, after


@called
def _put_other(nodes: int, node: int, at: int, end: int, state: int, depth: int) -> tuple[int, int]:
    """Write a value that is no string into a node of strings."""
    after = skip_value(at, end, load_int64(state + 8 * STATE_LEVELS), depth)
    if after == 0:
        return SYNTAX, at
    room = 2 * (TEXT_GROWTH * (after - at) + TEXT_SPARE)
    if _room(node) < room:
        return more_data(nodes, node, state), at
    to = get(node, NODE_DATA) + get(node, NODE_DATA_SIZE)
    _end_data(node, put_compact(at, after, to, room, load_int64(state + 8 * STATE_SCRATCH)))
    return TAKEN, after


@called
def unescaped(at: int, after: int, state: int) -> tuple[int, int]:
    """Return where the text of a string lies: in place if it has no escapes; 0 if it is far too long."""
    begin = at + 1
    end = after - 1
    escaped = False
    for i in range(begin, end):
        escaped = escaped or load_byte(i) == BACKSLASH
    if not escaped:
        return begin, end
    if REPLACEMENT_GROWTH * (after - at) > SCRATCH_BYTES - TEXT_SPARE:
        return int64(0), int64(0)
    scratch = load_int64(state + 8 * STATE_SCRATCH)
    _, last = put_text(at, after, scratch, QUESTION_MARK)
    return scratch, last


@inlined
def _put_decimal(node: int, entry: int, at: int, end: int) -> int:
    fits, low, high = to_decimal(at, end, get(node, NODE_PRECISION), get(node, NODE_SCALE))
    if not fits:
        return int64(MISMATCH)
    values = _entry(node, entry)
    store_int64(values + 16 * entry, low)
    store_int64(values + 16 * entry + 8, high)
    return int64(TAKEN)


@called
def _put_from_text(
    nodes: int, node: int, kind: int, entry: int, at: int, after: int, text: int, end: int, state: int
) -> tuple[int, int]:
    """Write the string between ``at`` and ``after``, whose text is given, into a node of another type."""
    if kind == TYPE_BINARY:
        if _room(node) < end - text:
            return more_data(nodes, node, state), at
        to = get(node, NODE_DATA) + get(node, NODE_DATA_SIZE)
        last = put_base64(text, end, to)
        if last == 0:
            return MISMATCH, at
        if get(node, NODE_ENTRIES) > entry:
            # An earlier field of this name, whose bytes lie before these.
            put(node, NODE_ENTRIES, entry)
            earlier = get(node, NODE_DATA) + offset(node, entry)
            for i in range(last - to):
                store_byte(earlier + i, load_byte(to + i))
            last = earlier + last - to
        _end_data(node, last)
        return TAKEN, after
    if text == end:
        return MISMATCH, at
    if kind == TYPE_DOUBLE or kind == TYPE_FLOAT:
        if is_digit(load_byte(text)) or skip_special(text, end) != end:
            return MISMATCH, at
        value = to_double(text, end, text)
        if kind == TYPE_DOUBLE:
            store_double(_entry(node, entry) + 8 * entry, value)
        else:
            store_float(_entry(node, entry) + 4 * entry, numba.float32(value))
        return TAKEN, after
    if kind == TYPE_DECIMAL:
        status = _put_decimal(node, entry, text, end)
        return status, after if status == TAKEN else at
    if kind == TYPE_DATE:
        fits, days = to_date(text, end)
        if not fits:
            fits, days = _odd_date(text, end, state)
        if not fits:
            return MISMATCH, at
        store_int32(_entry(node, entry) + 4 * entry, days)
        return TAKEN, after
    if kind == TYPE_TIMESTAMP or kind == TYPE_LOCAL_TIMESTAMP:
        found, micros, zone, size = _timestamp(text, end, kind == TYPE_LOCAL_TIMESTAMP, state)
        if found == WRONG and kind == TYPE_TIMESTAMP:
            text, end = _without_gmt(text, end, state)
            if text != 0:
                found, micros, zone, size = _timestamp(text, end, False, state)
        if found == UNKNOWN_ZONE:
            store_int64(state + 8 * STATE_ZONE_TEXT, zone)
            store_int64(state + 8 * STATE_ZONE_SIZE, size)
            return stop(state, STOP_ZONE, 0), at
        if found != FINE:
            return MISMATCH, at
        store_int64(_entry(node, entry) + 8 * entry, micros)
        return TAKEN, after
    return MISMATCH, at


@inlined
def _timestamp(text: int, end: int, local: bool, state: int) -> tuple[int, int, int, int]:
    zones = load_int64(state + 8 * STATE_ZONES)
    return to_timestamp(text, end, zones, load_int64(state + 8 * STATE_ZONE_COUNT), local)


@called
def _odd_date(text: int, end: int, state: int) -> tuple[bool, int]:
    """Return whether a text is a date as old versions of Spark wrote them, and its days since 1970-01-01."""
    begin, last = _without_gmt(text, end, state)
    if begin != 0:
        fits, days = to_date(begin, last)
        if fits:
            return fits, days
    sign = load_byte(text)
    fits, number = to_integer(text + 1 if sign == PLUS and end > text + 1 else text, end)
    digits = is_digit(load_byte(end - 1)) and (sign != PLUS or load_byte(text + 1) != MINUS)
    return fits and digits and number >= -(1 << 31) and number < 1 << 31, rebased(number)


@called
def _without_gmt(text: int, end: int, state: int) -> tuple[int, int]:
    """Return the text without each ``GMT`` in it, as Spark tries it in the end; 0 if it has none."""
    if end - text > SCRATCH_BYTES - TEXT_SPARE:
        return int64(0), end
    first = load_int64(state + 8 * STATE_SCRATCH)
    to = first
    at = text
    while at < end:
        if end - at >= 3 and load_int32(at) & 0xFFFFFF == _GMT:
            at += 3
        else:
            store_byte(to, load_byte(at))
            to += 1
            at += 1
    return first if to - first < end - text else int64(0), to
